"""Runs as figures need them: events, settings, and which runs are one line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from kinfolk.core.errors import UsageError
from kinfolk.evaluation.statistics import Estimate
from kinfolk.store.run import Run

_SEED_KEYS = ("seed", "history")  # what may differ between runs of one line


class FigureSource(NamedTuple):
    """A run, or the result of one that was not stored, as figures need it."""

    name: str
    job: str
    settings: Mapping[str, Any]
    events: Sequence[Mapping[str, Any]]
    run: Run | None = None  # None if it was not stored

    @classmethod
    def of_run(cls, run: Run) -> FigureSource:
        """Return what figures need of a stored run."""
        events = list(run.events())
        return cls(run.name, str(run.config["job"]), run.config["settings"], events, run)

    def last(self) -> Mapping[str, Any]:
        """Return the last event of the run.

        Raises:
            UsageError: The run has none yet.
        """
        if not self.events:
            raise UsageError(f"The run {self.name} has no results yet.")
        return self.events[-1]

    def of_kind(self, kind: str) -> list[Mapping[str, Any]]:
        """Return the events of a kind.

        Raises:
            UsageError: There are none, because the job was not stored or has not come so far.
        """
        events = [event for event in self.events if event["kind"] == kind]
        if not events:
            hint = " Give the job a folder, out='...'." if self.run is None else ""
            raise UsageError(f"There is nothing to draw yet: no event '{kind}'.{hint}")
        return events


def label_lines(sources: Sequence[FigureSource]) -> list[str]:
    """Return a label for each run: the settings in which it differs from others, without the seed.

    Runs with the same label differ in their seed only.

    Raises:
        UsageError: Two runs are the same, so that they are no two seeds.
    """
    flat = [dict(_flatten(source.settings)) for source in sources]
    names = list(dict.fromkeys(name for table in flat for name in table))
    differing = [n for n in names if any(table.get(n) != flat[0].get(n) for table in flat)]
    labels = [", ".join(f"{n} = {_describe(table.get(n))}" for n in differing) for table in flat]
    known: dict[tuple[Any, ...], str] = {}
    for source, label in zip(sources, labels, strict=True):
        seeds = [str(source.settings.get(key)) for key in _SEED_KEYS]
        identity = (label, *seeds)
        if identity in known:
            raise UsageError(
                f"{known[identity]} and {source.name} have the same settings and the same seed, so they are the "
                "same result twice. Draw one of them."
            )
        known[identity] = source.name
    return labels


def _describe(value: Any) -> str:
    """Return the value of a setting as text; None leaves the choice to the job."""
    return "default" if value is None else str(value)


def _flatten(settings: Mapping[str, Any], path: str = "") -> list[tuple[str, Any]]:
    """Return all settings with dots between the names of nested ones, without seeds."""
    pairs: list[tuple[str, Any]] = []
    for name, value in settings.items():
        if isinstance(value, Mapping):
            pairs += _flatten(value, f"{path}{name}.")
        elif name not in _SEED_KEYS:
            pairs.append((f"{path}{name}", value))
    return pairs


def require_one(sources: Sequence[FigureSource]) -> FigureSource:
    """Return the only run of a figure.

    Raises:
        UsageError: There are several.
    """
    if len(sources) > 1:
        raise UsageError(f"This figure is of one run, not of {len(sources)}.")
    return sources[0]


def require_no_metric(metric: str | None, kind: str) -> None:
    """Check that no metric is asked of a figure that has none.

    Raises:
        UsageError: There is one.
    """
    if metric is not None:
        raise UsageError(f"A figure of {kind} has no metric, so leave out '{metric}'.")


def read_estimate(value: Sequence[Any] | None) -> Estimate | None:
    """Return an estimate of an event, which JSON turned into a list."""
    return None if value is None else Estimate(*value)
