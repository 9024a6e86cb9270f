"""`kf.scenarios` and `kf.evaluate_scenarios`: a policy among others, in worlds it was not made for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from kinfolk.api.frames import to_html
from kinfolk.api.results import JobResult, run_job, signature_of
from kinfolk.core.settings import validate_settings
from kinfolk.engines.base import Engine
from kinfolk.evaluation.export import ColumnTable
from kinfolk.evaluation.formatting import format_estimate
from kinfolk.jobs.scenarios.job import ScenariosEvaluated, tabulate_scores
from kinfolk.jobs.scenarios.job import evaluate_scenarios as evaluate_scenarios_job
from kinfolk.jobs.scenarios.settings import EvaluateScenarios
from kinfolk.policies.own_policies import register_policy
from kinfolk.scenario_table.model import EVERYTHING, Scenario
from kinfolk.scenario_table.read import read_scenarios

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kinfolk.api import job_arguments
    from kinfolk.api.own_objects import PolicySource


@dataclass(frozen=True, kw_only=True, repr=False)
class ScenarioResult(JobResult, ScenariosEvaluated):
    """How a policy did in scenarios: scores between a floor (0) and a ceiling (1), with intervals."""

    def columns(self) -> ColumnTable:
        """Return a row per scenario as columns."""
        return tabulate_scores(self.scenarios)

    def __repr__(self) -> str:
        lines = [f"ScenarioResult: {len(self.scenarios)} scenarios"]
        lines += [f"  mean of {name}: {format_estimate(e)}" for name, e in self.means.items()]
        lines += [
            f"  {row.name}: {format_estimate(row.focal_return if row.score is None else row.score)}"
            for row in self.scenarios
        ]
        return "\n".join([*lines, *(f"  {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        rows = [
            (row.name, row.world, row.mode, "held out" if row.held_out else "", row.score,
             row.focal_return)
            for row in self.scenarios
        ]  # fmt: skip
        headings = ("scenario", "world", "mode", "", "score (95 %)", "return per agent (95 %)")
        return to_html(headings, rows, "Scores: 0 is the floor, 1 the ceiling")


def scenarios(file: str | Path | None = None) -> dict[str, Scenario]:
    """Return scenarios by name: those of the package, or those of a TOML file.

    >>> scenarios()["prey_among_grazers"].players["type_1_prey"]
    {'focal': 5, 'grazer': 10}

    Raises:
        UsageError: There is no such file, or a scenario in it is wrong.
    """
    return dict(read_scenarios(None if file is None else Path(file)).scenarios)


@signature_of(EvaluateScenarios)
def evaluate_scenarios(
    policies: str | PolicySource | Mapping[str, str | PolicySource],
    *,
    engine: str | Engine | None = None,
    jobs: int | None = None,
    out: str | Path | None = None,
    **settings: Unpack[job_arguments.EvaluateScenariosArguments],
) -> ScenarioResult:
    """Evaluate a policy among other policies, in worlds that differ from those it was made for.

    >>> result = evaluate_scenarios("kin://noop", scenarios=("hunt_grazers",), episodes=2)
    >>> result.scenarios[0].focal_return.n
    2

    Args:
        policies: A policy for all scenarios (a URI, or a class, function or instance of your own), or a
            table of them by what they play: a group, a part of its name such as `prey`, or a world.
        engine: Engine that runs the tasks: local, processes, ray, or one of `kf.make_engine`; by
            default processes if `jobs` is more than 1, else local.
        jobs: Tasks that run at once.
        out: Folder for the run; without it nothing is stored.
        settings: Fields of `kf.jobs.EvaluateScenarios`; see `kinfolk settings scenarios`.

    Returns:
        The score of each scenario, and means over scenarios.

    Raises:
        UsageError: A scenario, setting or policy is wrong.
    """
    table = policies if isinstance(policies, dict) else {EVERYTHING: policies}
    uris = {str(k): p if isinstance(p, str) else register_policy(p) for k, p in table.items()}
    chosen = validate_settings(EvaluateScenarios, {"policies": uris, **settings})
    return run_job(ScenarioResult, "scenarios", evaluate_scenarios_job, chosen, engine, jobs, out)
