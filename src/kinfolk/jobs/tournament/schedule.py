"""Who meets whom: round robin, Swiss rounds, and every combination."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import combinations, combinations_with_replacement, product
from typing import TypeAlias

import numpy as np

from kinfolk.play.sides import WorldSides

Pairing: TypeAlias = tuple[int, ...]  # number of the player in each slot of a game

_MAX_TRIALS = 20_000  # of pairings without a rematch, before rematches are allowed


def pair_all(
    sides: WorldSides, pools: Sequence[Sequence[int]], with_self: bool = False
) -> list[Pairing]:
    """Return all pairings: of a round robin, or of cross-play.

    Args:
        sides: Sides of the world.
        pools: Players of each side; the same ones for all sides that can be exchanged.
        with_self: Whether a player meets itself too, where sides can be exchanged.
    """
    if not sides.are_interchangeable:
        return list(product(*pools))
    choose = combinations_with_replacement if with_self else combinations
    return list(choose(pools[0], len(sides.slots)))


def default_rounds(n_players: int, n_sides: int) -> int:
    """Return the number of rounds of a Swiss tournament if none is given.

    >>> default_rounds(48, 2), default_rounds(3, 2)
    (7, 3)
    """
    return max(1, math.ceil(math.log(max(2, n_players), n_sides)) + 1)


def pair_swiss(
    points: Sequence[float],
    earlier: Iterable[Pairing],
    byes: Sequence[int],
    n_sides: int,
    seed: int,
) -> tuple[list[Pairing], list[int]]:
    """Return the pairings of the next round, among players with about equal points.

    Players who have met are not paired again as long as that can be avoided.

    Args:
        points: Points of each player so far.
        earlier: Pairings of earlier rounds.
        byes: How often each player has had no opponent.
        n_sides: Number of players of a game.
        seed: Seed of the order among players with equal points.

    Returns:
        The pairings, and the players without an opponent in this round.
    """
    lots = np.random.default_rng(seed).permutation(len(points))
    order = sorted(range(len(points)), key=lambda player: (-points[player], lots[player]))
    # The last of those with the fewest byes rest.
    resting = sorted(order, key=lambda player: (byes[player], -order.index(player)))
    resting = resting[: len(order) % n_sides]
    active = [player for player in order if player not in resting]
    met = {frozenset(pair) for pairing in earlier for pair in combinations(pairing, 2)}
    budget = [_MAX_TRIALS]
    pairings = _pair_unmet(active, met, n_sides, budget)
    if pairings is None:
        pairings = [tuple(active[i : i + n_sides]) for i in range(0, len(active), n_sides)]
    return pairings, sorted(resting)


def _pair_unmet(
    active: Sequence[int], met: set[frozenset[int]], n_sides: int, budget: list[int]
) -> list[Pairing] | None:
    """Pair the best player with the next ones that it has not met, and so on, by backtracking.

    Args:
        active: Players, best first.
        met: Pairs of players who have met.
        n_sides: Number of players of a game.
        budget: Trials that are left, as a list of one number; decreased.

    Returns:
        The pairings; None if there are none without a rematch, or the budget is spent.
    """
    if not active:
        return []
    first, rest = active[0], active[1:]
    for others in combinations(rest, n_sides - 1):
        budget[0] -= 1
        if budget[0] < 0:
            return None
        pairing = (first, *others)
        if any(frozenset(pair) in met for pair in combinations(pairing, 2)):
            continue
        remaining = [player for player in rest if player not in others]
        following = _pair_unmet(remaining, met, n_sides, budget)
        if following is not None:
            return [pairing, *following]
    return None
