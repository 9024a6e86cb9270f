"""Functions that evolve: `kf.evolve_roles` and `kf.evolve_nets`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from kinfolk.api.results import JobResult
from kinfolk.api.run_job import run_job, signature_of
from kinfolk.core.settings import validate_settings
from kinfolk.jobs.evolve_nets.job import NetsEvolved
from kinfolk.jobs.evolve_nets.job import evolve_nets as evolve_nets_job
from kinfolk.jobs.evolve_nets.settings import EvolveNets
from kinfolk.jobs.evolve_roles.champion import ChampionEvaluated
from kinfolk.jobs.evolve_roles.job import evolve_roles as evolve_roles_job
from kinfolk.jobs.evolve_roles.settings import EvolveRoles
from kinfolk.store.run_folder import new_run_folder

if TYPE_CHECKING:
    from kinfolk.api.job_arguments import EvolveNetsArguments, EvolveRolesArguments


@dataclass(frozen=True, kw_only=True, repr=False)
class RoleEvolutionResult(JobResult, ChampionEvaluated):
    """The champion of a role evolution, compared with the baselines on unseen episodes."""


@dataclass(frozen=True, kw_only=True, repr=False)
class NetEvolutionResult(JobResult, NetsEvolved):
    """How a neuroevolution ended; its nets play as `run:FOLDER[/POPULATION]`."""


@signature_of(EvolveRoles)
def evolve_roles(
    world: str = "cogsguard",
    *,
    engine: str = "local",
    jobs: int = 1,
    out: str | Path | None = None,
    **settings: Unpack[EvolveRolesArguments],
) -> RoleEvolutionResult:
    """Evolve roles and teams, and evaluate the champion on unseen seeds.

    Args:
        world: World to play in; it needs a catalog of roles.
        engine: Engine that runs the tasks: local, processes or ray.
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
    return RoleEvolutionResult.from_event(
        *run_job("evolve_roles", evolve_roles_job, chosen, engine, jobs, folder)
    )


@signature_of(EvolveNets)
def evolve_nets(
    task: str = "gym:CartPole-v1",
    *,
    engine: str = "local",
    jobs: int = 1,
    out: str | Path | None = None,
    **settings: Unpack[EvolveNetsArguments],
) -> NetEvolutionResult:
    """Evolve nets in a world, on a Gymnasium task, or to imitate another policy.

    Args:
        task: World, or Gymnasium task as gym:ID or gym:MODULE:ID.
        engine: Engine that runs the tasks: local, processes or ray.
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
    return NetEvolutionResult.from_event(
        *run_job("evolve_nets", evolve_nets_job, chosen, engine, jobs, folder)
    )
