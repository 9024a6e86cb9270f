"""Drain a job into a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kinfolk.core.errors import DamagedRunError, KinfolkError
from kinfolk.core.events import Event, FileChunk, Snapshot, TimingEvent
from kinfolk.store.run import Run

JobStream = Iterator[Event | Snapshot | FileChunk]


def run_and_store(run: Run, job: Callable[[Snapshot | None], JobStream]) -> Iterator[Event]:
    """Run `job` from where `run` stopped, write all it yields, and pass the events on.

    The run is done when the job is. Whatever stops it earlier (an error, Ctrl-C, a kill) leaves
    a folder that can be resumed.

    Raises:
        DamagedRunError: The checkpoint cannot be read, or the job failed after it was resumed from
            it in a way that a damaged checkpoint explains.
    """
    try:
        snapshot = run.open_for_writing()
        stream = job(snapshot)
        for item in stream if snapshot is None else _naming_checkpoint(run, snapshot, stream):
            if isinstance(item, Snapshot):
                run.checkpoint(item)
            elif isinstance(item, FileChunk):
                run.write_file_chunk(item)
            else:
                if isinstance(item, TimingEvent):
                    run.append_timing(item)
                else:
                    run.append(item)
                yield item
        run.finish()
    except BaseException:
        run.close_after_error()  # a full disk must not be hidden by what it does to closing
        raise


def _naming_checkpoint(run: Run, snapshot: Snapshot, stream: JobStream) -> JobStream:
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
