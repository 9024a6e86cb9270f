"""The report of a generation of role evolution."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kinfolk.core.arrays import Floats
from kinfolk.core.events import Event
from kinfolk.evaluation.statistics import Estimate, estimate_mean
from kinfolk.jobs.evolve_roles.champion import count_roles
from kinfolk.jobs.evolve_roles.racing import Race
from kinfolk.jobs.evolve_roles.state import RoleEvolutionState
from kinfolk.roles.coordinator import EvolutionaryRoleCoordinator
from kinfolk.roles.generations import pool_diversity

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
    win_rate_vs_seeded: float  # share of games in which a team beat it on the same episode
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


def behavior_shares(coordinator: EvolutionaryRoleCoordinator) -> dict[str, float]:
    """Return the share of roles in the pool that have each behavior, by its name."""
    catalog, pool = coordinator.catalog, coordinator.pool
    counts = Counter(i for role in pool for i in catalog.roles[role].behavior_ids)
    return {b.name: counts[b.id] / len(pool) for b in catalog.behaviors}


def report_generation(
    state: RoleEvolutionState,
    race: Race,
    shares: Mapping[str, float],
    win_rate: float,
    generation: int,
) -> RoleGenerationScored:
    """Return the event of a generation.

    Args:
        state: State of the evolution, after it has learnt from the race.
        race: Games of the generation.
        shares: Share of roles with each behavior in the generation before.
        win_rate: Share of games in which the team scored more than any other side.
        generation: Number of the generation.
    """
    coordinator, catalog = state.coordinator, state.catalog
    best = state.teams[0]
    means = np.array([np.mean(race.scores_of(team.roles)) for team in race.teams])
    by_episode = {(g.episode, g.teams[0]): s for g, s in zip(race.games, race.scores, strict=True)}
    pool = [catalog.roles[i] for i in coordinator.pool]
    fitness = [role.fitness for role in pool if role.own_games > 0]
    current = behavior_shares(coordinator)
    change = {name: share - shares.get(name, 0.0) for name, share in current.items()}
    return RoleGenerationScored(
        step=generation,
        games=coordinator.games,
        best=estimate_mean(np.array(race.scores_of(best.roles))),
        mean=float(means.mean()),
        std=_sample_std(means),
        seeded_mean=float(np.mean(race.scores_of(state.seeded_roles))),
        advantage=_mean_advantage(state, race),
        win_rate_vs_seeded=_share_above(by_episode, state.seeded_roles),
        win_rate=win_rate,
        team=count_roles(catalog, best.roles),
        roles_best=max(fitness, default=0.0),
        roles_mean=float(np.mean(fitness)) if fitness else 0.0,
        roles_std=_sample_std(np.array(fitness)),
        diversity=pool_diversity(pool),
        n_roles=len(catalog.roles),
        n_locked_names=sum(role.locked_name for role in pool),
        behavior_shares=current,
        rising=_largest_changes(change, 1),
        falling=_largest_changes(change, -1),
    )


def _share_above(
    scores: Mapping[tuple[int, tuple[int, ...]], float], reference: tuple[int, ...]
) -> float:
    """Return the share of games in which a team scored more than a reference on the same episode."""
    above = [
        score > scores[episode, reference]
        for (episode, roles), score in scores.items()
        if roles != reference and (episode, reference) in scores
    ]
    return float(np.mean(above)) if above else 0.0


def _mean_advantage(state: RoleEvolutionState, race: Race) -> float:
    """Return the mean score of the surviving teams above the seeded team; 0 if all teams are new.

    Survivors were selected by earlier games, so their new games are unbiased: those of the first
    stage, which every team plays. The seeded team counts with its mean over all generations.
    """
    first = race.games[0].episode + state.settings.racing[0]
    old = {team.roles for team in race.teams if team.games > len(race.scores_of(team.roles))}
    scores = [
        score
        for game, score in zip(race.games, race.scores, strict=True)
        if game.teams[0] in old and game.episode < first
    ]
    total, n_games = state.seeded_scores
    return float(np.mean(scores)) - total / n_games if scores and n_games else 0.0


def _largest_changes(change: dict[str, float], sign: int) -> list[str]:
    """Return the behaviors whose share changed most in one direction."""
    order = sorted(change, key=lambda name: (-sign * change[name], name))
    return [name for name in order if sign * change[name] > 0][:_MAX_NAMED]


def _sample_std(values: Floats) -> float:
    """Return the sample standard deviation; 0 for a single value."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
