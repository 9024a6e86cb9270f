"""How scores become fitness, fitness becomes weight, and a name is earned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kinfolk.core.errors import SettingsError
from kinfolk.roles.catalog import RoleCatalog
from kinfolk.roles.config import DEFAULTS, EvolutionConfig
from kinfolk.roles.dice import Dice, Rng
from kinfolk.roles.model import BehaviorDef, RoleDef

_FLOOR = 0.1  # of a weight: whoever has failed so far still gets a chance now and then


def moved(fitness: float, games: int, score: float, alpha: float) -> float:
    """The moving average after a further game; the first game sets it.

    >>> moved(0.0, 0, 0.5, 0.2), moved(0.5, 1, 1.0, 0.5)
    (0.5, 0.75)
    """
    return score if games == 0 else fitness * (1.0 - alpha) + score * alpha


def checked_score(score: float) -> float:
    """The score, if it is one.

    Raises:
        SettingsError: It does not lie in 0..1.
    """
    if not 0.0 <= score <= 1.0:  # also false for NaN
        raise SettingsError(f"A score must lie between 0 and 1, not {score}.")
    return float(score)


def behavior_weight(behavior: BehaviorDef) -> float:
    """How likely a behaviour is drawn; one that was never played counts as a full success."""
    return 1.0 if behavior.games == 0 else max(_FLOOR, behavior.fitness)


def role_weight(role: RoleDef) -> float:
    """How likely a role is played and bred."""
    return _FLOOR if role.games == 0 else max(_FLOOR, role.fitness)


def pick_role_id_weighted(catalog: RoleCatalog, role_ids: Sequence[int], rng: Rng = None) -> int:
    """Draw one of these roles by weight, and return its id.

    Args:
        catalog: Where the roles, and so their weights, are found.
        role_ids: Which of them may be drawn.
        rng: Key, generator, or None for a new draw each time.

    Raises:
        SettingsError: There is none to pick from.
    """
    if not role_ids:
        raise SettingsError("A role must be picked from at least one; the list is empty.")
    weights = [role_weight(catalog.roles[i]) for i in role_ids]
    return Dice(rng).weighted(list(role_ids), weights)


def lock_role_name_if_fit(
    role: RoleDef, threshold: float = DEFAULTS.lock_fitness_threshold
) -> RoleDef:
    """The role, with its name locked if it is fit enough. A lock is never taken off again."""
    fit = role.games > 0 and role.fitness >= threshold
    return replace(role, locked_name=True) if fit else role


def record_role_score(
    catalog: RoleCatalog,
    role_id: int,
    score: float,
    won: bool = False,
    config: EvolutionConfig = DEFAULTS,
) -> RoleDef:
    """Enter one game of a role in the catalogue: fitness, games, wins, and maybe its name.

    Args:
        catalog: Its entry for the role is replaced.
        role_id: Which role was played.
        score: How well, from 0 to 1.
        won: Whether the game was won.
        config: `fitness_alpha` of the moving average, and the fitness that locks a name.

    Returns:
        The role as it is now.

    Raises:
        SettingsError: The score does not lie in 0..1.
    """
    role = catalog.roles[role_id]
    fitness = moved(role.fitness, role.games, checked_score(score), config.fitness_alpha)
    made = replace(role, fitness=fitness, games=role.games + 1, wins=role.wins + int(won))
    catalog.roles[role_id] = lock_role_name_if_fit(made, config.lock_fitness_threshold)
    return catalog.roles[role_id]


def record_behavior_score(
    catalog: RoleCatalog, behavior_id: int, score: float, config: EvolutionConfig
) -> None:
    """Enter one game in which a role that holds this behaviour was played."""
    one = catalog.behaviors[behavior_id]
    catalog.behaviors[behavior_id] = replace(
        one,
        fitness=moved(one.fitness, one.games, checked_score(score), config.fitness_alpha),
        games=one.games + 1,
        uses=one.uses + 1,
    )
