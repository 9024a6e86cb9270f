"""The files of a finished study: a table of all runs, figures, and the report in two formats."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kinfolk.core.errors import KinfolkError
from kinfolk.core.events import FileChunk
from kinfolk.core.temporary_folder import remove_tree
from kinfolk.evaluation.export import to_csv
from kinfolk.evaluation.figures.estimates import draw_estimates, draw_named_estimates
from kinfolk.evaluation.figures.style import encode_figure
from kinfolk.jobs.studies.plan import StudyPlan
from kinfolk.jobs.studies.rendering import render_html, render_markdown
from kinfolk.jobs.studies.report import build_report
from kinfolk.jobs.studies.results import ConditionEstimate, StudyDone, StudyPointDone
from kinfolk.jobs.studies.settings import Study
from kinfolk.store.run import open_run
from kinfolk.store.settings_file import SETTINGS_FILE

TABLE_FILE, MARKDOWN_FILE, HTML_FILE = "table.csv", "report.md", "report.html"
_MIN_POINTS = 3  # numeric levels from which a metric is drawn over an axis


def write_outputs(settings: Study, plan: StudyPlan, done: StudyDone) -> Iterator[FileChunk]:
    """Yield the files of a finished study.

    Args:
        settings: Settings of the study.
        plan: Its plan.
        done: What it found.
    """
    figures = {}
    for metric in dict.fromkeys(hypothesis.metric for hypothesis in plan.hypotheses):
        rows = [row for row in done.estimates if row.metric == metric]
        figures[metric] = encode_figure(
            draw_metric(rows, len(done.seeds), plan.metrics[metric].about), "svg"
        )
        yield FileChunk(path=name_figure(metric), data=figures[metric])
    yield FileChunk(path=TABLE_FILE, data=to_csv(build_table(done)))
    sections = build_report(settings, plan, done, {m: name_figure(m) for m in figures})
    yield FileChunk(path=MARKDOWN_FILE, data=render_markdown(plan.title, sections).encode())
    pictures = {name_figure(metric): data for metric, data in figures.items()}
    yield FileChunk(path=HTML_FILE, data=render_html(plan.title, sections, pictures).encode())


@contextmanager
def removing_unbegun(folder: Path) -> Iterator[None]:
    """Remove the folder of a new study that fails before any of its runs has ended.

    Nothing was computed, its plan is to be mended, and the folder would only block its name.
    """
    try:
        yield
    except KinfolkError:
        if (folder / SETTINGS_FILE).exists():
            events = open_run(folder).events()
            if not any(event["kind"] == StudyPointDone.kind for event in events):
                remove_tree(folder)
        raise


def name_figure(metric: str) -> str:
    """Return the name of the file with the figure of a metric."""
    return f"figure-{metric}.svg"


def build_table(done: StudyDone) -> dict[str, list[Any]]:
    """Return all metrics as columns: a row per metric, condition and seed."""
    rows = [
        (row.stage, row.condition, row.metric, seed, value)
        for row in done.estimates
        for seed, value in zip(done.seeds, row.values, strict=True)
    ]
    names = ("stage", "condition", "metric", "seed", "value")
    columns: list[list[Any]] = [list(column) for column in zip(*rows, strict=True)]
    return dict(zip(names, columns, strict=True))


def draw_metric(rows: Sequence[ConditionEstimate], n_seeds: int, about: str = "") -> Any:
    """Draw a metric in all conditions of its stage: over a numeric factor, or one below the other.

    One below the other, the last of several factors has colours, and the others are named beside the axis.

    Args:
        rows: The metric in each condition.
        n_seeds: Number of seeds, for the axis.
        about: What the metric is, for the axis; its name if empty.

    Returns:
        A `matplotlib.figure.Figure`.
    """
    interval, metric = f"{n_seeds} seeds", about or rows[0].metric
    factors = list(rows[0].levels)
    numeric = [factor for factor in factors if _is_numeric(row.levels[factor] for row in rows)]
    if numeric:
        first = numeric[0]
        others = [factor for factor in factors if factor != first]
        settings = [
            {first: float(row.levels[first])} | {name: row.levels[name] for name in others}
            for row in rows
        ]
        return draw_estimates(settings, [row.estimate for row in rows], metric, interval)
    named, colored = (factors[:-1], factors[-1:]) if len(factors) > 1 else (factors, [])
    groups: dict[str, dict[str, Any]] = {}
    for row in rows:
        label = ", ".join(f"{factor} = {row.levels[factor]}" for factor in colored)
        name = ", ".join(row.levels[factor] for factor in named) or row.condition
        groups.setdefault(label, {})[name] = row.estimate
    return draw_named_estimates(groups, metric, interval, names=", ".join(named))


def _is_numeric(levels: Iterator[str]) -> bool:
    """Return whether levels are numbers, and enough of them for an axis."""
    distinct = set(levels)
    try:
        return len({float(level) for level in distinct}) >= _MIN_POINTS
    except ValueError:
        return False
