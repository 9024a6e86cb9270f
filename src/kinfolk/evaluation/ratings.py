"""Ratings of players from the ranks in their games, by the Plackett-Luce model of openskill.

Games of one number are played on the same seed by all players, so they are not independent: intervals
are over seeds, of which each player has one value, the mean over its games on that seed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from kinfolk.core.arrays import AnyArray
from kinfolk.evaluation.statistics import Estimate, estimate_proportion


class Rating(NamedTuple):
    """The skill of a player by the model, and its win rate."""

    mu: float  # mean of the skill
    sigma: float  # its standard deviation, if all games were independent
    ordinal: float  # mu - 3 sigma, the conservative rating by which players are ranked
    n_games: int
    win_rate: float  # share of rivals beaten in the same game; ties count half
    win_rate_low: float | None  # the 95 % confidence interval; None with fewer than two seeds
    win_rate_high: float | None
    n_seeds: int  # on which the games were played; the sample size of the interval


class PlayerScores(NamedTuple):
    """The players of one game and their scores, of which higher is better."""

    players: tuple[int, ...]  # their numbers
    scores: tuple[float, ...]
    game: int  # its number; games of one number are played on the same seed


def rate_games(n_players: int, games: Iterable[PlayerScores]) -> list[Rating]:
    """Return the rating of each player after a sequence of games; the order of games matters.

    Args:
        n_players: Number of players.
        games: Games of two or more players each.
    """
    from openskill.models import PlackettLuce

    model = PlackettLuce()
    skills = [model.rating(name=str(player)) for player in range(n_players)]
    n_games = [0] * n_players
    games = list(games)
    for players, scores, _ in games:
        rated = model.rate([[skills[player]] for player in players], scores=list(scores))
        for player, [skill] in zip(players, rated, strict=True):
            skills[player] = skill
            n_games[player] += 1
    shares = average_by_seed(n_players, count_wins(games))
    return [_make_rating(*row) for row in zip(skills, n_games, shares, strict=True)]


def count_wins(games: Iterable[PlayerScores]) -> list[PlayerScores]:
    """Return games with the share of rivals that each player has beaten in place of its score."""
    return [
        game._replace(scores=tuple(beaten_shares(list(game.scores)).tolist())) for game in games
    ]


def average_by_seed(n_players: int, games: Iterable[PlayerScores]) -> list[AnyArray]:
    """Return the mean score of each player on each seed, `[seeds]` in the order of their numbers.

    >>> games = [PlayerScores((0, 1), (4.0, 0.0), 0), PlayerScores((0, 2), (2.0, 5.0), 0)]
    >>> [means.tolist() for means in average_by_seed(3, games)]
    [[3.0], [0.0], [5.0]]
    """
    scores: list[defaultdict[int, list[float]]] = [defaultdict(list) for _ in range(n_players)]
    for players, values, game in games:
        for player, value in zip(players, values, strict=True):
            scores[player][game].append(value)
    return [
        np.array([np.mean(by_game[game]) for game in sorted(by_game)], dtype=np.float64)
        for by_game in scores
    ]


def beaten_shares(scores: Sequence[float]) -> AnyArray:
    """Return the share of rivals that each player of a game beats; ties count half.

    >>> beaten_shares([3.0, 1.0, 1.0]).tolist()
    [1.0, 0.25, 0.25]
    """
    values = np.asarray(scores, dtype=np.float64)
    beaten = (values[:, None] > values).sum(axis=1) + 0.5 * (values[:, None] == values).sum(axis=1)
    return np.asarray((beaten - 0.5) / (len(values) - 1))  # everybody ties with itself


def _make_rating(skill: Any, n_games: int, win_shares: AnyArray) -> Rating:
    """Return a player's rating from that of the model and its share of the wins on each seed."""
    share = Estimate(0.0, None, None, 0)
    if len(win_shares):
        share = estimate_proportion(win_shares)
    strength = float(skill.mu), float(skill.sigma), float(skill.ordinal())
    return Rating(*strength, n_games, share.mean, share.low, share.high, share.n)
