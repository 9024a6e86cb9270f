"""Check the settings of a run as its job does when it starts, without running it: policies, slots, groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kinfolk.core.imports import import_own
from kinfolk.core.settings import validate_settings
from kinfolk.jobs.studies.conditions import find_references, replace_texts
from kinfolk.jobs.sweeps.settings import SWEPT_JOBS
from kinfolk.policies.build import build_policy

_ANY_POLICY = "kin://random"  # takes the place of policies that earlier stages make
_ANY_NET = "kin://mlp"  # the same in a training, whose slots may learn


def fill_references(job: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a job with some policy in the place of each one of an earlier stage."""
    policy = _ANY_NET if job == "train" else _ANY_POLICY
    filled: dict[str, Any] = replace_texts(
        settings, dict.fromkeys(find_references(settings), policy)
    )
    return filled


def check_job_start(job: str, settings: Mapping[str, Any]) -> None:
    """Check that a job can start: its settings, its world, its policies, and who plays which group.

    Args:
        job: Name of the job in `SWEPT_JOBS`.
        settings: Its settings; policies of earlier stages by their `stage:` texts.

    Raises:
        KinfolkError: It cannot, with the message of the job.
    """
    checked: Any = validate_settings(
        import_own(SWEPT_JOBS[job].settings), fill_references(job, settings)
    )
    _CHECKS[job](checked)


def _check_evaluation(settings: Any) -> None:
    """Check the world, the slot map and the policies of an evaluation.

    Raises:
        KinfolkError: One of them is wrong.
    """
    spec = settings.world_ref.spec
    settings.build_assignments()
    for slot in settings.slots:
        trusted = settings.is_trusted(slot)
        resolved = slot.resolve_policy(trusted)
        if trusted:  # the code of an isolated policy is not run in this process
            build_policy(resolved, spec).close()


def _check_training(settings: Any) -> None:
    """Check the world, the slots, the nets and the losses of a training.

    Raises:
        KinfolkError: One of them is wrong.
    """
    from kinfolk.jobs.train.state import build_plan, initial_state  # needs torch

    initial_state(settings, build_plan(settings).resolved)


def _check_role_evolution(settings: Any) -> None:
    """Check the world, the catalog and the first roles of an evolution of roles.

    Raises:
        KinfolkError: One of them is wrong.
    """
    from kinfolk.jobs.evolve_roles.coevolution.state import check_coevolution
    from kinfolk.jobs.evolve_roles.start import prepare

    prepare(settings, None)
    if settings.coevolve:
        check_coevolution(settings)


def _check_net_evolution(settings: Any) -> None:
    """Check the world, the groups and the fixed policies of an evolution of nets.

    Raises:
        KinfolkError: One of them is wrong.
    """
    from kinfolk.jobs.evolve_nets.setup import build_setup

    setup = build_setup(settings)
    for policy in setup.fixed_policies.values():
        build_policy(policy, setup.spec).close()


_CHECKS = {
    "eval": _check_evaluation,
    "train": _check_training,
    "evolve-roles": _check_role_evolution,
    "evolve-nets": _check_net_evolution,
}
