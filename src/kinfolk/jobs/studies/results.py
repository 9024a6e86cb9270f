"""What a study yields: its runs, every metric in every condition, verdicts on its hypotheses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from kinfolk.core.events import Event, TimingEvent
from kinfolk.evaluation.statistics import Estimate, estimate_mean
from kinfolk.evaluation.weakness import MIN_VALUES, describe_weakness
from kinfolk.jobs.studies.conditions import list_conditions
from kinfolk.jobs.studies.effects import measure_effect
from kinfolk.jobs.studies.plan import StudyPlan
from kinfolk.jobs.studies.settings import Study
from kinfolk.jobs.studies.verdicts import HypothesisVerdict, decide_all


@dataclass(frozen=True, kw_only=True)
class StudyRegistered(Event):
    """The plan as it is run; nothing has been computed yet."""

    kind: ClassVar[str] = "study_registered"
    name: str
    sha256: str  # of the plan
    quick: bool
    n_runs: int


@dataclass(frozen=True, kw_only=True)
class StudyPointDone(Event):
    """A run of the study has ended; `step` is its number."""

    kind: ClassVar[str] = "study_point_done"
    stage: str
    condition: str
    seed: int
    values: dict[str, float | None]  # by metric; None where it does not apply


@dataclass(frozen=True, kw_only=True)
class StudyPointTimed(TimingEvent):
    """The processor time of a run; `step` is its number."""

    kind: ClassVar[str] = "study_point_timed"
    stage: str
    seconds: float


class ConditionEstimate(NamedTuple):
    """A metric in one condition, over seeds."""

    metric: str
    stage: str
    condition: str
    levels: dict[str, str]  # by factor
    estimate: Estimate | None  # with its 95 % interval; None without values
    values: list[float | None]  # one per seed


@dataclass(frozen=True, kw_only=True)
class StudyDone(Event):
    """All runs have ended: every metric in every condition, and a verdict on every hypothesis."""

    kind: ClassVar[str] = "study_done"
    name: str
    title: str
    question: str
    sha256: str  # of the plan
    quick: bool  # whether it was the variant that decides nothing
    seeds: list[int]
    verdicts: list[HypothesisVerdict]  # in the order of the plan
    estimates: list[ConditionEstimate]  # by metric and condition
    notes: list[str]  # which of the intervals may cover less than 90 %, and why


class StudyRun(NamedTuple):
    """One run that is to be done: its stage, condition and seed."""

    stage: str
    condition: str
    seed: int  # of the study, without the offset of the stage


def summarize_study(
    settings: Study,
    plan: StudyPlan,
    runs: Sequence[StudyRun],
    results: Sequence[Mapping[str, float | None]],
) -> StudyDone:
    """Estimate every metric in every condition, and decide about every hypothesis.

    Args:
        settings: Settings of the study.
        plan: Its plan.
        runs: All runs.
        results: Metrics of each run.
    """
    values: dict[tuple[str, str], list[float | None]] = {}
    for run, result in zip(runs, results, strict=True):
        for measured, value in result.items():
            values.setdefault((measured, run.condition), []).append(value)
    estimates = []
    for name, metric in plan.metrics.items():
        for condition in list_conditions(plan, metric.stage):
            by_seed = values[name, condition.name]
            numbers = np.array([value for value in by_seed if value is not None])
            estimate = estimate_mean(numbers) if len(numbers) else None
            estimates.append(
                ConditionEstimate(
                    name, metric.stage, condition.name, condition.levels, estimate, by_seed
                )
            )
    effects = []
    for hypothesis in plan.hypotheses:
        conditions = list_conditions(plan, plan.metrics[hypothesis.metric].stage)
        by_condition = {c.name: values[hypothesis.metric, c.name] for c in conditions}
        effects.append(measure_effect(hypothesis, conditions, by_condition))
    return StudyDone(
        step=len(results),
        name=settings.name,
        title=plan.title,
        question=plan.question.strip(),
        sha256=settings.sha256,
        quick=settings.quick,
        seeds=list(range(plan.quick.seeds if settings.quick else plan.seeds)),
        verdicts=decide_all(plan.hypotheses, effects, settings.quick),
        estimates=estimates,
        notes=[] if settings.quick else _describe_weak(estimates),
    )


def has_weak_interval(row: ConditionEstimate) -> bool:
    """Return whether an interval may cover less than 90 %, since values are few or skewed."""
    numbers = np.array([value for value in row.values if value is not None])
    return len(set(numbers)) > 1 and describe_weakness(numbers) is not None


def _describe_weak(estimates: Sequence[ConditionEstimate]) -> list[str]:
    """Return a sentence about the intervals that may cover less than 90 %; none if there are none."""
    weak = [row for row in estimates if has_weak_interval(row)]
    if not weak:
        return []
    metrics = ", ".join(dict.fromkeys(row.metric for row in weak))
    return [
        f"{len(weak)} of {len(estimates)} intervals (of {metrics}) are of skewed values or of fewer than "
        f"{MIN_VALUES}, and may cover the true mean in less than 90 % of cases; tables mark them by *. "
        "p-values do not assume normal values."
    ]
