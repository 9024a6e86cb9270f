"""Contract tests of jobs: subclass `JobContract` and give it a fixture `start`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest

from kinfolk.core.events import Event, FileChunk, Snapshot, TimingEvent

JobItem = Event | Snapshot | FileChunk
JobStarter = Callable[[Snapshot | None], Iterator[JobItem]]


def event_lines(items: list[JobItem]) -> list[str]:
    """Return the events among `items` as lines of JSON, without those that contain timings."""
    return [
        item.to_json_line()
        for item in items
        if isinstance(item, Event) and not isinstance(item, TimingEvent)
    ]


class JobContract:
    """Tests of what `kinfolk.core.events.Job` promises."""

    @pytest.fixture
    def start(self) -> JobStarter:
        """Return a function that runs the job under test, from a snapshot or from the start."""
        raise NotImplementedError

    def test_two_runs_yield_the_same_events(self, start: JobStarter) -> None:
        assert event_lines(list(start(None))) == event_lines(list(start(None)))

    def test_it_prints_nothing(self, start: JobStarter, capfd: pytest.CaptureFixture[str]) -> None:
        list(start(None))
        assert capfd.readouterr() == ("", "")

    def test_events_are_json_and_name_their_kind(self, start: JobStarter) -> None:
        for line in event_lines(list(start(None))):
            assert json.loads(line)["kind"] != "event"

    def test_a_resumed_job_yields_the_events_after_its_snapshot(self, start: JobStarter) -> None:
        items = list(start(None))
        snapshots = [(i, item) for i, item in enumerate(items) if isinstance(item, Snapshot)]
        assert snapshots, "a long job must yield snapshots"
        for i, snapshot in snapshots:
            assert event_lines(list(start(snapshot))) == event_lines(items[i + 1 :])
