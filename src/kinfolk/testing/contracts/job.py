"""What every job promises, as tests: subclass, and give a fixture `start`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest

from kinfolk.core.events import Event, FileChunk, Snapshot, TimingEvent

JobItem = Event | Snapshot | FileChunk
JobStarter = Callable[[Snapshot | None], Iterator[JobItem]]


def event_lines(items: list[JobItem]) -> list[str]:
    """The events among `items`, as they would be written; what holds a clock is left out."""
    return [
        item.to_json_line()
        for item in items
        if isinstance(item, Event) and not isinstance(item, TimingEvent)
    ]


class JobContract:
    """The promises of `kinfolk.core.events.Job`."""

    @pytest.fixture
    def start(self) -> JobStarter:
        """How to run the job under test, from the beginning or from a snapshot."""
        raise NotImplementedError

    def test_it_yields_the_same_twice(self, start: JobStarter) -> None:
        assert event_lines(list(start(None))) == event_lines(list(start(None)))

    def test_it_prints_nothing(self, start: JobStarter, capfd: pytest.CaptureFixture[str]) -> None:
        list(start(None))
        assert capfd.readouterr() == ("", "")

    def test_events_are_json_and_name_their_kind(self, start: JobStarter) -> None:
        for line in event_lines(list(start(None))):
            assert json.loads(line)["kind"] != "event"

    def test_resumed_from_any_snapshot_it_goes_on_as_if_never_stopped(
        self, start: JobStarter
    ) -> None:
        whole = list(start(None))
        moments = [i for i, item in enumerate(whole) if isinstance(item, Snapshot)]
        assert moments, "a job that takes long must yield snapshots"
        for at in moments:
            snapshot = whole[at]
            assert isinstance(snapshot, Snapshot)
            assert event_lines(list(start(snapshot))) == event_lines(whole[at + 1 :])
