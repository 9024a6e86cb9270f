"""Sweep a job over settings and seeds: one run for each, a tidy table, and intervals over seeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kinfolk.core.errors import UnknownNameError, format_suggestion
from kinfolk.core.events import Event, FileChunk, Snapshot
from kinfolk.engines.base import Engine
from kinfolk.evaluation.export import ColumnTable, to_csv
from kinfolk.evaluation.metrics import describe_missing
from kinfolk.evaluation.statistics import Estimate, estimate_finite, estimate_mean
from kinfolk.evaluation.weakness import describe_weak_columns
from kinfolk.jobs.sweeps.points import (
    PointResult,
    SweepPoint,
    build_points,
    check_sweep,
    list_combinations,
    run_point,
)
from kinfolk.jobs.sweeps.search import SettingsSearch
from kinfolk.jobs.sweeps.settings import SWEPT_JOBS, Sweep

TABLE_FILE, SUMMARY_FILE, CURVES_FILE = "table.csv", "summary.csv", "curves.csv"
_INDEX_COLUMNS = ("seed", "episode")  # of the table, behind those of the varied settings


@dataclass(frozen=True, kw_only=True)
class PointDone(Event):
    """A run of the sweep has ended; `step` is its number."""

    kind: ClassVar[str] = "point_done"
    values: dict[str, Any]
    seed: int
    table: dict[str, list[Any]]  # columns by name; a row per episode, or one for the run
    curve: dict[str, list[Any]]  # a row per update or generation; empty for an evaluation


@dataclass(frozen=True, kw_only=True)
class SweepDone(Event):
    """All runs have ended: the tidy table, and an estimate of the metric for each setting.

    `over` says what the intervals are over: `seeds`, or `episodes` if there is one seed.
    """

    kind: ClassVar[str] = "swept"
    job: str  # that was varied
    metric: str  # that was estimated
    over: str  # what the intervals are over: seeds, or episodes if there is one seed
    vary: dict[str, list[Any]]  # values that each varied setting took
    seeds: list[int]  # that every setting was run with
    settings: list[dict[str, Any]]  # values of the varied settings, in the order of `estimates`
    estimates: list[Estimate | None]  # of the metric, for each setting
    search: dict[str, Any]  # ranges and choices; empty without a search
    best: int | None  # number of the setting that a search found to be best; None without a search
    notes: list[str]  # which of the intervals may cover less than 90 %, and why
    table: dict[str, list[Any]]  # a row per setting, seed and, of evaluations, episode
    curves: dict[str, list[Any]]  # a row per setting, seed, and update or generation


def sweep(
    settings: Sweep, engine: Engine, resume: Snapshot | None = None
) -> Iterator[Event | Snapshot | FileChunk]:
    """Yield the result of every run with a snapshot after it, then the tables.

    Args:
        settings: The job, what varies and the seeds.
        engine: Engine whose workers run one point each.
        resume: Last snapshot of a stopped sweep to continue from; None starts anew.
    """
    check_sweep(settings)
    results = [] if resume is None else [PointResult(*pair) for pair in resume.notes["results"]]
    points: list[SweepPoint] = []
    search = SettingsSearch(settings) if settings.search else None
    while (
        batch := search.propose() if search else list_combinations(settings) if not points else []
    ):
        new = build_points(settings, batch)
        points += new
        n_done = max(0, len(results) - (len(points) - len(new)))  # of this batch, before the resume
        for result in engine.map(run_point, new[n_done:]):
            point = points[len(results)]
            if not results:
                find_metric(settings, result.table)  # an unknown one is reported after one run
            results.append(result)
            step = len(results)
            yield PointDone(step=step, values=point.values, seed=point.seed, **result._asdict())
            yield Snapshot(step=step, arrays={}, notes={"results": [list(r) for r in results]})
        if search:
            estimates = _estimate_all(settings, results[len(points) - len(new) : len(points)])
            search.report([None if e is None else e.mean for e in estimates])
    done = summarize_sweep(settings, points, results)
    yield FileChunk(path=TABLE_FILE, data=to_csv(done.table))
    yield FileChunk(path=SUMMARY_FILE, data=to_csv(build_summary(done)))
    if done.curves:
        yield FileChunk(path=CURVES_FILE, data=to_csv(done.curves))
    yield done


def find_metric(sweep: Sweep, table: Mapping[str, Any]) -> str:
    """Return the column that is the metric of a sweep.

    Raises:
        UnknownNameError: The table has no such column.
    """
    columns = [name for name in table if name not in _INDEX_COLUMNS]
    default = SWEPT_JOBS[sweep.job].metric
    if sweep.metric in columns:
        return str(sweep.metric)
    matching = [name for name in columns if name == default or name.startswith(default)]
    if sweep.metric is None and matching:
        return matching[0]
    name = sweep.metric or default
    of_slots = [column for column in columns if column.startswith(f"{name}/")]
    if len(of_slots) == 1:  # such as `return_per_life` of the only slot
        return of_slots[0]
    if of_slots:
        raise UnknownNameError(f"Say whose {name} it is: {' or '.join(of_slots)}.")
    raise UnknownNameError(f"There is no metric '{name}'.{format_suggestion(name, columns)}")


def summarize_sweep(
    sweep: Sweep, points: Sequence[SweepPoint], results: Sequence[PointResult]
) -> SweepDone:
    """Join the tables of all points, and estimate the metric of each setting.

    Args:
        sweep: Settings of the sweep.
        points: Its runs.
        results: What each of them returned.
    """
    n_seeds, varied = len(sweep.seeds), sweep.varied
    settings = [point.values for point in points[::n_seeds]]
    estimates = _estimate_all(sweep, results)
    best = None
    if sweep.search:
        sign = 1.0 if sweep.direction == "maximize" else -1.0
        scores = [-np.inf if e is None else sign * e.mean for e in estimates]
        best = int(np.argmax(scores))
    return SweepDone(
        step=len(results),
        job=sweep.job,
        metric=find_metric(sweep, results[0].table),
        over="seeds" if n_seeds > 1 else "episodes",
        vary={name: _list_once([values[name] for values in settings]) for name in varied},
        seeds=list(sweep.seeds),
        settings=settings,
        estimates=estimates,
        search={n: v if isinstance(v, str) else list(v) for n, v in sweep.search.items()},
        best=best,
        notes=[*_describe_gaps(sweep, results), *_describe_weak_settings(sweep, settings, results)],
        table=_join_tables(varied, points, [result.table for result in results]),
        curves=_join_tables(varied, points, [result.curve for result in results]),
    )


def _list_once(values: Sequence[Any]) -> list[Any]:
    """Return values, which may be tables or lists, without repetitions."""
    return [value for i, value in enumerate(values) if value not in values[:i]]


def _join_tables(
    varied: Sequence[str], points: Sequence[SweepPoint], tables: Sequence[Mapping[str, list[Any]]]
) -> dict[str, list[Any]]:
    """Return the tables of all points as one, with the varied settings and the seed as columns.

    Args:
        varied: Names of the varied settings.
        points: The runs.
        tables: Columns of each run; a run without columns has no rows.
    """
    names = list(dict.fromkeys(name for table in tables for name in table))
    if not names:
        return {}
    # A setting that varies goes before a result of the same name.
    names = [name for name in names if name not in varied]
    columns: dict[str, list[Any]] = {name: [] for name in (*varied, "seed", *names)}
    for point, table in zip(points, tables, strict=True):
        n_rows = len(next(iter(table.values()), []))
        for name in varied:
            columns[name] += [point.values[name]] * n_rows
        columns["seed"] += [point.seed] * n_rows
        for name in names:
            columns[name] += table.get(name, [None] * n_rows)
    return columns


def _group_values(sweep: Sweep, results: Sequence[PointResult]) -> list[list[list[float | bool]]]:
    """Return the metric's values of each setting, seed and episode, without those that are None."""
    metric, n_seeds = find_metric(sweep, results[0].table), len(sweep.seeds)
    by_point = [[v for v in r.table.get(metric, []) if v is not None] for r in results]
    return [by_point[i : i + n_seeds] for i in range(0, len(by_point), n_seeds)]


