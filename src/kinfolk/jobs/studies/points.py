"""The runs of a study: one job with one condition and one seed, and what it returns."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import numpy as np

from kinfolk.core.errors import KinfolkError, UsageError
from kinfolk.core.imports import import_object
from kinfolk.core.settings import validate_settings
from kinfolk.evaluation.trajectory import replay_episode
from kinfolk.jobs.evaluate import Evaluate, evaluation_tasks
from kinfolk.jobs.studies.conditions import BEST, FIRST, LATEST, replace_texts
from kinfolk.jobs.studies.plan import StudyMetric
from kinfolk.jobs.sweeps.points import SweepPoint, run_point
from kinfolk.store.arrays import POLICY_FOLDER
from kinfolk.store.files import temporary_directory, write_atomic


class StudyPoint(NamedTuple):
    """One run of a study, with all that a worker needs."""

    job: str
    settings: dict[str, Any]  # policies of earlier stages by their `stage:` texts
    seed: int
    metrics: dict[str, dict[str, Any]]  # fields of `StudyMetric`, by name
    logs: tuple[str, ...]  # import paths of logs
    policies: dict[str, bytes]  # files of policies that earlier stages made, by text
    products: tuple[str, ...]  # SLOT@VERSION of the policies that later stages play
    location: str = ""  # file, stage, condition and seed, for error messages


class StudyPointResult(NamedTuple):
    """What one run of a study returns."""

    values: dict[str, float | None]  # by metric; None where it does not apply
    products: dict[str, bytes]  # files of policies by SLOT@VERSION
    seconds: float  # of processor time


def run_study_point(point: StudyPoint) -> StudyPointResult:
    """Run the job of one point in this process, and return its metrics and policies.

    Raises:
        KinfolkError: The job failed; the message says in which stage, condition and seed.
    """
    try:
        return _run_job(point)
    except KinfolkError as error:
        kind = UsageError if isinstance(error, UsageError) else KinfolkError
        raise kind(f"{point.location}: {error}") from error


def _run_job(point: StudyPoint) -> StudyPointResult:
    """Run the job of one point in this process, and return its metrics and policies."""
    start = time.process_time()
    with temporary_directory() as folder:
        places = {}
        for number, (text, data) in enumerate(point.policies.items()):
            write_atomic(folder / f"{number}.safetensors", data)
            places[text] = f"file:{folder / str(number)}.safetensors"
        settings = replace_texts(point.settings, places)
        files: dict[str, bytes] = {}
        whole = {**settings, "seed": point.seed}
        table = run_point(SweepPoint(point.job, whole, {}, point.seed), files).table
        for log in point.logs:
            table |= _log_episodes(validate_settings(Evaluate, whole), log)
    values = {
        name: compute_metric(validate_settings(StudyMetric, fields), table)
        for name, fields in point.metrics.items()
    }
    products = {name: _select_product(name, files) for name in point.products}
    return StudyPointResult(values, products, time.process_time() - start)


def _log_episodes(settings: Evaluate, log: str) -> dict[str, list[Any]]:
    """Play the episodes of an evaluation again with a log, and return its metrics as columns."""
    task = next(evaluation_tasks(settings))
    rows = []
    for episode in range(settings.episodes):
        _, record = replay_episode(task, episode, import_object(log))
        rows.append(record.compute_metrics())
    return {name: [_to_plain(row[name]) for row in rows] for name in rows[0]}


def _to_plain(value: float) -> float | None:
    """Return a number as events hold it: None for what does not apply."""
    return float(value) if np.isfinite(value) else None


def compute_metric(metric: StudyMetric, table: Mapping[str, Sequence[Any]]) -> float | None:
    """Return the metric of one run from the columns of its results.

    Args:
        metric: Which columns, and how they are combined.
        table: Columns by name, a row per episode or one row; None where a value does not apply.

    Returns:
        The number; None where a column has no value, or the divisor is 0.
    """
    value = _average(table, metric.column)
    if value is None:
        return metric.missing
    if metric.minus is not None:
        subtracted = _average(table, metric.minus)
        if subtracted is None:
            return metric.missing
        value -= subtracted
    if metric.divided_by is not None:
        divisor = _average(table, metric.divided_by)
        if not divisor:
            return metric.missing
        value /= divisor
    return value


def _average(table: Mapping[str, Sequence[Any]], column: str) -> float | None:
    """Return the mean of the values of a column; None if it has none."""
    values = [value for value in table.get(column, ()) if value is not None]
    return float(np.mean(values)) if values else None


def _select_product(name: str, files: Mapping[str, bytes]) -> bytes:
    """Return the file of a policy that a run made.

    Args:
        name: SLOT@VERSION.
        files: All files of the run, by path.

    Raises:
        UsageError: The run made no such policy.
    """
    slot, _, version = name.partition("@")
    folder = f"{POLICY_FOLDER}/{slot}/"
    stored = {PurePosixPath(p).stem: data for p, data in files.items() if p.startswith(folder)}
    steps = sorted(stem for stem in stored if stem.isdecimal())
    if (version == BEST and BEST in stored) or (not steps and BEST in stored):
        return stored[BEST]
    if not steps:
        made = sorted({path.split("/")[1] for path in files if path.startswith(POLICY_FOLDER)})
        raise UsageError(
            f"A run of the stage made no policy '{slot}'; it made: {', '.join(made) or 'none'}."
        )
    share = {FIRST: 0.0, LATEST: 1.0, BEST: 1.0}.get(version)
    if share is None:
        share = float(version.removesuffix("%")) / 100.0
    return stored[steps[round(share * (len(steps) - 1))]]
