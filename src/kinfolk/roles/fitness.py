"""Turn game results into agent scores, scores into fitness, and fitness into selection weights."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum, isfinite

import numpy as np

from kinfolk.core.arrays import AnyArray, Bools, Floats
from kinfolk.core.errors import require
from kinfolk.core.random import KeyedRng, Rng
from kinfolk.roles.catalog import RoleCatalog
from kinfolk.roles.model import DEFAULT_CONFIG, BehaviorDef, EvolutionConfig, RoleDef


def team_shares(side_scores: AnyArray) -> Floats:
    """Return each side's share of the sum of all sides' scores.

    A share of the largest *possible* score would mostly lie below the minimum weight of a role, so
    that nothing would be selected.

    Args:
        side_scores: `[games, sides]`, such as the junctions held over a game.

    Returns:
        `[games, sides]` from 0 to 1; equal shares where all scores are 0.
    """
    total = side_scores.sum(axis=1, keepdims=True)
    equal = np.full(side_scores.shape, 1.0 / side_scores.shape[1])
    shares: Floats = np.where(total > 0, side_scores / np.maximum(total, 1), equal)
    return shares


def find_winners(side_scores: AnyArray) -> Bools:
    """Return `[games, sides]`, True for a side that scored more than every other side."""
    best = side_scores.max(axis=1, keepdims=True)
    won: Bools = (side_scores == best) & ((side_scores == best).sum(axis=1, keepdims=True) == 1)
    return won


def relative_contributions(
    counters: Mapping[str, AnyArray], weights: Mapping[str, float]
) -> Floats:
    """Return what each agent contributed, relative to the best agent of its team.

    Weights spread the value of a result over the whole chain that leads to it, so that an agent
    who supplies the others gets its share.

    Args:
        counters: `[games, agents]` each: how often the agents of one team did something, by name.
        weights: Value of doing it once, by name.

    Returns:
        `[games, agents]` from 0 to 1; 0 where no agent contributed anything.
    """
    value: Floats = np.sum([counters[name] * weight for name, weight in weights.items()], axis=0)
    best = value.max(axis=1, keepdims=True)
    relative: Floats = np.where(best > 0, value / np.where(best > 0, best, 1.0), 0.0)
    return relative


def blend_scores(team_scores: AnyArray, agent_scores: AnyArray, team_weight: float) -> Floats:
    """Return the weighted mean of the team's result and each agent's own contribution.

    Args:
        team_scores: `[games]`, from 0 to 1.
        agent_scores: `[games, agents]`, from 0 to 1.
        team_weight: Weight of the team's result, from 0 to 1.

    Returns:
        `[games, agents]` from 0 to 1.

    >>> blend_scores(np.array([0.5]), np.array([[1.0, 0.0]]), 0.6).tolist()
    [[0.7, 0.3]]
    """
    scores: Floats = team_weight * team_scores[:, None] + (1.0 - team_weight) * agent_scores
    return scores.clip(0.0, 1.0)


_MIN_WEIGHT = 0.1  # selection weight of a role or behavior that has failed so far


def update_fitness(entry: RoleDef | BehaviorDef, score: float, alpha: float) -> float:
    """Return the exponential moving average of scores after one more game.

    Args:
        entry: Its fitness is the average so far; before its first game, the result is the score.
        score: Score of the new game, a finite number; jobs give scores from 0 to 1.
        alpha: Weight of the new game.

    Raises:
        SettingsError: The score is not finite.
    """
    require(isfinite(score), f"A score must be a finite number, not {score}.")
    return float(score) if entry.games == 0 else entry.fitness * (1.0 - alpha) + score * alpha


def behavior_weight(behavior: BehaviorDef) -> float:
    """Return the weight with which a behavior is sampled; 1 if it was never played."""
    return 1.0 if behavior.games == 0 else max(_MIN_WEIGHT, behavior.fitness)


def role_weight(role: RoleDef) -> float:
    """Return the weight with which a role is assigned and bred."""
    return _MIN_WEIGHT if role.games == 0 else max(_MIN_WEIGHT, role.fitness)


def selection_weight(role: RoleDef, config: EvolutionConfig) -> float:
    """Return the weight with which a role is drawn under a configuration.

    It is `role_weight` to the power of `selection_pressure`; 1 if selection is uniform.
    """
    if config.selection == "uniform":
        return 1.0
    return float(role_weight(role) ** config.selection_pressure)


def pick_role_id_weighted(catalog: RoleCatalog, role_ids: Sequence[int], rng: Rng = None) -> int:
    """Draw one of several roles by weight and return its id.

    Args:
        catalog: Catalog with the roles.
        role_ids: Ids of the candidates.
        rng: Random key or generator; None draws differently each time.

    Raises:
        SettingsError: There are no candidates.
    """
    require(len(role_ids) > 0, "A role must be picked from at least one; the list is empty.")
    weights = [role_weight(catalog.roles[i]) for i in role_ids]
    return KeyedRng(rng).weighted_choice(list(role_ids), weights)


def lock_role_name_if_fit(
    role: RoleDef, threshold: float = DEFAULT_CONFIG.lock_fitness_threshold
) -> RoleDef:
    """Return the role with its name locked if it is fit enough. A locked name stays locked.

    Args:
        role: Role after a game.
        threshold: Fitness that locks the name of a role that has played.
    """
    is_fit = role.games > 0 and role.fitness >= threshold
    return replace(role, locked_name=True) if is_fit else role


def record_role_score(
    catalog: RoleCatalog,
    role_id: int,
    score: float,
    won: bool = False,
    config: EvolutionConfig = DEFAULT_CONFIG,
) -> RoleDef:
    """Update fitness, games and wins of a role after a game, and lock its name if it is fit.

    Args:
        catalog: Its entry for the role is replaced.
        role_id: Id of the role.
        score: Score of the game.
        won: Whether the game was won.
        config: `fitness_alpha` and `lock_fitness_threshold` are used.

    Returns:
        The updated role.

    Raises:
        SettingsError: The score is not finite.
    """
    role = catalog.roles[role_id]
    fitness = update_fitness(role, score, config.fitness_alpha)
    updated = replace(
        role,
        fitness=fitness,
        games=role.games + 1,
        wins=role.wins + int(won),
        own_games=role.own_games + 1,
    )
    catalog.roles[role_id] = lock_role_name_if_fit(updated, config.lock_fitness_threshold)
    return catalog.roles[role_id]


def record_behavior_score(
    catalog: RoleCatalog,
    behavior_id: int,
    score: float,
    config: EvolutionConfig = DEFAULT_CONFIG,
) -> BehaviorDef:
    """Update fitness, games and uses of a behavior that acted in a game.

    Args:
        catalog: Its entry for the behavior is replaced.
        behavior_id: Id of the behavior.
        score: Score of the agent, or mean score of the agents, for which it acted.
        config: `fitness_alpha` is used.

    Returns:
        The updated behavior.

    Raises:
        SettingsError: The score is not finite.
    """
    behavior = catalog.behaviors[behavior_id]
    fitness = update_fitness(behavior, score, config.fitness_alpha)
    updated = replace(behavior, fitness=fitness, games=behavior.games + 1, uses=behavior.uses + 1)
    catalog.behaviors[behavior_id] = updated
    return catalog.behaviors[behavior_id]


@dataclass(frozen=True)
class AgentScore:
    """Result of one agent in one game.

    Attributes:
        role_id: Id of its role.
        score: From 0 to 1 in jobs; any finite number elsewhere.
        won: Whether its team won.
        acted: By behavior id, the ticks in which it acted; None if that is not known.
    """

    role_id: int
    score: float
    won: bool
    acted: Mapping[int, int] | None = None


def record_game(
    catalog: RoleCatalog, scores: Iterable[AgentScore], config: EvolutionConfig
) -> None:
    """Update all roles and behaviors that took part in a game.

    Each counts one game, however many agents played it. The score of a role is the mean over those
    agents; that of a behavior is weighted by the ticks in which it acted for them, and one that
    never acted is used, but not scored. Where ticks are not known, all behaviors of a role count
    alike.

    Args:
        catalog: Its entries are replaced.
        scores: Results of all agents.
        config: Hyperparameters of the update.
    """
    by_role: defaultdict[int, list[AgentScore]] = defaultdict(list)
    by_behavior: defaultdict[int, list[tuple[float, int]]] = defaultdict(list)
    used: set[int] = set()
    for agent in scores:
        by_role[agent.role_id].append(agent)
        held = catalog.roles[agent.role_id].behavior_ids
        used.update(held)
        acted = dict.fromkeys(held, 1) if agent.acted is None else agent.acted
        for behavior_id, ticks in acted.items():
            if ticks > 0:
                by_behavior[behavior_id].append((agent.score, ticks))
    for role_id, agents in sorted(by_role.items()):
        won = any(agent.won for agent in agents)
        record_role_score(catalog, role_id, _mean([a.score for a in agents]), won, config)
    for behavior_id in used - set(by_behavior):
        behavior = catalog.behaviors[behavior_id]
        catalog.behaviors[behavior_id] = replace(behavior, uses=behavior.uses + 1)
    for behavior_id, credits in sorted(by_behavior.items()):
        ticks = sum(weight for _, weight in credits)
        score = fsum(score * weight for score, weight in credits) / ticks
        highest = max(score for score, _ in credits)
        score = min(score, max(1.0, highest))  # rounding must not lead beyond 1
        record_behavior_score(catalog, behavior_id, score, config)


def _mean(scores: list[float]) -> float:
    """Return the mean of scores, of which there is at least one."""
    return fsum(scores) / len(scores)  # rounded once, so that the order of agents has no effect
