"""Payoff matrices of games between players: the score of each against each other, with intervals."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from kinfolk.evaluation.ratings import PlayerScores
from kinfolk.evaluation.statistics import Estimate, estimate_mean


class PayoffTable(NamedTuple):
    """Mean scores of the players of the rows in games with those of the columns."""

    side: str  # whose scores they are; "" if players change sides
    against: str  # side of the columns
    rows: list[str]
    columns: list[str]
    cells: list[list[Estimate | None]]  # None where two have not met


def build_payoffs(
    games: Iterable[PlayerScores], pools: Sequence[Sequence[int]], names: Sequence[str],
    sides: Sequence[str], are_interchangeable: bool,
) -> list[PayoffTable]:  # fmt: skip
    """Return the payoff matrix of players who change sides, or one for each two sides.

    Args:
        games: All games.
        pools: Players of each side.
        names: Name of each player.
        sides: Names of the sides.
        are_interchangeable: Whether every player plays every side.
    """
    scores = collect_scores(games)
    if are_interchangeable:
        pairs = [("", "", pools[0], pools[0])]
    else:
        pairs = [
            (sides[a], sides[b], pools[a], pools[b])
            for a in range(len(pools))
            for b in range(len(pools))
            if a != b
        ]
    return [
        PayoffTable(
            side,
            against,
            [names[player] for player in row_players],
            [names[player] for player in column_players],
            [[_estimate(scores.get((a, b))) for b in column_players] for a in row_players],
        )
        for side, against, row_players, column_players in pairs
    ]


def collect_scores(games: Iterable[PlayerScores]) -> dict[tuple[int, int], list[float]]:
    """Return the scores of each player in games with each other player, a mean for each seed.

    Two players meet on a seed more than once if games have three players or rounds are repeated. A
    player that meets itself has the mean of its scores in that game.
    """
    scores: defaultdict[tuple[int, int], defaultdict[int, list[float]]]
    scores = defaultdict(lambda: defaultdict(list))
    for players, values, game in games:
        for i, player in enumerate(players):
            for j, other in enumerate(players):
                if i != j:
                    scores[player, other][game].append(values[i])
    return {
        pair: [float(np.mean(of_seed)) for of_seed in by_game.values()]
        for pair, by_game in scores.items()
    }


def _estimate(values: Sequence[float] | None) -> Estimate | None:
    """Return the mean of scores with its interval; None if there are none."""
    return estimate_mean(np.array(values)) if values else None
