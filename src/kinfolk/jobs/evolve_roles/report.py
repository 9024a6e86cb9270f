"""Report a generation of role evolution: scores of teams, fitness of roles, behaviors."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from kinfolk.core.arrays import Floats
from kinfolk.core.events import Event
from kinfolk.evaluation.statistics import Estimate, estimate_mean
from kinfolk.jobs.evolve_roles.scores import sample_std
from kinfolk.jobs.evolve_roles.state import RoleEvolutionState
from kinfolk.roles.catalog import RoleCatalog
from kinfolk.roles.coordinator import EvolutionaryRoleCoordinator
from kinfolk.roles.generations import pool_diversity
from kinfolk.roles.teams import rank_teams

_MAX_NAMED = 3  # behaviors named as rising, and as falling


@dataclass(frozen=True, kw_only=True)
class RoleGenerationScored(Event):
    """A generation was played. Scores of teams are per game, such as junction-ticks.

    `best` is the team with the best record, in the games of this generation alone; the share of a
    behavior is that of the roles in the pool that have it.
    """

    kind: ClassVar[str] = "generation_scored"
    games: int  # so far
    best: Estimate
    mean: float  # of all teams
    std: float  # between teams
    seeded_mean: float  # the seeded team on the same episodes
    advantage: float  # of surviving teams over the seeded one, in games that did not select them
    win_rate_vs_seeded: float  # share of the games of all teams
    win_rate_vs_champion: (
        float  # share of the best team's games, against the last generation's champion
    )
    win_rate: float  # share of games in which the team scored more than any other side
    team: dict[str, int]  # the best: how many agents play which role
    roles_best: float  # fitness in the pool
    roles_mean: float
    roles_std: float
    diversity: float
    n_roles: int  # in the catalog
    n_locked_names: int  # names in the pool
    behavior_shares: dict[str, float]  # share of roles in the pool that have each
    rising: list[str]
    falling: list[str]


class PreviousGeneration(NamedTuple):
    """What the report of the next generation compares with."""

    shares: dict[str, float]

    @staticmethod
    def from_coordinator(coordinator: EvolutionaryRoleCoordinator) -> PreviousGeneration:
        """Return the share of roles in the pool that have each behavior."""
        catalog, pool = coordinator.catalog, coordinator.pool
        counts = Counter(i for role in pool for i in catalog.roles[role].behavior_ids)
        return PreviousGeneration({b.name: counts[b.id] / len(pool) for b in catalog.behaviors})


def report_generation(
    state: RoleEvolutionState,
    previous: PreviousGeneration,
    margins: Floats,
    win_rate: float,
    generation: int,
) -> tuple[RoleGenerationScored, PreviousGeneration]:
    """Return the event of a generation, and what the next one compares with.

    Args:
        state: State of the evolution.
        previous: The generation before.
        margins: `[episodes, 1 + teams]` score margins, the seeded team first.
        win_rate: Share of games in which the team scored more than any other side.
        generation: Number of the generation.
    """
    coordinator, catalog = state.coordinator, state.catalog
    best = rank_teams(state.teams)[0]
    best_column = 1 + state.teams.index(best)
    playing = [state.seeded_roles, *(team.roles for team in state.teams)]
    champion_column = playing.index(state.champion) if state.champion in playing else 0
    means = margins[:, 1:].mean(axis=0)
    pool = [catalog.roles[i] for i in coordinator.pool]
    fitness = [role.fitness for role in pool if role.games > 0]
    current = PreviousGeneration.from_coordinator(coordinator)
    change = {
        name: share - previous.shares.get(name, 0.0) for name, share in current.shares.items()
    }
    event = RoleGenerationScored(
        step=generation,
        games=coordinator.games,
        best=estimate_mean(margins[:, best_column]),
        mean=float(means.mean()),
        std=sample_std(means.tolist()),
        seeded_mean=float(margins[:, 0].mean()),
        advantage=_advantage(state, margins),
        win_rate_vs_seeded=float((margins[:, 1:] > margins[:, :1]).mean()),
        win_rate_vs_champion=float(np.mean(margins[:, best_column] > margins[:, champion_column])),
        win_rate=win_rate,
        team=count_roles(catalog, best.roles),
        roles_best=max(fitness, default=0.0),
        roles_mean=float(np.mean(fitness)) if fitness else 0.0,
        roles_std=sample_std(fitness),
        diversity=pool_diversity(pool),
        n_roles=len(catalog.roles),
        n_locked_names=sum(role.locked_name for role in pool),
        behavior_shares=current.shares,
        rising=_largest_changes(change, 1),
        falling=_largest_changes(change, -1),
    )
    return event, current


def _advantage(state: RoleEvolutionState, margins: Floats) -> float:
    """Return the mean margin of surviving teams over the seeded team.

    They were selected by earlier games, so that these are unbiased. Of the seeded team its mean so
    far is taken, since its few games of one generation would be half noise; older games count less.
    In the first generation all teams are new, and it is 0.
    """
    survivors = [i for i, team in enumerate(state.teams, 1) if team.games > len(margins)]
    if not survivors:
        return 0.0
    return float(margins[:, survivors].mean()) - state.seeded_team.total / state.seeded_team.games


def count_roles(catalog: RoleCatalog, roles: tuple[int, ...]) -> dict[str, int]:
    """Return how many agents of a team play which role."""
    return dict(Counter(catalog.roles[i].name for i in roles))


def _largest_changes(change: dict[str, float], sign: int) -> list[str]:
    """Return the behaviors whose share changed most in one direction."""
    order = sorted(change, key=lambda name: (-sign * change[name], name))
    return [name for name in order if sign * change[name] > 0][:_MAX_NAMED]
