"""Skill ratings from two-player games by openskill's Plackett-Luce model (Weng and Lin 2011)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from kinfolk.evaluation.statistics import Estimate, estimate_proportion


class Rating(NamedTuple):
    """The skill of a player with its uncertainty, and its win rate."""

    mu: float  # mean of the skill
    sigma: float  # its standard deviation
    ordinal: float  # mu - 3 sigma, the conservative rating by which players are ranked
    n_games: int
    win_rate: float  # ties count half
    win_rate_low: float | None  # the 95 % confidence interval; None with fewer than two games
    win_rate_high: float | None


class PairResult(NamedTuple):
    """The scores of two players in one game."""

    first: int  # index of the player
    second: int
    first_score: float
    second_score: float


def rate_players(players: Sequence[str], results: Iterable[PairResult]) -> dict[str, Rating]:
    """Return the rating of each player after a sequence of games; the order of games matters."""
    from openskill.models import PlackettLuce

    model = PlackettLuce()
    ratings = [model.rating(name=name) for name in players]
    win_shares: list[list[float]] = [[] for _ in players]
    for first, second, a, b in results:
        [[ratings[first]], [ratings[second]]] = model.rate(
            [[ratings[first]], [ratings[second]]], scores=[a, b]
        )
        win_shares[first].append(1.0 if a > b else 0.5 * (a == b))
        win_shares[second].append(1.0 if b > a else 0.5 * (a == b))
    return {
        name: _make_rating(rating, player_shares)
        for name, rating, player_shares in zip(players, ratings, win_shares, strict=True)
    }


def _make_rating(rating: Any, win_shares: list[float]) -> Rating:
    """Return a player's rating from that of the model and its share of the win of each game."""
    share = (
        estimate_proportion(np.array(win_shares)) if win_shares else Estimate(0.0, None, None, 0)
    )
    strength = float(rating.mu), float(rating.sigma), float(rating.ordinal())
    return Rating(*strength, share.n, share.mean, share.low, share.high)
