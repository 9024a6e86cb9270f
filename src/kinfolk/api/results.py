"""Results of jobs: typed attributes, plain values by `to_dict()`, a readable `repr`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from kinfolk.api.runs import StoredRun
from kinfolk.core.events import Event
from kinfolk.evaluation.statistics import Estimate

R = TypeVar("R", bound="JobResult")
_LINE = 100  # characters of a line of a repr


@dataclass(frozen=True, kw_only=True, repr=False)
class JobResult(Event):
    """What a job found: the facts of its last event, and the run that holds the rest.

    Args:
        run: The stored run; None if the job was not stored.
    """

    run: StoredRun | None = None

    @classmethod
    def from_event(cls: type[R], event: Event, run: StoredRun | None) -> R:
        """Make a result of the last event of a job."""
        facts = {field.name: getattr(event, field.name) for field in fields(event)}
        return cls(**facts, run=run)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values; the run by its folder."""
        folder = None if self.run is None else str(self.run.folder)
        return {**super().to_dict(), "run": folder}

    def __repr__(self) -> str:
        return "\n".join([type(self).__name__, *_lines(self.to_dict())])


def _lines(facts: Mapping[str, Any], indent: str = "  ") -> Iterator[str]:
    """Write facts one to a line, means with their confidence intervals, tables indented."""
    for name, value in facts.items():
        if name in ("kind", "step") or value in (None, {}, [], ()):
            continue
        if isinstance(value, Mapping):
            yield f"{indent}{name}"
            yield from _lines(value, indent + "  ")
        else:
            line = f"{indent}{name}: {_text(value)}"
            yield line if len(line) <= _LINE else f"{line[: _LINE - 3]}..."


def _text(value: Any) -> str:
    if isinstance(value, Estimate):
        if value.low is None or value.high is None:
            return f"{value.mean:.4g} (n = {value.n})"
        return f"{value.mean:.4g} [{value.low:.4g}, {value.high:.4g}] (n = {value.n})"
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return ", ".join(f"{name} {_text(inner)}" for name, inner in value._asdict().items())
    return f"{value:.4g}" if isinstance(value, float) else str(value)
