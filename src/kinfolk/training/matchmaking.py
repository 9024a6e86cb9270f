"""Leagues: who plays whom, by prioritised fictitious self-play, and when snapshots join.

The scheme is that of AlphaStar (Vinyals et al. 2019). Main agents play their present selves and all
snapshots of the league, the harder ones more often; exploiters look for weaknesses of the main agents
alone, or of the whole league, and begin anew once they have found one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from kinfolk.core.settings import Settings, setting

LearnerKind = Literal["main", "exploiter", "league_exploiter"]
_SMOOTHING = 0.05  # weight of an episode in a win rate, as in an opponent pool
_WEIGHT_UNITS = 1_000_000  # sampling weights are integers, so that draws are exact everywhere


class LeagueSettings(Settings):
    """How a league draws opponents, takes snapshots and resets exploiters.

    An opponent with the win rate `w` of the learner against it is drawn with a weight of
    `(1 - w) ** power`. Where sides cannot be exchanged, an episode is won by the share of the main
    agent's recent episodes in which its side earned less.
    """

    exploiters: int = setting(1, "Exploiters of the main agents, on each side.", ge=0)
    league_exploiters: int = setting(0, "Exploiters of the whole league, on each side.", ge=0)
    self_play: float = setting(
        0.5, "Share of a main agent's episodes against present main agents.", ge=0.0, le=1.0
    )
    power: float = setting(
        2.0, "Exponent p of an opponent's weight (1 - win rate)^p; 0 draws all alike.", ge=0.0
    )
    snapshot_every: int = setting(
        20, "Updates after which a snapshot of a main agent joins at the latest.", ge=1
    )
    snapshot_win_rate: float = setting(
        0.8,
        "Win rate against every snapshot at which a main agent's joins earlier.",
        gt=0.5,
        le=1.0,
    )
    exploiter_win_rate: float = setting(
        0.7,
        "Win rate against its opponents at which an exploiter joins and is reset.",
        gt=0.5,
        le=1.0,
    )
    exploiter_updates: int = setting(
        40, "Updates after which an exploiter that has not won joins and is reset.", ge=1
    )
    exploiter_start: Literal["initial", "main"] = setting(
        "initial",
        "Weights of a reset exploiter: its first ones, or those of its side's main agent.",
    )
    min_episodes: int = setting(
        20, "Episodes against an opponent before a win rate has consequences.", ge=1
    )
    payoff_games: int = setting(
        8, "Games of each two members for the payoff matrix; teams play each from both sides.", ge=1
    )


class WinRate(NamedTuple):
    """How often a learner won against an opponent: an exponential average, and its episodes."""

    rate: float = 0.5
    episodes: int = 0

    def add(self, share: float) -> WinRate:
        """Return the win rate after one more episode, of which the learner won a share."""
        rate = (1.0 - _SMOOTHING) * self.rate + _SMOOTHING * share
        return WinRate(rate, self.episodes + 1)


def share_won(score: float, others: Sequence[float]) -> float:
    """Return the share of other scores that a score exceeds; ties count half.

    >>> share_won(2.0, [1.0, 2.0, 3.0, 0.0])
    0.625
    """
    rivals = np.asarray(others, dtype=np.float64)
    return float((rivals < score).mean() + 0.5 * (rivals == score).mean())


def prioritise(win_rates: Sequence[float], power: float) -> list[float]:
    """Return the probability of each opponent, in proportion to `(1 - win rate) ** power`.

    >>> prioritise([0.5, 0.0, 1.0], 2.0)
    [0.2, 0.8, 0.0]
    """
    weights = np.maximum(0.0, 1.0 - np.asarray(win_rates, dtype=np.float64)) ** power
    total = float(weights.sum())
    if total <= 0.0:  # all are beaten: none is harder than another
        return [1.0 / len(win_rates)] * len(win_rates)
    chances: list[float] = (weights / total).tolist()
    return chances


def draw_weights(
    kind: LearnerKind, rival: int, win_rates: Mapping[int, float], settings: LeagueSettings
) -> dict[int, int]:
    """Return the integer sampling weight of every opponent of a learner.

    Args:
        kind: What the learner is for.
        rival: Number of the present main agent that it meets.
        win_rates: The learner's win rate against every snapshot that it may meet, by number.
        settings: Share of self-play and the exponent of the weights.
    """
    share = {"main": settings.self_play, "exploiter": 1.0, "league_exploiter": 0.0}[kind]
    if not win_rates:  # before the first snapshot there is nobody else
        share = 1.0
    weights = {rival: round(_WEIGHT_UNITS * share)}
    chances = prioritise(list(win_rates.values()), settings.power) if share < 1.0 else []
    for number, chance in zip(win_rates, chances, strict=False):
        # At least 1: a win rate of 1 is an estimate, and nobody is forgotten for good.
        weights[number] = max(1, round(_WEIGHT_UNITS * (1.0 - share) * chance))
    return {number: weight for number, weight in weights.items() if weight > 0}


def is_snapshot_due(updates: int, records: Sequence[WinRate], settings: LeagueSettings) -> bool:
    """Return whether a snapshot of a main agent joins the league.

    Args:
        updates: Updates since its last snapshot.
        records: Its win rates against all snapshots that it meets.
        settings: When snapshots join.
    """
    wins = [
        record.episodes >= settings.min_episodes and record.rate >= settings.snapshot_win_rate
        for record in records
    ]
    return updates >= settings.snapshot_every or (bool(wins) and all(wins))


def find_reset_reason(
    updates: int, records: Sequence[WinRate], settings: LeagueSettings
) -> Literal["won", "budget"] | None:
    """Return why an exploiter is reset: it has `won`, or its `budget` is used up; None if neither.

    Args:
        updates: Updates since it began.
        records: Its win rates against the opponents that it exploits.
        settings: When exploiters are reset.
    """
    n_episodes = sum(record.episodes for record in records)
    if n_episodes >= settings.min_episodes:
        rate = sum(record.rate * record.episodes for record in records) / n_episodes
        if rate >= settings.exploiter_win_rate:
            return "won"
    return "budget" if updates >= settings.exploiter_updates else None
