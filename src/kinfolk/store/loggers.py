"""Send the metrics of a run to TensorBoard and Weights & Biases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

from kinfolk.core.events import Event
from kinfolk.core.optional_dependencies import make_missing_library_error


class MetricLogger(Protocol):
    """A destination of metrics, such as TensorBoard."""

    def log_metrics(self, step: int, metrics: Mapping[str, float]) -> None:
        """Log the values of metrics, by name, at a step."""
        ...

    def close(self) -> None:
        """Write what is buffered and close the connection."""
        ...


class MetricLoggers:
    """Sends the metrics of events to several loggers.

    Args:
        loggers: The destinations; may be empty.
    """

    def __init__(self, loggers: list[MetricLogger]) -> None:
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
    def __init__(self, folder: Path) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise make_missing_library_error("--tensorboard", "tensorboard") from None
        writer: Any = SummaryWriter
        self._writer = writer(str(folder / "tensorboard"))

    def log_metrics(self, step: int, metrics: Mapping[str, float]) -> None:
        for name, value in metrics.items():
            self._writer.add_scalar(name, value, step)

    def close(self) -> None:
        self._writer.close()


class _WandbLogger:
    def __init__(self, project: str, run: str, settings: Mapping[str, Any]) -> None:
        try:
            import wandb  # type: ignore[import-not-found]
        except ImportError:
            raise make_missing_library_error("--wandb", "wandb") from None
        self._run: Any = wandb.init(project=project, name=run, config=dict(settings))

    def log_metrics(self, step: int, metrics: Mapping[str, float]) -> None:
        self._run.log(dict(metrics), step=step)

    def close(self) -> None:
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
    loggers: list[MetricLogger] = []
    if tensorboard:
        loggers.append(_TensorBoardLogger(folder))
    if wandb is not None:
        loggers.append(_WandbLogger(wandb, run, settings))
    return MetricLoggers(loggers)
