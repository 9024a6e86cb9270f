"""Figures of a run sent elsewhere too: TensorBoard and Weights & Biases, where they are wanted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

from kinfolk.core.events import Event
from kinfolk.core.optional_dependencies import make_missing_library_error


class MetricLogger(Protocol):
    """Takes figures as they come."""

    def log_metrics(self, step: int, metrics: Mapping[str, float]) -> None:
        """Figures by name, at a step."""
        ...

    def close(self) -> None:
        """Write what is left."""
        ...


class MetricLoggers:
    """All that are open; none costs nothing."""

    def __init__(self, loggers: list[MetricLogger]) -> None:
        self._loggers = loggers

    def log_event(self, event: Event) -> None:
        """Send the figures of an event."""
        if self._loggers:
            told = event.to_dict()
            found = dict(flatten_metrics(told, told.pop("kind")))
            for sink in self._loggers:
                sink.log_metrics(event.step, found)

    def close(self) -> None:
        """Close all."""
        while self._loggers:
            self._loggers.pop().close()


def flatten_metrics(table: Mapping[str, Any], path: str) -> Iterator[tuple[str, float]]:
    """The numbers in nested tables, by path; of an estimate, its mean.

    >>> dict(flatten_metrics({"slots": {"main": {"approx_kl": 0.1}}, "length": (5.0, 4.0, 6.0)}, "update_done"))
    {'update_done/slots/main/approx_kl': 0.1, 'update_done/length': 5.0}
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
    """The sinks that are asked for.

    Raises:
        MissingLibraryError: The library for one is not installed.
    """
    found: list[MetricLogger] = []
    if tensorboard:
        found.append(_TensorBoardLogger(folder))
    if wandb is not None:
        found.append(_WandbLogger(wandb, run, settings))
    return MetricLoggers(found)
