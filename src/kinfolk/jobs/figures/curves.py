"""Curves of runs: learning curves of trainings, evolutions and sweeps; sizes of populations."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from kinfolk.core.errors import UsageError, format_suggestion
from kinfolk.core.settings import validate_settings
from kinfolk.evaluation.figures.curves import Curve, draw_curves
from kinfolk.jobs.figures.sources import FigureSource, label_lines, require_no_metric, require_one
from kinfolk.store.run_job import flatten_metrics

_MAX_TRACED = 10  # episodes that are played again for population curves


class CourseFigure(NamedTuple):
    """The learning curve of a job: which events have it, the default metric and the labels."""

    kind: str
    metric: str
    x_label: str
    y_label: str  # of the default metric


CURVES = {
    "train": CourseFigure("update_done", "score", "steps", "score of the last episodes"),
    "exploit": CourseFigure("update_done", "score", "steps", "score of the last episodes"),
    "evolve_roles": CourseFigure(
        "generation_scored", "advantage", "generation", "advantage over the seeded team"
    ),
    "evolve_nets": CourseFigure("generation_scored", "mean", "generation", "mean fitness"),
}


def draw_run_curves(sources: Sequence[FigureSource], metric: str | None) -> Any:
    """Draw learning curves, with intervals over runs that differ in their seed only."""
    if sources[0].job == "sweep":
        return _draw_sweep_curves(sources, metric)
    figure = CURVES[sources[0].job]
    name = metric or figure.metric
    lines: dict[str, list[Curve]] = {}
    for source, label in zip(sources, label_lines(sources), strict=True):
        events = source.of_kind(figure.kind)
        if metric is not None:
            events = _find_events(source, metric)
        populations = list(dict.fromkeys(event.get("population") for event in events))
        for population in populations:
            points = [
                (event["step"], dict(flatten_metrics(event, "")).get(f"/{name}"))
                for event in events
                if event.get("population") == population
            ]
            known = [(x, y) for x, y in points if y is not None]
            if known:
                parts = [label, str(population) if len(populations) > 1 else ""]
                line = ", ".join(part for part in parts if part)
                lines.setdefault(line, []).append(Curve(*zip(*known, strict=True)))
    if not lines:
        raise UsageError(f"No event has a value of '{name}' yet.")
    return draw_curves(lines, figure.x_label, _label(name, figure))


def _label(metric: str, figure: CourseFigure) -> str:
    """Return the label of the y axis."""
    return figure.y_label if metric == figure.metric else metric.replace("_", " ")


def _find_events(source: FigureSource, metric: str) -> list[Mapping[str, Any]]:
    """Return the events that have a metric.

    Raises:
        UnknownNameError: None has.
    """
    by_kind: dict[str, list[Mapping[str, Any]]] = {}
    known: dict[str, None] = {}
    for event in source.events:
        names = [path.removeprefix("/") for path, _ in flatten_metrics(event, "")]
        known |= dict.fromkeys(name for name in names if name != "step")
        if metric in names:
            by_kind.setdefault(str(event["kind"]), []).append(event)
    if not by_kind:
        raise UsageError(
            f"A run of {source.job} has no metric '{metric}'.{format_suggestion(metric, known)}"
        )
    return max(by_kind.values(), key=len)


def _draw_sweep_curves(sources: Sequence[FigureSource], metric: str | None) -> Any:
    """Draw the learning curves of the runs of a sweep, a line for each setting."""
    done = require_one(sources).of_kind("swept")[-1]
    job, table = str(done["job"]).replace("-", "_"), done["curves"]
    if not table:
        raise UsageError("Evaluations have no learning curves; draw the estimates of this sweep.")
    figure = CURVES[job]
    name, varied = metric or figure.metric, list(done["vary"])
    if name not in table:
        known = [column for column in table if column not in (*varied, "seed", "step")]
        raise UsageError(f"The sweep has no curve of '{name}'.{format_suggestion(name, known)}")
    points: dict[tuple[str, Any], list[tuple[float, float]]] = {}
    groups = table.get("group", [""] * len(table["step"]))
    for row, (x, y) in enumerate(zip(table["step"], table[name], strict=True)):
        parts = [f"{key} = {table[key][row]}" for key in varied]
        parts += [groups[row]] if len(set(groups)) > 1 else []
        if y is not None:
            points.setdefault((", ".join(parts), table["seed"][row]), []).append((x, y))
    lines: dict[str, list[Curve]] = {}
    for (label, _), course in points.items():
        lines.setdefault(label, []).append(Curve(*zip(*course, strict=True)))
    return draw_curves(lines, figure.x_label, _label(name, figure))


def draw_populations(sources: Sequence[FigureSource], metric: str | None) -> Any:
    """Draw how many agents of each group live: over ticks of an evaluation, or over a training."""
    require_no_metric(metric, "populations")
    if sources[0].job == "train":
        lines: dict[str, list[Curve]] = {}
        for source, label in zip(sources, label_lines(sources), strict=True):
            events = [e for e in source.of_kind("update_done") if e["alive"]]
            for group in events[-1]["alive"] if events else ():
                line = ", ".join(part for part in (label, group) if part)
                curve = Curve([e["step"] for e in events], [e["alive"][group] for e in events])
                lines.setdefault(line, []).append(curve)
        return draw_curves(lines, "steps", "mean alive in recent episodes")
    from kinfolk.evaluation.trajectory import trace_episode
    from kinfolk.jobs.evaluate import Evaluate, evaluation_tasks

    source = require_one(sources)
    settings = validate_settings(Evaluate, source.settings)
    lines = {}
    n_traced = min(_MAX_TRACED, settings.episodes)
    for episode in range(n_traced):
        trace = trace_episode(next(evaluation_tasks(settings)), episode)
        for group, series in zip(trace.groups, trace.populations.T, strict=True):
            curve = Curve(range(len(series)), series.tolist())
            lines.setdefault(group, []).append(curve)
    y_label = "alive"
    if n_traced < settings.episodes:
        y_label = f"alive, first {n_traced} of {settings.episodes} episodes"
    ends = [curve.x[-1] for curve in next(iter(lines.values()))]
    x_label = "tick"
    if min(ends) < max(ends):
        x_label = f"tick; ends with the shortest episode\n(the longest has {max(ends)} ticks)"
        warnings.warn(
            f"The figure of populations stops at tick {min(ends)}, where the shortest of its {n_traced} "
            f"episodes ends; the longest has {max(ends)} ticks. Their lengths are in the evaluation's "
            "`ticks`.",
            stacklevel=2,
        )
    return draw_curves(lines, x_label, y_label, over="episodes")