def _estimate_all(sweep: Sweep, results: Sequence[PointResult]) -> list[Estimate | None]:
    """Return the mean of the metric at each setting."""
    return estimate_settings(_group_values(sweep, results))


def estimate_settings(
    values: Sequence[Sequence[Sequence[float | bool]]],
) -> list[Estimate | None]:
    """Return the mean at each setting: over seeds, or over episodes if there is one seed.

    Args:
        values: Of each setting, by seed, those of all episodes.
    """
    estimates: list[Estimate | None] = []
    for by_seed in values:
        if len(by_seed) == 1:  # booleans stay what they are: a proportion of episodes
            estimates.append(estimate_finite(np.array(by_seed[0])))
        else:  # as `kf.stats.seed_interval`, whose warnings are notes of a sweep
            means = np.array([float(np.mean(values)) for values in by_seed if values])
            estimates.append(estimate_mean(means) if len(means) else None)
    return estimates


def _describe_gaps(sweep: Sweep, results: Sequence[PointResult]) -> list[str]:
    """Say if the metric does not apply to some of the episodes, where the world says why."""
    world = sweep.settings.get("world")
    if world is None:
        return []
    metric = find_metric(sweep, results[0].table)
    values = [value for result in results for value in result.table.get(metric, [])]
    n_known = sum(value is not None for value in values)
    return describe_missing(str(world), {metric: n_known}, len(values))


def _describe_weak_settings(
    sweep: Sweep, settings: Sequence[Mapping[str, Any]], results: Sequence[PointResult]
) -> list[str]:
    """Describe at which settings the interval may cover too little, and why."""
    columns = {}
    for values, by_seed in zip(settings, _group_values(sweep, results), strict=True):
        name = ", ".join(f"{key} = {value}" for key, value in values.items()) or sweep.job
        numbers = by_seed[0] if len(by_seed) == 1 else [float(np.mean(v)) for v in by_seed if v]
        columns[name] = np.array(numbers)
    return describe_weak_columns(columns)


def build_summary(done: SweepDone) -> ColumnTable:
    """Return the summary of a sweep as columns: the setting, mean, low, high and n."""
    table: dict[str, list[Any]] = {
        name: [setting[name] for setting in done.settings] for name in done.vary
    }
    table["metric"] = [done.metric] * len(done.settings)
    for index, name in enumerate(Estimate._fields):
        table[name] = [None if e is None else e[index] for e in done.estimates]
    table["n"] = [0 if e is None else e.n for e in done.estimates]
    table["over"] = [done.over] * len(done.settings)
    return table
