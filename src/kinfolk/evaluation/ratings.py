"""Ratings of players from the ranks in their games, by the Plackett-Luce model of openskill."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from kinfolk.core.arrays import AnyArray
from kinfolk.evaluation.statistics import Estimate, estimate_proportion

_Z_95 = 1.959964  # standard deviations on each side of a 95 % interval


class Rating(NamedTuple):
    """The skill of a player with its uncertainty, and its win rate."""

    mu: float  # mean of the skill
    sigma: float  # its standard deviation
    ordinal: float  # mu - 3 sigma, the conservative rating by which players are ranked
    n_games: int
    win_rate: float  # share of rivals beaten in the same game; ties count half
    win_rate_low: float | None  # the 95 % confidence interval; None with fewer than two games
    win_rate_high: float | None

    @property
    def interval(self) -> tuple[float, float]:
        """The central 95 % of the model's belief about the skill."""
        return self.mu - _Z_95 * self.sigma, self.mu + _Z_95 * self.sigma


class PlayerScores(NamedTuple):
    """The players of one game and their scores, of which higher is better."""

    players: tuple[int, ...]  # their numbers
    scores: tuple[float, ...]


def rate_games(n_players: int, games: Iterable[PlayerScores]) -> list[Rating]:
    """Return the rating of each player after a sequence of games; the order of games matters.

    Args:
        n_players: Number of players.
        games: Games of two or more players each.
    """
    from openskill.models import PlackettLuce

    model = PlackettLuce()
    skills = [model.rating(name=str(player)) for player in range(n_players)]
    win_shares: list[list[float]] = [[] for _ in range(n_players)]
    for players, scores in games:
        rated = model.rate([[skills[player]] for player in players], scores=list(scores))
        shares = beaten_shares(scores)
        for player, [skill], share in zip(players, rated, shares, strict=True):
            skills[player] = skill
            win_shares[player].append(float(share))
    return [_make_rating(*pair) for pair in zip(skills, win_shares, strict=True)]


def beaten_shares(scores: Sequence[float]) -> AnyArray:
    """Return the share of rivals that each player of a game beats; ties count half.

    >>> beaten_shares([3.0, 1.0, 1.0]).tolist()
    [1.0, 0.25, 0.25]
    """
    values = np.asarray(scores, dtype=np.float64)
    beaten = (values[:, None] > values).sum(axis=1) + 0.5 * (values[:, None] == values).sum(axis=1)
    return np.asarray((beaten - 0.5) / (len(values) - 1))  # everybody ties with itself


def _make_rating(skill: Any, win_shares: list[float]) -> Rating:
    """Return a player's rating from that of the model and its share of the win of each game."""
    share = Estimate(0.0, None, None, 0)
    if win_shares:
        share = estimate_proportion(np.array(win_shares))
    strength = float(skill.mu), float(skill.sigma), float(skill.ordinal())
    return Rating(*strength, share.n, share.mean, share.low, share.high)
