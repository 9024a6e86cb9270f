"""Hybrids of the temple: roles of agents that were born during games."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kinfolk.jobs.evolve_roles.games import BirthRecord, GameScores
from kinfolk.roles.coordinator import EvolutionaryRoleCoordinator
from kinfolk.roles.fitness import AgentScore
from kinfolk.roles.model import RoleDef


class GameBirths(NamedTuple):
    """A game in which agents may have been born, with its scores."""

    roles: tuple[int, ...]  # of the founders
    newborns: tuple[BirthRecord, ...]
    scores: GameScores


def add_hybrids(
    coordinator: EvolutionaryRoleCoordinator, games: Sequence[GameBirths]
) -> list[RoleDef]:
    """Add the best hybrids of a generation's games to the pool, with the score of their game.

    Hundreds are born per generation. At most half as many as the pool holds are added, the best by
    score, earlier ones first among equals. The others are discarded.
    """
    born = [
        (-float(game.scores.scores[-1, newborn.agent]), number, birth)
        for number, game in enumerate(games)
        for birth, newborn in enumerate(game.newborns)
    ]
    n_added = max(1, coordinator.config.generated_role_count // 2)
    chosen = {(number, birth) for _, number, birth in sorted(born)[:n_added]}
    added = []
    for number, game in enumerate(games):
        role_of: dict[int, tuple[int, ...]] = {i: (role,) for i, role in enumerate(game.roles)}
        for birth, newborn in enumerate(game.newborns):
            agent = newborn.agent
            parents = tuple(dict.fromkeys(i for p in newborn.parents for i in role_of[p]))[:2]
            role_of[agent] = parents
            if (number, birth) in chosen:
                hybrid = RoleDef(newborn.tiers, origin="hybrid", parents=parents)
                role = coordinator.add_to_pool(hybrid)
                role_of[agent] = (role.id,)
                score = float(game.scores.scores[-1, agent])
                coordinator.score_game([AgentScore(role.id, score, game.scores.won[-1])])
                added.append(role)
    return added
