"""Sweep a job over settings and seeds: one run for each, a tidy table, and intervals over seeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import product
from typing import Any, ClassVar, NamedTuple

import numpy as np
from pydantic import Field, field_validator

from kinfolk.core.errors import UnknownNameError, format_suggestion, require
from kinfolk.core.events import Event, FileChunk, Snapshot, TimingEvent
from kinfolk.core.imports import import_object
from kinfolk.core.settings import Settings, fields_of, merge_settings, setting, validate_settings
from kinfolk.engines.base import Engine, LocalEngine
from kinfolk.evaluation.export import ColumnTable, to_csv
from kinfolk.evaluation.intervals import seed_interval
from kinfolk.evaluation.metrics import check_metric, list_metrics, metric_values
from kinfolk.evaluation.statistics import Estimate, estimate_finite
from kinfolk.play.results import EpisodeColumns
from kinfolk.store.run_job import flatten_metrics
from kinfolk.worlds import WORLDS

TABLE_FILE, SUMMARY_FILE = "table.csv", "summary.csv"
INDEX_COLUMNS = ("seed", "episode")  # of the table, behind those of the varied settings


class SweptJob(NamedTuple):
    """A job that can be swept, by import path, so that it is imported when it is run."""

    settings: str  # settings class
    run: str  # function of the job
    result: str  # class of its last event
    metric: str  # default metric: a column of the table, or the beginning of its name


SWEPT_JOBS = {
    "eval": SweptJob(
        "kinfolk.jobs.evaluate:Evaluate", "kinfolk.jobs.evaluate:evaluate",
        "kinfolk.jobs.evaluate:Evaluated", "return",
    ),
    "train": SweptJob(
        "kinfolk.jobs.train.settings:Train", "kinfolk.jobs.train.job:train",
        "kinfolk.jobs.train.reports:TrainingDone", "score",
    ),
    "evolve-roles": SweptJob(
        "kinfolk.jobs.evolve_roles.settings:EvolveRoles",
        "kinfolk.jobs.evolve_roles.job:evolve_roles",
        "kinfolk.jobs.evolve_roles.champion:ChampionEvaluated", "scores/champion",
    ),
    "evolve-nets": SweptJob(
        "kinfolk.jobs.evolve_nets.settings:EvolveNets", "kinfolk.jobs.evolve_nets.job:evolve_nets",
        "kinfolk.jobs.evolve_nets.job:NetsEvolved", "held_out/",
    ),
}  # fmt: skip


class Sweep(Settings):
    """Settings of a sweep: every combination of the varied settings is run with every seed."""

    job: str = setting("eval", f"Job that is run: {', '.join(SWEPT_JOBS)}.")
    settings: dict[str, Any] = setting({}, "Settings of the job that all runs share.")
    vary: dict[str, tuple[Any, ...]] = setting(
        {}, "Values of each setting that is varied, of the job or of its world."
    )
    seeds: tuple[int, ...] = Field(
        default=(0,),
        min_length=1,
        description="Random seeds; each setting is run with all of them.",
    )
    metric: str | None = setting(
        None, "Metric of the summary and the figure; none: that of the job."
    )

    @field_validator("job")
    @classmethod
    def _check_job(cls, job: str) -> str:
        """Check that there is such a job."""
        known = format_suggestion(job, list(SWEPT_JOBS))
        require(job in SWEPT_JOBS, f"No job that can be swept is named '{job}'.{known}")
        return job

    @field_validator("seeds")
    @classmethod
    def _check_seeds(cls, seeds: tuple[int, ...]) -> tuple[int, ...]:
        """Check that every seed is given once: equal seeds would count one run as two."""
        for seed in seeds:
            once = seeds.count(seed) == 1
            require(
                once, f"Seed {seed} is given twice, and would count one run as two. Give it once."
            )
            require(seed >= 0, f"A seed is a whole number of at least 0, not {seed}.")
        return seeds

    @field_validator("vary")
    @classmethod
    def _check_vary(cls, vary: dict[str, tuple[Any, ...]]) -> dict[str, tuple[Any, ...]]:
        """Check that every varied setting has values, each of them once."""
        for name, values in vary.items():
            require(len(values) > 0, f"The varied setting {name} has no values.")
            require(name != "seed", "Seeds are varied by seeds, not by vary.")
            repeated = [value for value in values if [*values].count(value) > 1]
            require(not repeated, f"{name} is given the value {(repeated or [0])[0]!r} twice.")
        return vary


class SweepPoint(NamedTuple):
    """One run of a sweep: the job with its settings, and what varies."""

    job: str
    settings: dict[str, Any]
    values: dict[str, Any]  # of the varied settings
    seed: int


@dataclass(frozen=True, kw_only=True)
class PointDone(Event):
    """A run of the sweep has ended; `step` is its number."""

    kind: ClassVar[str] = "point_done"
    values: dict[str, Any]
    seed: int
    table: dict[str, list[Any]]  # columns by name; a row per episode, or one for the run


@dataclass(frozen=True, kw_only=True)
class SweepDone(Event):
    """All runs have ended: the tidy table, and an estimate of the metric for each setting.

    `over` says what the intervals are over: `seeds`, or `episodes` if there is one seed.
    """

    kind: ClassVar[str] = "swept"
    job: str
    metric: str
    over: str
    vary: dict[str, list[Any]]
    seeds: list[int]
    settings: list[dict[str, Any]]  # values of the varied settings, in the order of `estimates`
    estimates: list[Estimate | None]
    table: dict[str, list[Any]]  # a row per setting, seed and, of evaluations, episode


def build_points(sweep: Sweep) -> list[SweepPoint]:
    """Return the runs of a sweep, all of whose settings are checked.

    Raises:
        UsageError: A varied setting does not exist, or a value of it is wrong.
    """
    model = import_object(SWEPT_JOBS[sweep.job].settings)
    require("seed" not in sweep.settings, "A sweep has seeds; leave out the seed of its job.")
    paths = {name: _find_setting(sweep, model, name) for name in sweep.vary}
    points = []
    for values in product(*sweep.vary.values()):
        changed = dict(zip(sweep.vary, values, strict=True))
        table = sweep.settings
        for name, value in changed.items():
            nested: Any = value
            for part in reversed(paths[name]):
                nested = {part: nested}
            table = merge_settings(table, nested)
        checked = validate_settings(model, table)
        if hasattr(checked, "world_ref"):
            checked.world_ref.build()
        points += [
            SweepPoint(sweep.job, {**table, "seed": seed}, changed, seed) for seed in sweep.seeds
        ]
    return points


def _find_setting(sweep: Sweep, model: type[Settings], name: str) -> tuple[str, ...]:
    """Return the path of a setting in those of the job: its own, or one of the world's.

    Args:
        sweep: The sweep; its settings name the world.
        model: Settings class of the job.
        name: Name of the setting, with dots between those of tables.

    Raises:
        UnknownNameError: Neither the job nor its world has it.
    """
    path = tuple(name.split("."))
    job_fields = [field.name for field in fields_of(model)]
    if name in job_fields or path[0] == "world_settings":
        return path
    world_field = "world" if "world" in model.model_fields else "task"
    world = sweep.settings.get(world_field, model.model_fields[world_field].get_default())
    rules = [field.name for field in fields_of(WORLDS.load(str(world)).settings_type)]
    if name in rules:
        return ("world_settings", *path)
    hint = format_suggestion(name, [*rules, *job_fields])
    raise UnknownNameError(f"Neither {sweep.job} nor world {world} has a setting '{name}'.{hint}")


def check_sweep(sweep: Sweep) -> list[SweepPoint]:
    """Return the runs of a sweep after a check of its settings and its metric.

    Raises:
        UsageError: A setting or the metric is wrong.
    """
    points = build_points(sweep)
    if sweep.metric is not None and sweep.job == "eval":
        for point in points[:: len(sweep.seeds)]:
            model = import_object(SWEPT_JOBS["eval"].settings)
            check_metric(sweep.metric, validate_settings(model, point.settings).world_ref)
    elif sweep.metric is not None:
        result = import_object(SWEPT_JOBS[sweep.job].result)
        known = [f.name for f in fields(result) if f.name not in ("step", "weights")]
        if sweep.metric.partition("/")[0] not in known:
            hint = format_suggestion(sweep.metric, known)
            raise UnknownNameError(f"{sweep.job} has no metric '{sweep.metric}'.{hint}")
    return points


def run_point(point: SweepPoint) -> dict[str, list[Any]]:
    """Run the job of one point in this process, and return its rows as columns."""
    job = SWEPT_JOBS[point.job]
    settings = validate_settings(import_object(job.settings), point.settings)
    snapshot, last = None, None
    for item in import_object(job.run)(settings, LocalEngine()):
        if isinstance(item, Snapshot):
            snapshot = item
        elif isinstance(item, Event) and not isinstance(item, TimingEvent):
            last = item
    if point.job == "eval":
        assert snapshot is not None  # there is one after each chunk of episodes
        return _episode_rows(settings, EpisodeColumns(snapshot.arrays, snapshot.notes))
    assert last is not None  # every job ends with an event
    facts = {name: value for name, value in last.to_dict().items() if name != "step"}
    numbers = {path.partition("/")[2]: [value] for path, value in flatten_metrics(facts, "result")}
    return {"episode": [None], **numbers}


def _episode_rows(settings: Any, played: EpisodeColumns) -> dict[str, list[Any]]:
    """Return every metric of the episodes of an evaluation, as columns."""
    table: dict[str, list[Any]] = {"episode": played.arrays["episode"].tolist()}
    for metric in list_metrics(settings.world_ref):
        values = metric_values(metric, settings.world, played, settings.slot_ids)
        table[metric] = [None if np.isnan(v) else v for v in values.tolist()]
    for slot in settings.slot_ids:
        table[f"return.{slot}"] = played.column("returns", slot).tolist()
    return table


def sweep(
    settings: Sweep, engine: Engine, resume: Snapshot | None = None
) -> Iterator[Event | Snapshot | FileChunk]:
    """Yield the result of every run with a snapshot after it, then the tables.

    Args:
        settings: The job, what varies and the seeds.
        engine: Engine whose workers run one point each.
        resume: Last snapshot of a stopped sweep to continue from; None starts anew.
    """
    points = check_sweep(settings)
    tables: list[dict[str, list[Any]]] = [] if resume is None else list(resume.notes["tables"])
    for table in engine.map(run_point, points[len(tables) :]):
        point = points[len(tables)]
        if not tables:
            find_metric(settings, table)  # an unknown one is reported after one run, not after all
        tables.append(table)
        yield PointDone(step=len(tables), values=point.values, seed=point.seed, table=table)
        yield Snapshot(step=len(tables), arrays={}, notes={"tables": list(tables)})
    done = summarize_sweep(settings, points, tables)
    yield FileChunk(path=TABLE_FILE, data=to_csv(done.table))
    yield FileChunk(path=SUMMARY_FILE, data=to_csv(build_summary(done)))
    yield done


def find_metric(sweep: Sweep, table: Mapping[str, Any]) -> str:
    """Return the column that is the metric of a sweep.

    Raises:
        UnknownNameError: The table has no such column.
    """
    columns = [name for name in table if name not in INDEX_COLUMNS]
    default = SWEPT_JOBS[sweep.job].metric
    if sweep.metric in columns:
        return str(sweep.metric)
    matching = [name for name in columns if name == default or name.startswith(default)]
    if sweep.metric is None and matching:
        return matching[0]
    name = sweep.metric or default
    raise UnknownNameError(f"There is no metric '{name}'.{format_suggestion(name, columns)}")


def summarize_sweep(
    sweep: Sweep, points: Sequence[SweepPoint], tables: Sequence[Mapping[str, list[Any]]]
) -> SweepDone:
    """Join the tables of all points, and estimate the metric of each setting.

    Args:
        sweep: Settings of the sweep.
        points: Its runs.
        tables: The rows of each run, as columns.
    """
    metric, n_seeds = find_metric(sweep, tables[0]), len(sweep.seeds)
    names = list(dict.fromkeys(name for table in tables for name in table))
    columns: dict[str, list[Any]] = {name: [] for name in (*sweep.vary, "seed", *names)}
    for point, table in zip(points, tables, strict=True):
        n_rows = len(table["episode"])
        for name in sweep.vary:
            columns[name] += [point.values[name]] * n_rows
        columns["seed"] += [point.seed] * n_rows
        for name in names:
            columns[name] += table.get(name, [None] * n_rows)
    by_setting = [tables[i : i + n_seeds] for i in range(0, len(tables), n_seeds)]
    return SweepDone(
        step=len(tables),
        job=sweep.job,
        metric=metric,
        over="seeds" if n_seeds > 1 else "episodes",
        vary={name: list(values) for name, values in sweep.vary.items()},
        seeds=list(sweep.seeds),
        settings=[point.values for point in points[::n_seeds]],
        estimates=[_estimate([table[metric] for table in group]) for group in by_setting],
        table=columns,
    )


def _estimate(values_by_seed: Sequence[Sequence[float | None]]) -> Estimate | None:
    """Return the mean of a metric: over seeds that have a value, or over episodes of one seed."""
    finite = [[float(v) for v in values if v is not None] for values in values_by_seed]
    if len(finite) == 1:
        return estimate_finite(np.array(finite[0]))
    known = [values for values in finite if values]
    return seed_interval(known) if known else None


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
