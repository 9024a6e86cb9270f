"""The state of role evolution before its first generation, or as it was when a run was stopped."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from kinfolk.core.errors import SettingsError, require
from kinfolk.core.events import Snapshot
from kinfolk.jobs.evolve_roles.report import behavior_shares
from kinfolk.jobs.evolve_roles.settings import EvolveRoles
from kinfolk.jobs.evolve_roles.state import (
    RoleEvolutionState,
    initial_state,
    state_from_snapshot,
)
from kinfolk.roles.catalog import have_same_vibe


def prepare(
    settings: EvolveRoles, resume: Snapshot | None
) -> tuple[RoleEvolutionState, Mapping[str, float]]:
    """Return the state before the first generation to play.

    Args:
        settings: Settings of the evolution, with the text of a role history to start from, if any.
        resume: Snapshot to restore; None starts from the history or from sampled roles.

    Returns:
        The state, and by behavior the share of roles that had it in the generation before.

    Raises:
        UsageError: Something is wrong with the settings or the history.
    """
    domain, world = settings.environment.domain, settings.environment.world.build()
    n_agents, catalog = domain.initial_team_size(world), domain.make_catalog(settings.catalog)
    if settings.score_step is not None and settings.score_step >= world.spec.max_ticks:
        raise SettingsError(
            f"EvolveRoles.score_step must lie within a game of {world.spec.max_ticks} ticks, "
            f"not at {settings.score_step}."
        )
    if resume is None:
        state = initial_state(settings, catalog, n_agents)
        shares = behavior_shares(state.coordinator)
    else:
        state = state_from_snapshot(settings, catalog, n_agents, resume)
        shares = resume.notes["previous_shares"]
    if settings.role_counts == "fixed":
        state.may_replace = partial(have_same_vibe, catalog)
    state.coordinator.num_agents = _find_largest_team(settings)
    return state, shares


def _find_largest_team(settings: EvolveRoles) -> int:
    """Return the most agents that a team has at the start of any episode.

    Raises:
        SettingsError: The number of teams varies.
    """
    environments = [settings.environment, *settings.environments]
    environments += settings.held_out_environments.values()
    n_teams = sorted({environment.n_teams for environment in environments})
    problem = f"here it is {' or '.join(map(str, n_teams))}"
    require(len(n_teams) == 1, f"The number of teams in a world must not vary; {problem}.")
    return max(environment.team_size for environment in environments)
