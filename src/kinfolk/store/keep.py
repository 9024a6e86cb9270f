"""Drain a job into a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kinfolk.core.events import Artefact, Event, Measured, Snapshot
from kinfolk.store.run import Run

Stream = Iterator[Event | Snapshot | Artefact]


def keep(run: Run, job: Callable[[Snapshot | None], Stream]) -> Iterator[Event]:
    """Run `job` from where `run` stopped, write all it yields, and pass the events on.

    The run is done when the job is. Whatever stops it earlier (an error, Ctrl-C, a kill) leaves
    a folder that can be resumed.
    """
    try:
        for item in job(run.start()):
            if isinstance(item, Snapshot):
                run.checkpoint(item)
            elif isinstance(item, Artefact):
                run.keep_artefact(item)
            else:
                if isinstance(item, Measured):
                    run.measure(item)
                else:
                    run.append(item)
                yield item
        run.finish()
    except BaseException:
        run.abandon()  # a full disk must not be hidden by what it does to closing
        raise
