"""What a generation reports."""

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

_MAX_NAMED = 3  # behaviours named as rising, and as falling


@dataclass(frozen=True, kw_only=True)
class RoleGenerationScored(Event):
    """A generation was played. What line-ups held is told per game, such as junction-ticks.

    `best` is the line-up with the best record, in the games of this generation alone; the share
    of a behaviour is that of the roles in the pool that hold it.
    """

    kind: ClassVar[str] = "generation_scored"
    games: int  # so far
    best: Estimate
    mean: float  # of all line-ups
    std: float  # between line-ups
    seeded_mean: float  # the frozen line-up on the same episodes
    advantage: float  # over the frozen one, of those that stayed, in games nobody chose them by
    win_rate_vs_seeded: float  # share of the games of all line-ups
    win_rate_vs_champion: float  # share of the best's games, against the last generation's champion
    win_rate: float  # share of games in which the team held more than any other side
    team: dict[str, int]  # the best: how many agents play which role
    roles_best: float  # fitness in the pool
    roles_mean: float
    roles_std: float
    diversity: float
    n_roles: int  # ever made
    n_locked_names: int  # names in the pool
    behavior_shares: dict[str, float]  # share of the pool that holds each
    rising: list[str]
    falling: list[str]


class PreviousGeneration(NamedTuple):
    """What the next report compares with."""

    shares: dict[str, float]

    @staticmethod
    def from_coordinator(coordinator: EvolutionaryRoleCoordinator) -> PreviousGeneration:
        """The pool as it is now."""
        catalog, pool = coordinator.catalog, coordinator.pool
        held = Counter(i for role in pool for i in catalog.roles[role].behavior_ids)
        return PreviousGeneration({one.name: held[one.id] / len(pool) for one in catalog.behaviors})


def report_generation(
    state: RoleEvolutionState,
    previous: PreviousGeneration,
    margins: Floats,
    win_rate: float,
    generation: int,
) -> tuple[RoleGenerationScored, PreviousGeneration]:
    """Tell of a generation; `margins` are `[episodes, the seeded line-up and all others]`."""
    coordinator, catalog = state.coordinator, state.catalog
    best = rank_teams(state.teams)[0]
    at = 1 + state.teams.index(best)
    playing = [state.seeded_roles, *(lineup.roles for lineup in state.teams)]
    last = playing.index(state.champion) if state.champion in playing else 0
    means = margins[:, 1:].mean(axis=0)
    pool = [catalog.roles[i] for i in coordinator.pool]
    fitness = [role.fitness for role in pool if role.games > 0]
    today = PreviousGeneration.from_coordinator(coordinator)
    change = {name: share - previous.shares.get(name, 0.0) for name, share in today.shares.items()}
    event = RoleGenerationScored(
        step=generation,
        games=coordinator.games,
        best=estimate_mean(margins[:, at]),
        mean=float(means.mean()),
        std=sample_std(means.tolist()),
        seeded_mean=float(margins[:, 0].mean()),
        advantage=_advantage(state, margins),
        win_rate_vs_seeded=float((margins[:, 1:] > margins[:, :1]).mean()),
        win_rate_vs_champion=float(np.mean(margins[:, at] > margins[:, last])),
        win_rate=win_rate,
        team=count_roles(catalog, best.roles),
        roles_best=max(fitness, default=0.0),
        roles_mean=float(np.mean(fitness)) if fitness else 0.0,
        roles_std=sample_std(fitness),
        diversity=pool_diversity(pool),
        n_roles=len(catalog.roles),
        n_locked_names=sum(role.locked_name for role in pool),
        behavior_shares=today.shares,
        rising=_largest_changes(change, 1),
        falling=_largest_changes(change, -1),
    )
    return event, today


def _advantage(state: RoleEvolutionState, margins: Floats) -> float:
    """How far those that stayed from the last generation are ahead of the seeded line-up.

    They stayed for earlier games, so these are no part of their luck. Of the seeded one its mean
    so far is taken, since its few games of one generation would be half noise; older ones count
    less. In the first generation all are new, and it is 0.
    """
    stayed = [at for at, one in enumerate(state.teams, 1) if one.games > len(margins)]
    if not stayed:
        return 0.0
    return float(margins[:, stayed].mean()) - state.seeded_team.total / state.seeded_team.games


def count_roles(catalog: RoleCatalog, roles: tuple[int, ...]) -> dict[str, int]:
    """How many agents of a line-up play which role."""
    return dict(Counter(catalog.roles[i].name for i in roles))


def _largest_changes(change: dict[str, float], sign: int) -> list[str]:
    """Behaviours that changed most in one direction."""
    order = sorted(change, key=lambda name: (-sign * change[name], name))
    return [name for name in order if sign * change[name] > 0][:_MAX_NAMED]
