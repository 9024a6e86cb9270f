"""Turn game results into agent scores, scores into fitness, and fitness into selection weights."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum

import numpy as np

from kinfolk.core.arrays import AnyArray, Bools, Floats
from kinfolk.core.errors import SettingsError
from kinfolk.roles.catalog import RoleCatalog
from kinfolk.roles.config import DEFAULT_CONFIG, EvolutionConfig
from kinfolk.roles.keyed_rng import KeyedRng, Rng
from kinfolk.roles.model import BehaviorDef, RoleDef


def team_shares(side_scores: AnyArray) -> Floats:
    """`[games, sides]`: each side's share of all that any side held; equal where nobody held any.

    A share of all that *could* be held would lie below the floor of weights, and select nothing.
    """
    total = side_scores.sum(axis=1, keepdims=True)
    even = np.full(side_scores.shape, 1.0 / side_scores.shape[1])
    shares: Floats = np.where(total > 0, side_scores / np.maximum(total, 1), even)
    return shares


def find_winners(side_scores: AnyArray) -> Bools:
    """`[games, sides]`: whether a side held more than every other one."""
    best = side_scores.max(axis=1, keepdims=True)
    won: Bools = (side_scores == best) & ((side_scores == best).sum(axis=1, keepdims=True) == 1)
    return won


def relative_contributions(
    counters: Mapping[str, AnyArray], weights: Mapping[str, float]
) -> Floats:
    """`[games, agents]`: what each agent did, against the most useful of its team.

    `counters` count what each agent of one team did, `weights` says what one of each is worth. Where
    nobody did anything everybody gets 0. With the worth of a chain spread along it, a miner that
    feeds the team is not worth nothing.
    """
    value: Floats = np.sum([counters[name] * each for name, each in weights.items()], axis=0)
    most = value.max(axis=1, keepdims=True)
    found: Floats = np.where(most > 0, value / np.where(most > 0, most, 1.0), 0.0)
    return found


def blend_scores(team_scores: AnyArray, agent_scores: AnyArray, team_weight: float) -> Floats:
    """`[games, agents]` scores: the team's result (`[games]`) and the agent's own contribution.

    >>> blend_scores(np.array([0.5]), np.array([[1.0, 0.0]]), 0.6).tolist()
    [[0.7, 0.3]]
    """
    scores: Floats = team_weight * team_scores[:, None] + (1.0 - team_weight) * agent_scores
    return scores.clip(0.0, 1.0)


_MIN_WEIGHT = 0.1  # of a weight: whoever has failed so far still gets a chance now and then


def exponential_average(average: float, n_games: int, score: float, alpha: float) -> float:
    """The moving average after a further game; the first game sets it.

    >>> exponential_average(0.0, 0, 0.5, 0.2), exponential_average(0.5, 1, 1.0, 0.5)
    (0.5, 0.75)
    """
    return score if n_games == 0 else average * (1.0 - alpha) + score * alpha


def validate_score(score: float) -> float:
    """The score, if it is one.

    Raises:
        SettingsError: It does not lie in 0..1.
    """
    if not 0.0 <= score <= 1.0:  # also false for NaN
        raise SettingsError(f"A score must lie between 0 and 1, not {score}.")
    return float(score)


def behavior_weight(behavior: BehaviorDef) -> float:
    """How likely a behaviour is drawn; one that was never played counts as a full success."""
    return 1.0 if behavior.games == 0 else max(_MIN_WEIGHT, behavior.fitness)


def role_weight(role: RoleDef) -> float:
    """How likely a role is played and bred."""
    return _MIN_WEIGHT if role.games == 0 else max(_MIN_WEIGHT, role.fitness)


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
    return KeyedRng(rng).weighted_choice(list(role_ids), weights)


def lock_role_name_if_fit(
    role: RoleDef, threshold: float = DEFAULT_CONFIG.lock_fitness_threshold
) -> RoleDef:
    """The role, with its name locked if it is fit enough. A lock is never taken off again."""
    fit = role.games > 0 and role.fitness >= threshold
    return replace(role, locked_name=True) if fit else role


def record_role_score(
    catalog: RoleCatalog,
    role_id: int,
    score: float,
    won: bool = False,
    config: EvolutionConfig = DEFAULT_CONFIG,
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
    fitness = exponential_average(
        role.fitness, role.games, validate_score(score), config.fitness_alpha
    )
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
        fitness=exponential_average(
            one.fitness, one.games, validate_score(score), config.fitness_alpha
        ),
        games=one.games + 1,
        uses=one.uses + 1,
    )


@dataclass(frozen=True)
class AgentScore:
    """One agent's game: which role it played, how well, and whether its team won."""

    role_id: int
    score: float
    won: bool

    def __post_init__(self) -> None:
        validate_score(self.score)


def record_game(
    catalog: RoleCatalog, scores: Iterable[AgentScore], config: EvolutionConfig
) -> None:
    """Enter one game: a role played by three agents, or a behaviour held by them, counts once.

    Its score is the mean over its agents.
    """
    by_role: dict[int, list[AgentScore]] = {}
    by_behavior: dict[int, list[float]] = {}
    for record in scores:
        by_role.setdefault(record.role_id, []).append(record)
        for behavior_id in catalog.roles[record.role_id].behavior_ids:
            by_behavior.setdefault(behavior_id, []).append(record.score)
    for role_id in sorted(by_role):
        played = by_role[role_id]
        won = any(record.won for record in played)
        record_role_score(catalog, role_id, _mean([r.score for r in played]), won, config)
    for behavior_id in sorted(by_behavior):
        record_behavior_score(catalog, behavior_id, _mean(by_behavior[behavior_id]), config)


def _mean(scores: list[float]) -> float:
    return fsum(scores) / len(scores)  # rounded once, so that the order of agents has no effect
