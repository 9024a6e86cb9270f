"""The job that evaluates a policy in scenarios: focal return per agent, between floor and ceiling."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any, ClassVar, NamedTuple

import numpy as np

from kinfolk.core.arrays import Floats
from kinfolk.core.events import Event, FileChunk, Snapshot
from kinfolk.engines.base import Engine
from kinfolk.evaluation.aggregates import estimate_stratified_mean
from kinfolk.evaluation.export import to_csv
from kinfolk.evaluation.rollout import run_evaluation, run_matches
from kinfolk.evaluation.statistics import Estimate, estimate_mean
from kinfolk.isolation.worker_pool import closing_pools
from kinfolk.jobs.evaluate import RolloutTimed
from kinfolk.jobs.scenarios.plan import PlannedScenario, ScenarioPlan, plan_scenarios
from kinfolk.jobs.scenarios.settings import EvaluateScenarios
from kinfolk.play.results import EpisodeResult
from kinfolk.scenario_table.model import FOCAL


@dataclass(frozen=True, kw_only=True)
class ScenarioEpisodePlayed(Event):
    """An episode of a scenario has ended; `step` is its number."""

    kind: ClassVar[str] = "scenario_episode_played"
    scenario: str
    focal_return: float  # of focal agents and their offspring, per focal agent at the start
    score: float | None  # between floor 0 and ceiling 1, or beyond; None without them
    failures: list[dict[str, Any]]  # of the focal policy, fields of `Failure`


class ScenarioScore(NamedTuple):
    """How the focal policy did in a scenario."""

    name: str
    world: str
    mode: str
    held_out: bool
    focal_return: Estimate
    score: Estimate | None  # None without floor and ceiling
    floor: float | None
    ceiling: float | None
    failures: int  # of the focal policy


@dataclass(frozen=True, kw_only=True)
class ScenariosEvaluated(Event):
    """All scenarios are played: the score of each, and means over scenarios with intervals."""

    kind: ClassVar[str] = "scenarios_evaluated"
    scenarios: list[ScenarioScore]  # return and score of each
    means: dict[str, Estimate | None]  # of scores: `all`, `development`, `held-out` and by world
    skipped: dict[str, str]  # why scenarios are left out, by name
    failures: int  # of the focal policies
    first_failure: dict[str, Any] | None  # fields of `Failure`, and `scenario`
    notes: list[str]  # what to distrust


def evaluate_scenarios(
    settings: EvaluateScenarios, engine: Engine, resume: Snapshot | None = None
) -> Iterator[Event | Snapshot | FileChunk]:
    """Yield every episode, a snapshot after each task, the table of scores and the summary.

    Args:
        settings: The policies and the scenarios.
        engine: Engine that runs the tasks.
        resume: Last snapshot of a stopped run to continue from; None starts anew.
    """
    plan = plan_scenarios(settings)
    returns: defaultdict[str, list[float]] = defaultdict(list)
    failures: list[dict[str, Any]] = []
    n_done = 0
    if resume is not None:
        n_done, failures = resume.step, list(resume.notes["failures"])
        returns.update({name: array.tolist() for name, array in resume.arrays.items()})
    tasks = list(islice(plan.tasks(), n_done, None))
    with closing_pools():
        numbered = ((planned.name, task) for planned, task in tasks)
        results = run_matches(engine, numbered, run_evaluation)
        for (planned, _), result in zip(tasks, results, strict=True):
            for episode in result.episodes:
                event = _score_episode(planned, episode)
                returns[planned.name].append(event.focal_return)
                failures += [{**failure, "scenario": planned.name} for failure in event.failures]
                yield event
            n_done += 1
            yield RolloutTimed(step=n_done, **vars(result.observed))
            arrays = {name: np.array(values) for name, values in returns.items()}
            yield Snapshot(step=n_done, arrays=arrays, notes={"failures": failures})
    summary = summarize_scenarios(plan, returns, failures)
    yield FileChunk(path="scenarios.csv", data=to_csv(tabulate_scores(summary.scenarios)))
    yield summary


def _score_episode(planned: PlannedScenario, episode: EpisodeResult) -> ScenarioEpisodePlayed:
    """Return the event of an episode."""
    scenario = planned.scenario
    value = episode.returns[FOCAL] / scenario.n_focal
    failed = [asdict(failure) for failure in episode.failures if failure.slot == FOCAL]
    return ScenarioEpisodePlayed(
        step=episode.episode,
        scenario=planned.name,
        focal_return=value,
        score=None if scenario.floor is None else float(scenario.normalize(value)),
        failures=failed,
    )


def summarize_scenarios(
    plan: ScenarioPlan, returns: Mapping[str, Sequence[float]], failures: Sequence[dict[str, Any]]
) -> ScenariosEvaluated:
    """Compute the score of each scenario and the means over scenarios.

    Args:
        plan: The scenarios.
        returns: `[episodes]` returns per focal agent of each scenario.
        failures: Failures of the focal policies.
    """
    rows: list[ScenarioScore] = []
    groups: defaultdict[str, list[Floats]] = defaultdict(list)
    for planned in plan.planned:
        scenario = planned.scenario
        values: Floats = np.array(returns[planned.name], dtype=np.float64)
        has_bounds = scenario.floor is not None
        if has_bounds:
            scores = scenario.normalize(values)
            for key in ("all", "held-out" if scenario.held_out else "development", scenario.world):
                groups[key].append(scores)
        row = ScenarioScore(
            planned.name, scenario.world, scenario.mode, scenario.held_out,
            estimate_mean(values), estimate_mean(scores) if has_bounds else None,
            scenario.floor, scenario.ceiling,
            sum(failure["scenario"] == planned.name for failure in failures),
        )  # fmt: skip
        rows.append(row)
    notes = []
    if plan.skipped:
        notes.append(
            f"{len(plan.skipped)} of the chosen scenarios are left out, such as "
            f"{next(iter(plan.skipped))}: {next(iter(plan.skipped.values())).removesuffix('.')}."
        )
    without = [row.name for row in rows if row.score is None]
    if without:
        notes.append(f"No floor and ceiling, so no score: {', '.join(without)}.")
    return ScenariosEvaluated(
        step=len(rows),
        scenarios=rows,
        means={key: estimate_stratified_mean(strata) for key, strata in groups.items()},
        skipped=plan.skipped,
        failures=len(failures),
        first_failure=failures[0] if failures else None,
        notes=notes,
    )


def tabulate_scores(rows: Sequence[ScenarioScore]) -> dict[str, list[Any]]:
    """Return scores as columns; estimates have columns `NAME`, `NAME_low` and `NAME_high`."""
    table: defaultdict[str, list[Any]] = defaultdict(list)
    for row in rows:
        for name, value in row._asdict().items():
            if name in ("score", "focal_return"):
                mean, low, high, _ = value or (None, None, None, 0)
                table[name].append(mean)
                table[f"{name}_low"].append(low)
                table[f"{name}_high"].append(high)
            else:
                table[name].append(value)
        table["episodes"].append(row.focal_return.n)
    return dict(table)
