"""`kf.evaluate`, `kf.compare`, `kf.round_robin` and `kf.evolve_*`: jobs with typed settings."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from kinfolk.api.frames import to_html
from kinfolk.api.own_objects import name_objects
from kinfolk.api.results import JobResult, run_job, signature_of
from kinfolk.core.errors import UsageError
from kinfolk.core.settings import validate_settings
from kinfolk.engines.base import Engine
from kinfolk.evaluation.export import ColumnTable
from kinfolk.evaluation.formatting import (
    describe_comparison,
    format_estimate,
    format_sample_size,
)
from kinfolk.evaluation.ratings import Rating
from kinfolk.evaluation.statistics import Estimate
from kinfolk.jobs.compare import Compare, ComparisonDone, compare_policies
from kinfolk.jobs.evaluate import Evaluate, Evaluated
from kinfolk.jobs.evaluate import evaluate as evaluate_job
from kinfolk.jobs.evolve_nets.job import NetsEvolved
from kinfolk.jobs.evolve_nets.job import evolve_nets as evolve_nets_job
from kinfolk.jobs.evolve_nets.settings import EvolveNets
from kinfolk.jobs.evolve_roles.champion import ChampionEvaluated
from kinfolk.jobs.evolve_roles.job import evolve_roles as evolve_roles_job
from kinfolk.jobs.evolve_roles.settings import EvolveRoles
from kinfolk.jobs.round_robin import RatingsComputed, RoundRobin
from kinfolk.jobs.round_robin import round_robin as round_robin_job
from kinfolk.policies.own_policies import register_policy
from kinfolk.store.run import new_run_folder

if TYPE_CHECKING:
    from kinfolk.api import job_arguments
    from kinfolk.api.own_objects import PolicySource
    from kinfolk.worlds.gymnasium_task.own_tasks import EnvSource


@dataclass(frozen=True, kw_only=True, repr=False)
class EvaluationResult(JobResult, Evaluated):
    """What an evaluation found; means are over episodes, with 95 % confidence intervals."""


@dataclass(frozen=True, kw_only=True, repr=False)
class ComparisonResult(JobResult, ComparisonDone):
    """What a comparison found: the mean of each candidate, and a test of every pair."""

    def columns(self) -> ColumnTable:
        """Return the mean of each policy as columns: policy, mean, low, high and n."""
        rows = [Estimate(math.nan, None, None, 0) if e is None else e for e in self.means]
        values = {name: [row[i] for row in rows] for i, name in enumerate(Estimate._fields)}
        return {"policy": self.policies, **values}

    def verdicts(self) -> list[str]:
        """Return a sentence for each pair of policies: which is better, by how much, how surely."""
        return list(describe_comparison(self.to_dict()))

    def __repr__(self) -> str:
        lines = [f"ComparisonResult: mean of {self.metric} with its 95 % interval"]
        for policy, mean, failures in zip(self.policies, self.means, self.failures, strict=True):
            failed = f", {failures} failures" if failures else ""
            lines.append(
                f"{policy}: {format_estimate(mean)}, n = {format_sample_size(mean)}{failed}"
            )
        return "\n  ".join("\n".join([*lines, *self._facts()]).splitlines())

    def _repr_html_(self) -> str:
        rows = list(zip(self.policies, self.means, self.failures, strict=True))
        table = to_html(("policy", f"{self.metric}, mean (95 %)", "failures"), rows)
        return table + "".join(f"<p>{html.escape(fact)}</p>" for fact in self._facts())

    def _facts(self) -> list[str]:
        """Return verdicts, notes and failures."""
        return [*self.verdicts(), *self.notes, *self.failure_messages]


@dataclass(frozen=True, kw_only=True, repr=False)
class RoundRobinResult(JobResult, RatingsComputed):
    """What a round robin found: the rating of each policy, in the order of the policies."""

    def columns(self) -> ColumnTable:
        """Return the rating of each policy as columns."""
        names = Rating._fields
        values = {name: [rating[i] for rating in self.ratings] for i, name in enumerate(names)}
        return {"policy": self.policies, **values}

    def __repr__(self) -> str:
        lines = ["RoundRobinResult: rating, and share of games won with its 95 % interval"]
        rated = zip(self.policies, self.ratings, self.failures, strict=True)
        # Those that failed come last.
        for policy, rating, failures in sorted(
            rated, key=lambda row: (row[2] > 0, -row[1].ordinal)
        ):
            won = format_estimate((rating.win_rate, rating.win_rate_low, rating.win_rate_high))
            failed = f", {failures} failures" if failures else ""
            lines.append(
                f"{policy}: {rating.mu:.1f}, won {won}, n = {rating.n_seeds} seeds{failed}"
            )
        return "\n  ".join("\n".join([*lines, *self.failure_messages]).splitlines())

    def _repr_html_(self) -> str:
        table = self.columns()
        return to_html(list(table), list(zip(*table.values(), strict=True)), "Round robin")


@dataclass(frozen=True, kw_only=True, repr=False)
class RoleEvolutionResult(JobResult, ChampionEvaluated):
    """The champion of a role evolution, compared with the baselines on unseen episodes."""

    def _repr_html_(self) -> str:
        rows = [
            (name, count, self.programs[name], self.credit[name])
            for name, count in self.team.items()
        ]
        headings = ("role", "agents", "behaviors", f"{self.metric} lost without one (95 %)")
        return super()._repr_html_() + to_html(headings, rows, "The champion's roles")


@dataclass(frozen=True, kw_only=True, repr=False)
class NetEvolutionResult(JobResult, NetsEvolved):
    """How a neuroevolution ended; its nets play as `run:FOLDER[/POPULATION]`."""


@signature_of(Evaluate)
def evaluate(
    world: str | EnvSource = "probe",
    *,
    engine: str | Engine | None = None,
    jobs: int | None = None,
    out: str | Path | None = None,
    parallel_policy: bool = False,
    **settings: Unpack[job_arguments.EvaluateArguments],
) -> EvaluationResult:
    """Play episodes with a team of policies and summarise how each slot did.

    >>> evaluate("probe", slots={"all": "kin://noop"}, episodes=4).episodes
    4

    Args:
        world: World to play in, or an environment of your own: its class, a function that makes it, or
            an instance.
        engine: Engine that runs the tasks: local, processes, ray, or one of `kf.make_engine`; by
            default processes if `jobs` is more than 1, else local.
        jobs: Tasks that run at once.
        out: Folder for the run; without it nothing is stored.
        parallel_policy: Short for `isolate="agent"`: a process for every agent.
        settings: Fields of `kf.jobs.Evaluate`; see `kinfolk settings eval`.

    Returns:
        The summary over all episodes.

    Raises:
        UsageError: A setting, world or policy is wrong.
    """
    if parallel_policy and settings.setdefault("isolate", "agent") != "agent":
        raise UsageError(
            f"parallel_policy is short for isolate='agent'; it does not go with "
            f"isolate={settings['isolate']!r}."
        )
    chosen = validate_settings(Evaluate, name_objects({"world": world, **settings}))
    return run_job(EvaluationResult, "evaluate", evaluate_job, chosen, engine, jobs, out)


@signature_of(Compare)
def compare(
    *policies: str | PolicySource,
    world: str | EnvSource = "probe",
    engine: str | Engine | None = None,
    jobs: int | None = None,
    out: str | Path | None = None,
    **settings: Unpack[job_arguments.CompareArguments],
) -> ComparisonResult:
    """Test on common episodes whether one policy is better than another.

    >>> everybody = {"grazer": "candidate", "hunter": "candidate"}
    >>> result = compare("kin://noop", "kin://noop", agent_slot_map=everybody, episodes=4)
    >>> result.pairs["0 1"].better
    'neither'

    Args:
        policies: Two or more: a URI each, a class, function or instance of your own, or a team of slots
            as 'a=URI;b=URI'.
        world: World to play in, or an environment of your own: its class, a function that makes it, or
            an instance.
        engine: Engine that runs the tasks: local, processes, ray, or one of `kf.make_engine`; by
            default processes if `jobs` is more than 1, else local.
        jobs: Tasks that run at once.
        out: Folder for the run; without it nothing is stored.
        settings: Fields of `kf.jobs.Compare`; see `kinfolk settings compare`.

    Returns:
        Mean of each candidate, and the p-value of each pair.

    Raises:
        UsageError: A setting, world or policy is wrong.
    """
    uris = _name_candidates("compare", policies)
    chosen = validate_settings(
        Compare, name_objects({"policies": uris, "world": world, **settings})
    )
    return run_job(ComparisonResult, "compare", compare_policies, chosen, engine, jobs, out)


@signature_of(RoundRobin)
def round_robin(
    *policies: str | PolicySource,
    world: str | EnvSource = "probe",
    engine: str | Engine | None = None,
    jobs: int | None = None,
    out: str | Path | None = None,
    **settings: Unpack[job_arguments.EvaluateArguments],
) -> RoundRobinResult:
    """Let every policy meet every other in one game, from both sides, and rate them.

    >>> result = round_robin("kin://noop", "kin://noop", episodes=2)
    >>> [rating.n_games for rating in result.ratings]
    [2, 2]

    Args:
        policies: Two or more: a URI each, or a class, function or instance of your own.
        world: World to play in, or an environment of your own: its class, a function that makes it, or
            an instance.
        engine: Engine that runs the tasks: local, processes, ray, or one of `kf.make_engine`; by
            default processes if `jobs` is more than 1, else local.
        jobs: Tasks that run at once.
        out: Folder for the run; without it nothing is stored.
        settings: Fields of `kf.jobs.RoundRobin`: those of an evaluation, without slots and maps.

    Returns:
        Rating of each policy, and its failures.

    Raises:
        UsageError: A setting, world or policy is wrong.
    """
    uris = _name_candidates("round_robin", policies)
    chosen = validate_settings(
        RoundRobin, name_objects({"policies": uris, "world": world, **settings})
    )
    return run_job(RoundRobinResult, "round_robin", round_robin_job, chosen, engine, jobs, out)


def _name_candidates(function: str, policies: tuple[Any, ...]) -> tuple[str, ...]:
    """Return the URIs of policies that were given one by one.

    Raises:
        UsageError: One of them is neither text nor a policy.
    """
    for policy in policies:
        if isinstance(policy, list | tuple):
            raise UsageError(
                f"{function} takes policies one by one, as in {function}('kin://noop', "
                f"'kin://random'); this one is no URI: {policy!r}."
            )
    return tuple(p if isinstance(p, str) else register_policy(p) for p in policies)


@signature_of(EvolveRoles)
def evolve_roles(
    world: str = "cogsguard",
    *,
    engine: str | Engine | None = None,
    jobs: int | None = None,
    out: str | Path | None = None,
    **settings: Unpack[job_arguments.EvolveRolesArguments],
) -> RoleEvolutionResult:
    """Evolve roles and teams, and evaluate the champion on unseen seeds.

    Args:
        world: World to play in; it needs a catalog of roles.
        engine: Engine that runs the tasks: local, processes, ray, or one of `kf.make_engine`; by
            default processes if `jobs` is more than 1, else local.
        jobs: Tasks that run at once.
        out: Folder for the run; without it a new one in `runs`.
        settings: Fields of `kf.jobs.EvolveRoles`; see `kinfolk settings evolve-roles`.

    Returns:
        The champion beside the baselines, with the run that holds all roles.

    Raises:
        UsageError: A setting or world is wrong.
    """
    chosen = validate_settings(EvolveRoles, {"world": world, **settings})
    folder = new_run_folder("evolve_roles") if out is None else out
    return run_job(
        RoleEvolutionResult,
        "evolve_roles",
        evolve_roles_job,
        chosen,
        engine,
        jobs,
        folder,
        may_rename=out is None,
    )


@signature_of(EvolveNets)
def evolve_nets(
    task: str = "gym:CartPole-v1",
    *,
    engine: str | Engine | None = None,
    jobs: int | None = None,
    out: str | Path | None = None,
    **settings: Unpack[job_arguments.EvolveNetsArguments],
) -> NetEvolutionResult:
    """Evolve nets in a world, on a Gymnasium task, or to imitate another policy.

    Args:
        task: World, or Gymnasium task as gym:ID or gym:MODULE:ID.
        engine: Engine that runs the tasks: local, processes, ray, or one of `kf.make_engine`; by
            default processes if `jobs` is more than 1, else local.
        jobs: Tasks that run at once.
        out: Folder for the run; without it a new one in `runs`.
        settings: Fields of `kf.jobs.EvolveNets`; see `kinfolk settings evolve-nets`.

    Returns:
        How the evolution ended, with the run that holds its nets.

    Raises:
        UsageError: A setting or task is wrong.
    """
    chosen = validate_settings(EvolveNets, {"task": task, **settings})
    folder = new_run_folder("evolve_nets") if out is None else out
    return run_job(
        NetEvolutionResult,
        "evolve_nets",
        evolve_nets_job,
        chosen,
        engine,
        jobs,
        folder,
        may_rename=out is None,
    )
