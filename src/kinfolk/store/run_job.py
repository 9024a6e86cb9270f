"""Run a job and store everything it yields in a run folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kinfolk.core.errors import DamagedRunError, KinfolkError
from kinfolk.core.events import Event, FileChunk, Snapshot, TimingEvent
from kinfolk.store.run import Run

JobStream = Iterator[Event | Snapshot | FileChunk]


def run_and_store(run: Run, job: Callable[[Snapshot | None], JobStream]) -> Iterator[Event]:
    """Run a job from the last checkpoint of its run, store what it yields, and yield its events.

    The run is done when the job is. Whatever stops it earlier (an error, Ctrl-C, a kill) leaves
    a folder that can be resumed.

    Args:
        run: The run folder to write.
        job: Takes the snapshot to resume from, or None, and returns the job's items.

    Raises:
        StoreError: Another process writes the run, or something could not be written.
        DamagedRunError: The checkpoint cannot be read, or the resumed job failed in a way that a
            damaged checkpoint explains.
    """
    try:
        snapshot = run.open_for_writing()
        stream = job(snapshot)
        for item in stream if snapshot is None else _with_checkpoint_errors(run, snapshot, stream):
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
        run.close_after_error()  # an error such as a full disk may make closing fail as well
        raise


def _with_checkpoint_errors(run: Run, snapshot: Snapshot, stream: JobStream) -> JobStream:
    """Yield the items of a resumed job, and name its checkpoint when it fails unexpectedly.

    Checkpoints have no checksum, so that only the job may notice a damaged one, and late.

    Args:
        run: The run that was resumed.
        snapshot: Where it was resumed from.
        stream: Items of the job.
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
