"""Drain a job into a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kinfolk.core.errors import DamagedRunError, KinfolkError
from kinfolk.core.events import Artefact, Event, Measured, Snapshot
from kinfolk.store.run import Run

Stream = Iterator[Event | Snapshot | Artefact]


def keep(run: Run, job: Callable[[Snapshot | None], Stream]) -> Iterator[Event]:
    """Run `job` from where `run` stopped, write all it yields, and pass the events on.

    The run is done when the job is. Whatever stops it earlier (an error, Ctrl-C, a kill) leaves
    a folder that can be resumed.

    Raises:
        DamagedRunError: The checkpoint cannot be read, or the job failed after it was resumed from
            it in a way that a damaged checkpoint explains.
    """
    try:
        snapshot = run.start()
        stream = job(snapshot)
        for item in stream if snapshot is None else _resumed(run, snapshot, stream):
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


def _resumed(run: Run, snapshot: Snapshot, stream: Stream) -> Stream:
    """A job that goes on; what it cannot make of its snapshot is said as such.

    A snapshot has no checksum yet, so that a damaged one may be noticed only by the job, and late.
    """
    try:
        yield from stream
    except KinfolkError:
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise DamagedRunError(
            f"The run {run.folder}, resumed from its checkpoint of step {snapshot.step}, failed with "
            f"{reason}. If that file is damaged, remove it to go on from the one before; if it is "
            f"not, run this again with --debug to see where it failed."
        ) from error
