"""Ratings from games of two, by openskill's Plackett-Luce model (Weng and Lin 2011)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np


class Rating(NamedTuple):
    """How strong a policy is taken to be, and how sure that is.

    `ordinal` is what it is at least with 99.7 % confidence; lists are sorted by it.
    """

    strength: float
    uncertainty: float
    ordinal: float
    games: int
    win_rate: float  # ties count half


class GameResult(NamedTuple):
    """Two players, by number, and what each scored."""

    first: int
    second: int
    first_score: float
    second_score: float


def rate(players: Sequence[str], games: Iterable[GameResult]) -> dict[str, Rating]:
    """Rate players by games, taken in order; the same games give the same ratings."""
    from openskill.models import PlackettLuce

    model = PlackettLuce()
    known = [model.rating(name=name) for name in players]
    played, won = np.zeros(len(players)), np.zeros(len(players))
    for first, second, a, b in games:
        [[known[first]], [known[second]]] = model.rate(
            [[known[first]], [known[second]]], scores=[a, b]
        )
        played[[first, second]] += 1
        won[first] += 1.0 if a > b else 0.5 * (a == b)
        won[second] += 1.0 if b > a else 0.5 * (a == b)
    return {
        name: Rating(
            float(one.mu), float(one.sigma), float(one.ordinal()), int(n), float(w / max(n, 1))
        )
        for name, one, n, w in zip(players, known, played, won, strict=True)
    }
