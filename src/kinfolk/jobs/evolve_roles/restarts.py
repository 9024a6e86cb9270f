"""Several starts of one evolution: each begins anew, then the best teams of all evolve together.

A population soon agrees on one way to play. Starts that know nothing of each other find others, and
their roles meet in teams when all of them are brought back.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from kinfolk.core.errors import require
from kinfolk.core.events import Event
from kinfolk.jobs.evolve_roles.champion import count_roles
from kinfolk.jobs.evolve_roles.settings import EvolveRoles
from kinfolk.jobs.evolve_roles.state import RoleEvolutionState
from kinfolk.roles.contribution import Contributions
from kinfolk.roles.teams import TeamComposition, assigned_roles, rank_teams

_KEPT_TEAMS = 3  # of each start


@dataclass(frozen=True, kw_only=True)
class EvolutionRestarted(Event):
    """Evolution begins anew, or with the best teams of all starts."""

    kind: ClassVar[str] = "evolution_restarted"
    start: int  # number of the start, from 0; one more than the last start for all teams together
    set_aside: list[dict[str, int]]  # best teams of former starts: how many agents play which role
    values: list[float]  # their estimated scores


def check_restarts(settings: EvolveRoles) -> None:
    """Check that there are generations enough for every start, and no other way to evolve.

    Raises:
        SettingsError: There are not.
    """
    if settings.restarts == 0:
        return
    fewest = 3 * (settings.restarts + 1)
    require(
        settings.generations >= fewest,
        f"{settings.restarts} restarts need {fewest} generations or more, not {settings.generations}.",
    )
    others = {
        "coevolve": settings.coevolve > 0,
        "live": settings.live,
        "archive": settings.archive,
        "trigger temple": settings.trigger == "temple",
    }
    for name, is_used in others.items():
        require(not is_used, f"Restarts cannot be combined with {name}: leave one out.")


def ends_start(settings: EvolveRoles, done: int) -> bool:
    """Return whether a start ends after `done` generations, so that another phase begins."""
    start, rest = divmod(done, settings.start_generations)
    return settings.restarts > 0 and rest == 0 and 1 <= start <= settings.restarts + 1


def begin_start(state: RoleEvolutionState, done: int) -> Iterator[EvolutionRestarted]:
    """Set the best teams aside and begin anew, or bring all of them back, if it is time.

    Args:
        state: State after `done` generations; changed.
        done: Number of generations so far.
    """
    settings, coordinator = state.settings, state.coordinator
    if not ends_start(settings, done):
        return
    start = done // settings.start_generations
    known = {team.roles for team in state.set_aside}
    state.set_aside += [t for t in state.teams[:_KEPT_TEAMS] if t.roles not in known]
    if start <= settings.restarts:
        coordinator.restart(sorted({*state.seeded_roles}), assigned_roles(state.set_aside))
        state.teams = [TeamComposition(state.seeded_roles)]
    else:
        coordinator.revive(sorted(assigned_roles(state.set_aside)))
        state.teams = rank_teams(state.set_aside)
    state.champion = state.teams[0].roles
    state.recent, state.contributions = [], Contributions()
    yield EvolutionRestarted(
        step=done,
        start=start,
        set_aside=[count_roles(state.catalog, team.roles) for team in state.set_aside],
        values=[team.value for team in state.set_aside],
    )
