"""Figures of a run sent elsewhere too: TensorBoard and Weights & Biases, where they are wanted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

from kinfolk.core.events import Event
from kinfolk.core.libraries import missing_library


class Sink(Protocol):
    """Takes figures as they come."""

    def put(self, step: int, figures: Mapping[str, float]) -> None:
        """Figures by name, at a step."""
        ...

    def close(self) -> None:
        """Write what is left."""
        ...


class Sinks:
    """All that are open; none costs nothing."""

    def __init__(self, sinks: list[Sink]) -> None:
        self._sinks = sinks

    def take(self, event: Event) -> None:
        """Send the figures of an event."""
        if self._sinks:
            told = event.to_dict()
            found = dict(figures(told, told.pop("kind")))
            for sink in self._sinks:
                sink.put(event.step, found)

    def close(self) -> None:
        """Close all."""
        while self._sinks:
            self._sinks.pop().close()


def figures(table: Mapping[str, Any], path: str) -> Iterator[tuple[str, float]]:
    """The numbers in nested tables, by path; of an estimate, its mean.

    >>> dict(figures({"slots": {"main": {"kl": 0.1}}, "length": (5.0, 4.0, 6.0)}, "updated"))
    {'updated/slots/main/kl': 0.1, 'updated/length': 5.0}
    """
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from figures(value, f"{path}/{name}")
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            yield f"{path}/{name}", float(value)
        elif isinstance(value, (tuple, list)) and value and isinstance(value[0], float):
            yield f"{path}/{name}", value[0]


class _TensorBoard:
    def __init__(self, folder: Path) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise missing_library("--tensorboard", "tensorboard") from None
        writer: Any = SummaryWriter
        self._writer = writer(str(folder / "tensorboard"))

    def put(self, step: int, figures: Mapping[str, float]) -> None:
        for name, value in figures.items():
            self._writer.add_scalar(name, value, step)

    def close(self) -> None:
        self._writer.close()


class _WandB:
    def __init__(self, project: str, run: str, settings: Mapping[str, Any]) -> None:
        try:
            import wandb  # type: ignore[import-not-found]
        except ImportError:
            raise missing_library("--wandb", "wandb") from None
        self._run: Any = wandb.init(project=project, name=run, config=dict(settings))

    def put(self, step: int, figures: Mapping[str, float]) -> None:
        self._run.log(dict(figures), step=step)

    def close(self) -> None:
        self._run.finish()


def open_sinks(
    folder: Path, run: str, settings: Mapping[str, Any], tensorboard: bool, wandb: str | None
) -> Sinks:
    """The sinks that are asked for.

    Raises:
        MissingLibraryError: The library for one is not installed.
    """
    found: list[Sink] = []
    if tensorboard:
        found.append(_TensorBoard(folder))
    if wandb is not None:
        found.append(_WandB(wandb, run, settings))
    return Sinks(found)
