"""Run a job, store everything it yields in a run folder, and send its metrics to loggers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from kinfolk.core.errors import DamagedRunError, KinfolkError
from kinfolk.core.events import Event, FileChunk, Snapshot, TimingEvent
from kinfolk.core.imports import make_missing_library_error
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

    A checkpoint whose checksum is right may still hold a state that the job cannot continue, if
    another version of the job, or another program, wrote it.

    Args:
        run: The run that was resumed.
        snapshot: Snapshot from which the run was resumed.
        stream: Items that the job yields.
    """
    try:
        yield from stream
    except KinfolkError:
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise DamagedRunError(
            f"The run {run.folder}, resumed from its checkpoint of step {snapshot.step}, failed with "
            f"{reason}. Its checksum is right. Remove it to go on from the one before, or run this "
            f"again with --debug to see where it failed."
        ) from error


class MetricLoggers:
    """Sends the metrics of events to several loggers.

    Args:
        loggers: The destinations; may be empty.
    """

    def __init__(self, loggers: list[_TensorBoardLogger | _WandbLogger]) -> None:
        self._loggers = loggers

    def log_event(self, event: Event) -> None:
        """Send every number in the fields of an event to all loggers."""
        if self._loggers:
            fields = event.to_dict()
            metrics = dict(flatten_metrics(fields, fields.pop("kind")))
            for logger in self._loggers:
                logger.log_metrics(event.step, metrics)

    def close(self) -> None:
        """Close all loggers. May be called twice."""
        while self._loggers:
            self._loggers.pop().close()


def flatten_metrics(table: Mapping[str, Any], path: str) -> Iterator[tuple[str, float]]:
    """Yield every number in nested mappings with its path.

    Args:
        table: JSON values; of a list of floats, such as an estimate with its interval, the first
            one counts.
        path: Prefix of all paths.

    >>> dict(flatten_metrics({"main": {"approx_kl": 0.1}, "length": (5.0, 4.0, 6.0)}, "update"))
    {'update/main/approx_kl': 0.1, 'update/length': 5.0}
    """
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from flatten_metrics(value, f"{path}/{name}")
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            yield f"{path}/{name}", float(value)
        elif isinstance(value, (tuple, list)) and value and isinstance(value[0], float):
            yield f"{path}/{name}", value[0]


class _TensorBoardLogger:
    """Logs metrics as scalars to files in `tensorboard` below the run folder."""

    def __init__(self, folder: Path) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise make_missing_library_error("--tensorboard", "tensorboard") from None
        writer: Any = SummaryWriter
        self._writer = writer(str(folder / "tensorboard"))

    def log_metrics(self, step: int, metrics: Mapping[str, float]) -> None:
        """Write each metric as a scalar at `step`."""
        for name, value in metrics.items():
            self._writer.add_scalar(name, value, step)

    def close(self) -> None:
        """Flush and close the event file."""
        self._writer.close()


class _WandbLogger:
    """Logs metrics to a run of a project of Weights & Biases."""

    def __init__(self, project: str, run: str, settings: Mapping[str, Any]) -> None:
        try:
            import wandb  # type: ignore[import-not-found]
        except ImportError:
            raise make_missing_library_error("--wandb", "wandb") from None
        self._run: Any = wandb.init(project=project, name=run, config=dict(settings))

    def log_metrics(self, step: int, metrics: Mapping[str, float]) -> None:
        """Send all metrics with `step` as one entry."""
        self._run.log(dict(metrics), step=step)

    def close(self) -> None:
        """Finish the run at Weights & Biases."""
        self._run.finish()


def open_loggers(
    folder: Path, run: str, settings: Mapping[str, Any], tensorboard: bool, wandb: str | None
) -> MetricLoggers:
    """Open the loggers that were requested.

    Args:
        folder: The run folder; TensorBoard's files go into `tensorboard` below it.
        run: Name of the run, for Weights & Biases.
        settings: Settings of the run, for Weights & Biases.
        tensorboard: Whether to log to TensorBoard.
        wandb: Project of Weights & Biases to log to, or None.

    Raises:
        MissingLibraryError: A library that is needed is not installed.
    """
    loggers: list[_TensorBoardLogger | _WandbLogger] = []
    if tensorboard:
        loggers.append(_TensorBoardLogger(folder))
    if wandb is not None:
        loggers.append(_WandbLogger(wandb, run, settings))
    return MetricLoggers(loggers)
