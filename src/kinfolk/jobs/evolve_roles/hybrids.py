"""Hybrids born in play, taken into the catalogue after the games."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kinfolk.jobs.evolve_roles.games import Newborn
from kinfolk.jobs.evolve_roles.scores import GameScores
from kinfolk.roles.coordinator import EvolutionaryRoleCoordinator
from kinfolk.roles.fitness import AgentScore
from kinfolk.roles.model import RoleDef


class GameBirths(NamedTuple):
    """A game in which agents may have been born."""

    roles: tuple[int, ...]  # of the founders
    newborns: tuple[Newborn, ...]
    scores: GameScores


def add_hybrids(
    coordinator: EvolutionaryRoleCoordinator, games: Sequence[GameBirths]
) -> list[RoleDef]:
    """The best hybrids of a generation's games enter the pool, with the game they have played.

    Hundreds are born per generation; as many as half the pool may stay, by score, the earlier
    ones before later ones. The others end with their game.
    """
    born = [
        (-float(game.scores.scores[-1, baby.agent]), number, at)
        for number, game in enumerate(games)
        for at, baby in enumerate(game.newborns)
    ]
    room = max(1, coordinator.config.generated_role_count // 2)
    chosen = {(number, at) for _, number, at in sorted(born)[:room]}
    taken = []
    for number, game in enumerate(games):
        known: dict[int, tuple[int, ...]] = {i: (role,) for i, role in enumerate(game.roles)}
        for at, baby in enumerate(game.newborns):
            parents = tuple(dict.fromkeys(i for p in baby.parents for i in known[p]))[:2]
            known[baby.agent] = parents
            if (number, at) in chosen:
                made = coordinator.add_to_pool(
                    RoleDef(baby.tiers, origin="hybrid", parents=parents)
                )
                known[baby.agent] = (made.id,)
                score = float(game.scores.scores[-1, baby.agent])
                coordinator.score_game([AgentScore(made.id, score, game.scores.won[-1])])
                taken.append(made)
    return taken
