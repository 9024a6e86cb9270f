"""Run a study: every stage with every condition and seed, then the verdicts and the report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from kinfolk.core.arrays import Arrays
from kinfolk.core.events import Event, FileChunk, Snapshot
from kinfolk.core.imports import import_libraries
from kinfolk.engines.base import Engine
from kinfolk.jobs.studies.checks import check_plan
from kinfolk.jobs.studies.conditions import find_references, find_source_condition, list_conditions
from kinfolk.jobs.studies.outputs import write_outputs
from kinfolk.jobs.studies.plan import StudyPlan
from kinfolk.jobs.studies.points import StudyPoint, StudyPointResult, run_study_point
from kinfolk.jobs.studies.results import (
    StudyPointDone,
    StudyPointTimed,
    StudyRegistered,
    StudyRun,
    summarize_study,
)
from kinfolk.jobs.studies.settings import Study
from kinfolk.store.arrays import BEST, POLICY_FOLDER

# Evaluations of policies that earlier stages made are short, and a snapshot holds all these policies.
_RUNS_PER_SNAPSHOT = 10
_KEY = "\t"  # between the parts of the name of a stored policy
_FILE_NAME = str.maketrans(dict.fromkeys(" /%@=?&", "-"))


def study(
    settings: Study, engine: Engine, resume: Snapshot | None = None
) -> Iterator[Event | Snapshot | FileChunk]:
    """Yield the result of every run, snapshots between them, then verdicts, tables and the report.

    Args:
        settings: The plan and which variant of it.
        engine: Engine whose workers do one run each.
        resume: Last snapshot of a stopped study to continue from; None starts anew.
    """
    import_libraries("The figure of a study", "matplotlib")  # now, not after hours
    plan = check_plan(settings.name, settings.text)
    runs = list_runs(plan, settings.quick)
    results: list[dict[str, float | None]] = []
    products: dict[str, bytes] = {}
    if resume is None:
        yield StudyRegistered(
            step=0,
            name=settings.name,
            sha256=settings.sha256,
            quick=settings.quick,
            n_runs=len(runs),
        )
    else:
        results = list(resume.notes["results"])
        products = {name: array.tobytes() for name, array in resume.arrays.items()}
    for stage in plan.stages:
        pending = [run for run in runs[len(results) :] if run.stage == stage]
        points = build_points(settings, plan, pending, products)
        is_short = plan.stages[stage].job == "eval" and bool(products)
        every = _RUNS_PER_SNAPSHOT if is_short else 1
        for run, result in zip(pending, engine.map(run_study_point, points), strict=True):
            yield from _store_products(run, result, products)
            results.append(result.values)
            step = len(results)
            yield StudyPointDone(step=step, **run._asdict(), values=result.values)
            yield StudyPointTimed(step=step, stage=stage, seconds=result.seconds)
            if step % every == 0 or run is pending[-1]:
                arrays: Arrays = {n: np.frombuffer(data, np.uint8) for n, data in products.items()}
                yield Snapshot(step=step, arrays=arrays, notes={"results": list(results)})
    done = summarize_study(settings, plan, runs, results)
    yield from write_outputs(settings, plan, done)
    yield done


def list_runs(plan: StudyPlan, quick: bool) -> list[StudyRun]:
    """Return all runs of a study: stages in order, and in each of them conditions and seeds."""
    seeds = range(plan.quick.seeds if quick else plan.seeds)
    return [
        StudyRun(stage, condition.name, seed)
        for stage in plan.stages
        for condition in list_conditions(plan, stage)
        for seed in seeds
    ]


def build_points(
    settings: Study, plan: StudyPlan, runs: Sequence[StudyRun], products: Mapping[str, bytes]
) -> Iterator[StudyPoint]:
    """Yield what workers need for runs of one stage, whose earlier stages are done.

    Args:
        settings: Settings of the study.
        plan: Its plan.
        runs: The runs.
        products: Policies that earlier stages made.
    """
    for run in runs:
        stage = plan.stages[run.stage]
        conditions = {c.name: c for c in list_conditions(plan, run.stage, settings.quick)}
        condition = conditions[run.condition]
        policies = {}
        for text, reference in find_references(condition.settings).items():
            source = find_source_condition(plan, reference, condition.levels)
            policies[text] = products[
                _name_product(reference.stage, source, run.seed, reference.product)
            ]
        metrics = {n: m.model_dump() for n, m in plan.metrics.items() if m.stage == run.stage}
        location = f"{settings.name}.toml, stages.{run.stage}, condition '{run.condition}', seed {run.seed}"
        yield StudyPoint(
            stage.job, condition.settings, run.seed + stage.seed_offset, metrics, stage.logs,
            policies, tuple(_list_products(plan, run.stage, run.condition)), location,
        )  # fmt: skip


def _list_products(plan: StudyPlan, stage: str, condition: str) -> list[str]:
    """Return the policies of a condition, as SLOT@VERSION, that later stages play."""
    wanted = []
    for other in plan.stages:
        for player in list_conditions(plan, other):
            for reference in find_references(player.settings).values():
                is_of_stage = reference.stage == stage
                if (
                    is_of_stage
                    and find_source_condition(plan, reference, player.levels) == condition
                ):
                    wanted.append(reference.product)
    return list(dict.fromkeys(wanted))


def _name_product(stage: str, condition: str, seed: int, product: str) -> str:
    """Return the name of a policy among those of all runs.

    Args:
        stage: Stage that made it.
        condition: Its condition.
        seed: Seed of the study.
        product: SLOT@VERSION.
    """
    return _KEY.join((stage, condition, str(seed), product))


def _store_products(
    run: StudyRun, result: StudyPointResult, products: dict[str, bytes]
) -> Iterator[FileChunk]:
    """Keep the policies that a run made for later stages, and yield them as files of the study.

    Args:
        run: The run.
        result: What it returned.
        products: Policies of all runs, which is extended.
    """
    for product, data in result.products.items():
        name = _name_product(*run, product)
        products[name] = data
        yield FileChunk(path=name_policy_file(name), data=data)


def name_policy_file(product: str) -> str:
    r"""Return the path of a policy in the run folder, by its name among those of all runs.

    >>> name_policy_file("train\tlow\t0\tprey@50%")
    'policies/train-low-0-prey-50-/best.safetensors'
    """
    name = product.replace(_KEY, "-").translate(_FILE_NAME)
    return f"{POLICY_FOLDER}/{name}/{BEST}.safetensors"
