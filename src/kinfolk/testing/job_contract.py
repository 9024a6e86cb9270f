"""What every job promises, as tests: subclass, and give a fixture `start`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest

from kinfolk.core.events import Artefact, Event, Measured, Snapshot

Item = Event | Snapshot | Artefact
Start = Callable[[Snapshot | None], Iterator[Item]]


def lines(items: list[Item]) -> list[str]:
    """The events among `items`, as they would be written; what holds a clock is left out."""
    return [
        item.to_line()
        for item in items
        if isinstance(item, Event) and not isinstance(item, Measured)
    ]


class JobContract:
    """The promises of `kinfolk.core.events.Job`."""

    @pytest.fixture
    def start(self) -> Start:
        """How to run the job under test, from the beginning or from a snapshot."""
        raise NotImplementedError

    def test_it_yields_the_same_twice(self, start: Start) -> None:
        assert lines(list(start(None))) == lines(list(start(None)))

    def test_it_prints_nothing(self, start: Start, capfd: pytest.CaptureFixture[str]) -> None:
        list(start(None))
        assert capfd.readouterr() == ("", "")

    def test_events_are_json_and_name_their_kind(self, start: Start) -> None:
        for line in lines(list(start(None))):
            assert json.loads(line)["kind"] != "event"

    def test_resumed_from_any_snapshot_it_goes_on_as_if_never_stopped(self, start: Start) -> None:
        whole = list(start(None))
        moments = [i for i, item in enumerate(whole) if isinstance(item, Snapshot)]
        assert moments, "a job that takes long must yield snapshots"
        for at in moments:
            snapshot = whole[at]
            assert isinstance(snapshot, Snapshot)
            assert lines(list(start(snapshot))) == lines(whole[at + 1 :])
