"""`kf.evaluate` and `kf.compare`: policies on episodes of a world."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from kinfolk.api.results import JobResult
from kinfolk.api.run_job import run_job, signature_of
from kinfolk.core.errors import UsageError
from kinfolk.core.settings import validate_settings
from kinfolk.jobs.compare import Compare, ComparisonDone, compare_policies
from kinfolk.jobs.evaluate import Evaluate, Evaluated
from kinfolk.jobs.evaluate import evaluate as evaluate_job

if TYPE_CHECKING:
    from kinfolk.api.job_arguments import CompareArguments, EvaluateArguments


@dataclass(frozen=True, kw_only=True, repr=False)
class EvaluationResult(JobResult, Evaluated):
    """What an evaluation found; means are over episodes, with 95 % confidence intervals."""


@dataclass(frozen=True, kw_only=True, repr=False)
class ComparisonResult(JobResult, ComparisonDone):
    """What a comparison found: the mean of each candidate, and a test of every pair."""


@signature_of(Evaluate)
def evaluate(
    world: str = "probe",
    *,
    engine: str = "local",
    jobs: int = 1,
    out: str | Path | None = None,
    **settings: Unpack[EvaluateArguments],
) -> EvaluationResult:
    """Play episodes with a team of policies and summarise how each slot did.

    >>> evaluate("probe", slots={"all": "kin://noop"}, episodes=4).episodes
    4

    Args:
        world: World to play in.
        engine: Engine that runs the tasks: local, processes or ray.
        jobs: Tasks that run at once.
        out: Folder for the run; without it nothing is stored.
        settings: Fields of `kf.jobs.Evaluate`; see `kinfolk settings eval`.

    Returns:
        The summary over all episodes.

    Raises:
        UsageError: A setting, world or policy is wrong.
    """
    chosen = validate_settings(Evaluate, {"world": world, **settings})
    return EvaluationResult.from_event(
        *run_job("evaluate", evaluate_job, chosen, engine, jobs, out)
    )


@signature_of(Compare)
def compare(
    *policies: str,
    world: str = "probe",
    engine: str = "local",
    jobs: int = 1,
    out: str | Path | None = None,
    **settings: Unpack[CompareArguments],
) -> ComparisonResult:
    """Test on common episodes whether one policy is better than another.

    >>> everybody = {"grazer": "candidate", "hunter": "candidate"}
    >>> result = compare("kin://noop", "kin://noop", agent_slot_map=everybody, episodes=4)
    >>> result.pairs["0 1"].better
    'neither'

    Args:
        policies: Two or more: a URI each, or a team of slots as 'a=URI;b=URI'.
        world: World to play in.
        engine: Engine that runs the tasks: local, processes or ray.
        jobs: Tasks that run at once.
        out: Folder for the run; without it nothing is stored.
        settings: Fields of `kf.jobs.Compare`; see `kinfolk settings compare`.

    Returns:
        Means of the candidates, and a p-value for every pair.

    Raises:
        UsageError: A setting, world or policy is wrong.
    """
    for policy in policies:
        if not isinstance(policy, str):
            raise UsageError(
                f"compare takes policies one by one, as in compare('kin://noop', 'kin://random'); "
                f"this one is no URI: {policy!r}."
            )
    chosen = validate_settings(Compare, {"policies": policies, "world": world, **settings})
    return ComparisonResult.from_event(
        *run_job("compare", compare_policies, chosen, engine, jobs, out)
    )
