"""Scores of agents, 0 to 1: what the team held, blended with what the agent did itself."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kinfolk.core.arrays import AnyArray, Bools, Floats


def team_shares(held: AnyArray) -> Floats:
    """`[games, sides]`: each side's share of all that any side held; equal where nobody held any.

    A share of all that *could* be held would lie below the floor of weights, and select nothing.
    """
    total = held.sum(axis=1, keepdims=True)
    even = np.full(held.shape, 1.0 / held.shape[1])
    shares: Floats = np.where(total > 0, held / np.maximum(total, 1), even)
    return shares


def winners(held: AnyArray) -> Bools:
    """`[games, sides]`: whether a side held more than every other one."""
    best = held.max(axis=1, keepdims=True)
    won: Bools = (held == best) & ((held == best).sum(axis=1, keepdims=True) == 1)
    return won


def contributions(deeds: Mapping[str, AnyArray], worth: Mapping[str, float]) -> Floats:
    """`[games, agents]`: what each agent did, against the most useful of its team.

    `deeds` count what each agent of one team did, `worth` says what one of each is worth. Where
    nobody did anything everybody gets 0. With the worth of a chain spread along it, a miner that
    feeds the team is not worth nothing.
    """
    value: Floats = np.sum([deeds[name] * each for name, each in worth.items()], axis=0)
    most = value.max(axis=1, keepdims=True)
    found: Floats = np.where(most > 0, value / np.where(most > 0, most, 1.0), 0.0)
    return found


def blend(team: AnyArray, own: AnyArray, team_weight: float) -> Floats:
    """`[games, agents]` scores: the team's result (`[games]`) and the agent's own contribution.

    >>> blend(np.array([0.5]), np.array([[1.0, 0.0]]), 0.6).tolist()
    [[0.7, 0.3]]
    """
    scores: Floats = team_weight * team[:, None] + (1.0 - team_weight) * own
    return scores.clip(0.0, 1.0)
