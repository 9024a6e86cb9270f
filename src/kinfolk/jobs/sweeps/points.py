"""The runs of a sweep: their settings, and what one of them returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from kinfolk.core.errors import UnknownNameError, format_suggestion, require
from kinfolk.core.events import Event, FileChunk, Snapshot, TimingEvent
from kinfolk.core.imports import import_own
from kinfolk.core.settings import Settings, fields_of, merge_settings, validate_settings
from kinfolk.engines.base import LocalEngine
from kinfolk.evaluation.metrics import check_metric, list_metrics, metric_values
from kinfolk.jobs.sweeps.settings import SWEPT_JOBS, Sweep, parse_range
from kinfolk.play.results import EpisodeColumns
from kinfolk.store.run_job import flatten_metrics
from kinfolk.worlds import WORLDS


class SweepPoint(NamedTuple):
    """One run of a sweep: the job with its settings, and what varies."""

    job: str
    settings: dict[str, Any]
    values: dict[str, Any]  # of the varied settings
    seed: int


class PointResult(NamedTuple):
    """What one run of a sweep returns, as columns by name."""

    table: dict[str, list[Any]]  # a row per episode of an evaluation; of other jobs one row
    curve: dict[str, list[Any]]  # a row per update or generation; empty for an evaluation


def build_points(sweep: Sweep, combinations: Sequence[Mapping[str, Any]]) -> list[SweepPoint]:
    """Return a run for each combination of varied settings and each seed; all are checked.

    Args:
        sweep: Settings of the sweep.
        combinations: Values of the varied settings, by name.

    Raises:
        UsageError: A varied setting does not exist, or a value of it is wrong.
    """
    model = import_own(SWEPT_JOBS[sweep.job].settings)
    require("seed" not in sweep.settings, "A sweep has seeds; leave out the seed of its job.")
    paths = {name: _find_setting(sweep, model, name) for name in sweep.varied}
    points = []
    for values in combinations:
        table = sweep.settings
        for name, value in values.items():
            nested: Any = value
            for part in reversed(paths[name]):
                nested = {part: nested}
            table = merge_settings(table, nested)
        checked = validate_settings(model, table)
        if hasattr(checked, "world_ref"):
            checked.world_ref.build()
        points += [
            SweepPoint(sweep.job, {**table, "seed": seed}, dict(values), seed)
            for seed in sweep.seeds
        ]
    return points


def list_combinations(sweep: Sweep) -> list[dict[str, Any]]:
    """Return the values of the varied settings of a sweep that is no search, in order."""
    if sweep.cases:
        return [dict(case) for case in sweep.cases]
    return [dict(zip(sweep.vary, v, strict=True)) for v in product(*sweep.vary.values())]


def _list_corners(sweep: Sweep) -> list[dict[str, Any]]:
    """Return values of a search that cover every choice and both ends of every range."""
    ends = {
        name: parse_range(name, values)[:2] if isinstance(values, str) else values
        for name, values in sweep.search.items()
    }
    first = {name: values[0] for name, values in ends.items()}
    return [{**first, name: value} for name, values in ends.items() for value in values]


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
    listing = f"`kinfolk settings {world}` and `kinfolk settings {sweep.job}` list them"
    hint = format_suggestion(name, [*rules, *job_fields], listing)
    raise UnknownNameError(f"Neither {sweep.job} nor world {world} has a setting '{name}'.{hint}")


def check_sweep(sweep: Sweep) -> list[SweepPoint]:
    """Check the settings and the metric of a sweep, before anything is run.

    Returns:
        Its runs; of a search, those at the ends of its ranges.

    Raises:
        UsageError: A setting or the metric is wrong.
    """
    require(
        not sweep.settings.get("replays"),
        "A sweep records no replays. `kinfolk eval` with the same settings and --seed plays the same "
        "episodes: record them there.",
    )
    require(
        "," not in str(sweep.metric),
        f"A sweep has one metric, not '{sweep.metric}'. Its table has all of them, and `kinfolk plot` "
        f"draws any: --metric NAME.",
    )
    points = build_points(sweep, _list_corners(sweep) if sweep.search else list_combinations(sweep))
    for point in points[:: len(sweep.seeds)] if sweep.metric is not None else ():
        check_job_metric(sweep.job, str(sweep.metric), point.settings)
    return points


def check_job_metric(job: str, metric: str, settings: Mapping[str, Any]) -> None:
    """Check that the results of a job have a metric, before anything is run.

    Args:
        job: Name of the job in `SWEPT_JOBS`.
        metric: The metric.
        settings: Settings of the job.

    Raises:
        UnknownNameError: They have none of this name.
    """
    if job == "eval":
        model = import_own(SWEPT_JOBS["eval"].settings)
        check_metric(metric, validate_settings(model, settings).world_ref)
        return
    result = import_own(SWEPT_JOBS[job].result)
    texts = ("str", "dict[str, str]")  # such as why a training ended, and hashes
    known = [f.name for f in fields(result) if f.name != "step" and f.type not in texts]
    if metric.partition("/")[0] not in known:
        hint = format_suggestion(metric, known)
        raise UnknownNameError(f"{job} has no metric '{metric}'.{hint}")


def run_point(point: SweepPoint, files: dict[str, bytes] | None = None) -> PointResult:
    """Run the job of one point in this process, and return its rows.

    Args:
        point: The run.
        files: Filled with the files that the job yields, by path; None drops them.
    """
    job = SWEPT_JOBS[point.job]
    settings = validate_settings(import_own(job.settings), point.settings)
    snapshot, last = None, None
    course: list[dict[str, Any]] = []
    for item in import_own(job.run)(settings, LocalEngine()):
        if isinstance(item, Snapshot):
            snapshot = item
        elif isinstance(item, FileChunk):
            if files is not None:
                files[item.path] = item.data
        elif isinstance(item, Event) and not isinstance(item, TimingEvent):
            last = item
            course += [_select_plain(item)] if item.kind == job.curve else []
    if point.job == "eval":
        assert snapshot is not None  # there is one after each chunk of episodes
        played = EpisodeColumns(snapshot.arrays, snapshot.notes)
        return PointResult(_episode_rows(settings, played), {})
    assert last is not None  # every job ends with an event
    facts = {name: value for name, value in last.to_dict().items() if name != "step"}
    numbers = {path.partition("/")[2]: [value] for path, value in flatten_metrics(facts, "result")}
    names = list(dict.fromkeys(name for row in course for name in row))
    curve = {name: [row.get(name) for row in course] for name in names}
    return PointResult({"episode": [None], **numbers}, curve)


def _select_plain(event: Event) -> dict[str, Any]:
    """Return the numbers and texts of an event, without nested tables; of an estimate, the mean."""
    plain: dict[str, Any] = {"step": event.step}
    for name, value in event.to_dict().items():
        first = value[0] if isinstance(value, tuple) and value else value
        if name != "kind" and (first is None or isinstance(first, str | int | float)):
            # `population` is also a setting that may vary: the number of members.
            plain["group" if name == "population" else name] = first
    return plain


def _episode_rows(settings: Any, played: EpisodeColumns) -> dict[str, list[Any]]:
    """Return every metric of the episodes of an evaluation, as columns."""
    table: dict[str, list[Any]] = {"episode": played.arrays["episode"].tolist()}
    for metric in list_metrics(settings.world_ref):
        values = metric_values(metric, settings.world, played, settings.slot_ids)
        table[metric] = [None if np.isnan(v) else v for v in values.tolist()]
    for slot in settings.slot_ids:
        table[f"return.{slot}"] = played.column("returns", slot).tolist()
    return table
