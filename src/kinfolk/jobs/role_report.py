"""What a generation reports."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from kinfolk.core.arrays import Floats
from kinfolk.core.events import Event
from kinfolk.evaluation.summary import Estimate, estimate
from kinfolk.jobs.role_scores import spread
from kinfolk.jobs.role_state import Evolution
from kinfolk.roles.catalog import RoleCatalog
from kinfolk.roles.coordinator import EvolutionaryRoleCoordinator
from kinfolk.roles.diversity import diversity
from kinfolk.roles.lineups import best_first

_NAMED = 3  # behaviours named as rising, and as falling


@dataclass(frozen=True, kw_only=True)
class GenerationScored(Event):
    """A generation was played. What line-ups held is told per game, such as junction-ticks.

    `best` is the line-up with the best record, in the games of this generation alone; the share
    of a behaviour is that of the roles in the pool that hold it.
    """

    kind: ClassVar[str] = "generation_scored"
    games: int  # so far
    best: Estimate
    mean: float  # of all line-ups
    spread: float  # between line-ups
    seeded: float  # the frozen line-up on the same episodes
    advantage: float  # over the frozen one, of those that stayed, in games nobody chose them by
    beats_seeded: float  # share of the games of all line-ups
    beats_last: float  # share of the best's games, against the last generation's champion
    won: float  # share of games in which the team held more than any other side
    lineup: dict[str, int]  # the best: how many agents play which role
    roles_best: float  # fitness in the pool
    roles_mean: float
    roles_spread: float
    diversity: float
    roles: int  # ever made
    locked: int  # names in the pool
    behaviors: dict[str, float]  # share of the pool that holds each
    rising: list[str]
    falling: list[str]


class Yesterday(NamedTuple):
    """What the next report compares with."""

    shares: dict[str, float]

    @staticmethod
    def of(coordinator: EvolutionaryRoleCoordinator) -> Yesterday:
        """The pool as it is now."""
        catalog, pool = coordinator.catalog, coordinator.pool
        held = Counter(i for role in pool for i in catalog.roles[role].behavior_ids)
        return Yesterday({one.name: held[one.id] / len(pool) for one in catalog.behaviors})


def report(
    state: Evolution, yesterday: Yesterday, margins: Floats, won: float, number: int
) -> tuple[GenerationScored, Yesterday]:
    """Tell of a generation; `margins` are `[episodes, the seeded line-up and all others]`."""
    coordinator, catalog = state.coordinator, state.catalog
    best = best_first(state.lineups)[0]
    at = 1 + state.lineups.index(best)
    playing = [state.seeded, *(lineup.roles for lineup in state.lineups)]
    last = playing.index(state.champion) if state.champion in playing else 0
    means = margins[:, 1:].mean(axis=0)
    pool = [catalog.roles[i] for i in coordinator.pool]
    fitness = [role.fitness for role in pool if role.games > 0]
    today = Yesterday.of(coordinator)
    change = {name: share - yesterday.shares.get(name, 0.0) for name, share in today.shares.items()}
    event = GenerationScored(
        step=number,
        games=coordinator.games,
        best=estimate(margins[:, at]),
        mean=float(means.mean()),
        spread=spread(means.tolist()),
        seeded=float(margins[:, 0].mean()),
        advantage=_advantage(state, margins),
        beats_seeded=float((margins[:, 1:] > margins[:, :1]).mean()),
        beats_last=float(np.mean(margins[:, at] > margins[:, last])),
        won=won,
        lineup=named(catalog, best.roles),
        roles_best=max(fitness, default=0.0),
        roles_mean=float(np.mean(fitness)) if fitness else 0.0,
        roles_spread=spread(fitness),
        diversity=diversity(pool),
        roles=len(catalog.roles),
        locked=sum(role.locked_name for role in pool),
        behaviors=today.shares,
        rising=_moved(change, 1),
        falling=_moved(change, -1),
    )
    return event, today


def _advantage(state: Evolution, margins: Floats) -> float:
    """How far those that stayed from the last generation are ahead of the seeded line-up.

    They stayed for earlier games, so these are no part of their luck. Of the seeded one its mean
    so far is taken, since its few games of one generation would be half noise; older ones count
    less. In the first generation all are new, and it is 0.
    """
    stayed = [at for at, one in enumerate(state.lineups, 1) if one.games > len(margins)]
    if not stayed:
        return 0.0
    return float(margins[:, stayed].mean()) - state.reference.total / state.reference.games


def named(catalog: RoleCatalog, roles: tuple[int, ...]) -> dict[str, int]:
    """How many agents of a line-up play which role."""
    return dict(Counter(catalog.roles[i].name for i in roles))


def _moved(change: dict[str, float], sign: int) -> list[str]:
    """Behaviours that changed most in one direction."""
    order = sorted(change, key=lambda name: (-sign * change[name], name))
    return [name for name in order if sign * change[name] > 0][:_NAMED]
