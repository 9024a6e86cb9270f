"""Ratings from games of two, by openskill's Plackett-Luce model (Weng and Lin 2011)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from kinfolk.evaluation.statistics import Estimate, estimate_proportion


class Rating(NamedTuple):
    """How strong a policy is taken to be, and how sure that is.

    `ordinal` is what it is at least with 99.7 % confidence; lists are sorted by it.
    """

    mu: float
    sigma: float
    ordinal: float
    n_games: int
    win_rate: float  # ties count half
    win_rate_low: float | None  # the 95 % confidence interval; None with fewer than two games
    win_rate_high: float | None


class PairResult(NamedTuple):
    """Two players, by number, and what each scored."""

    first: int
    second: int
    first_score: float
    second_score: float


def rate_players(players: Sequence[str], results: Iterable[PairResult]) -> dict[str, Rating]:
    """Rate players by games, taken in order; the same games give the same ratings."""
    from openskill.models import PlackettLuce

    model = PlackettLuce()
    known = [model.rating(name=name) for name in players]
    won: list[list[float]] = [[] for _ in players]
    for first, second, a, b in results:
        [[known[first]], [known[second]]] = model.rate(
            [[known[first]], [known[second]]], scores=[a, b]
        )
        won[first].append(1.0 if a > b else 0.5 * (a == b))
        won[second].append(1.0 if b > a else 0.5 * (a == b))
    return {
        name: _make_rating(one, shares)
        for name, one, shares in zip(players, known, won, strict=True)
    }


def _make_rating(rating: Any, win_shares: list[float]) -> Rating:
    """A player's rating by the model, with its share of every win."""
    share = (
        estimate_proportion(np.array(win_shares)) if win_shares else Estimate(0.0, None, None, 0)
    )
    strength = float(rating.mu), float(rating.sigma), float(rating.ordinal())
    return Rating(*strength, share.n, share.mean, share.low, share.high)
