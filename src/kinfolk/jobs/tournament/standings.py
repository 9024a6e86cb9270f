"""Points, ratings, payoffs and ranks of the players of a tournament, from the scores of its games."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np

from kinfolk.core.arrays import AnyArray
from kinfolk.evaluation.ratings import (
    PlayerScores,
    average_by_seed,
    beaten_shares,
    count_wins,
    rate_games,
)
from kinfolk.evaluation.significance import holm, paired_permutation_test
from kinfolk.evaluation.statistics import Estimate, estimate_mean
from kinfolk.jobs.tournament.meetings import MeetingPlan, MeetingRecord
from kinfolk.jobs.tournament.players import Player, pool_players
from kinfolk.jobs.tournament.schedule import Pairing
from kinfolk.jobs.tournament.settings import Tournament
from kinfolk.jobs.tournament.summary import MeetingsDone, summarize_meetings


class Standing(NamedTuple):
    """The place of a policy among those of its side."""

    rank: int | None  # from 1; None if it is disqualified
    name: str
    side: str  # "" if policies change sides
    rating: Estimate  # skill by the model, without an interval; n is the number of games
    win_rate: Estimate  # share of rivals beaten in the same game; ties count half; n counts seeds
    score: Estimate | None  # mean score of its games; n counts seeds
    points: float | None  # pairings won, half of those drawn, and byes; None if sides are fixed
    failures: int  # of its processes, over all games
    failed_episodes: int  # in which it failed; a game played from both sides is two
    sha256: str  # of its files, settings and weights
    disqualified: str  # why it is; "" if it is ranked
    p_value: float | None  # that it wins as often as the next in rank, adjusted by Holm (1979)


@dataclass(frozen=True, kw_only=True)
class TournamentDone(MeetingsDone):
    """All games are played; the best of each side comes first."""

    kind: ClassVar[str] = "tournament_done"
    format: str  # round-robin or swiss
    standings: list[Standing]  # rank, rating, share won, score and failures of each policy


def count_points(
    games: Sequence[PlayerScores], pairings: Sequence[Pairing], byes: Sequence[int], n_games: int
) -> list[float]:
    """Return the points of each player: the share of rivals beaten in each pairing, and byes.

    Args:
        games: Games of the pairings, in their order.
        pairings: All pairings so far.
        byes: Rounds in which each player rested, a point each.
        n_games: Games of a pairing.
    """
    points = [float(n) for n in byes]
    for number, pairing in enumerate(pairings):
        of_pairing = games[number * n_games : (number + 1) * n_games]
        shares = beaten_shares(np.mean([game.scores for game in of_pairing], axis=0).tolist())
        for player, share in zip(pairing, shares.tolist(), strict=True):
            points[player] += share
    return points


def rank_within_sides(
    games: Sequence[PlayerScores], pools: Sequence[Sequence[int]]
) -> list[PlayerScores]:
    """Return games among players of one side, such as predators.

    Those who have played the same game against the same rivals are compared with each other.

    Args:
        games: All games; those of one pairing in the order of their numbers.
        pools: Players of each side.
    """
    rankings: list[PlayerScores] = []
    for side, pool in enumerate(pools):
        if len(pool) < 2:
            continue
        contexts: defaultdict[tuple[tuple[int, ...], int], dict[int, float]] = defaultdict(dict)
        for players, scores, game in games:
            rivals = (*players[:side], *players[side + 1 :])
            contexts[rivals, game][players[side]] = scores[side]
        for (_, game), by_player in contexts.items():
            rankings.append(PlayerScores(tuple(by_player), tuple(by_player.values()), game))
    return rankings


def compare_neighbours(ranked: Sequence[int], win_shares: Sequence[AnyArray]) -> dict[int, float]:
    """Return the p-value of each player against the next in rank, adjusted by Holm (1979).

    The test is a permutation of the shares won, paired by seed.

    Args:
        ranked: Players, the best first.
        win_shares: `[seeds]` of each player.
    """
    values = [paired_permutation_test(win_shares[a], win_shares[b]) for a, b in pairwise(ranked)]
    return dict(zip(ranked, holm(values), strict=False))  # the last has no next


def explain_disqualification(counts: Mapping[str, Any], n_episodes: int, allowed: float) -> str:
    """Return why a player is disqualified; "" if it failed in no more episodes than are allowed.

    Args:
        counts: Its failure counts, as `count_policy_failures` gives them.
        n_episodes: Episodes that it has played.
        allowed: Share of them in which it may fail.
    """
    n_failed = sum(slot["episodes"] for slot in counts.values())
    n_silent = sum(slot["never_acted"] for slot in counts.values())
    if n_failed <= allowed * n_episodes:
        return ""
    silent = f", and never acted in {n_silent}" if n_silent else ""
    return f"it failed in {n_failed} of {n_episodes} episodes{silent}"


def share_ranks(
    ranked: Sequence[int], outcomes: Mapping[int, Hashable], failed: Sequence[int]
) -> list[tuple[int, int]]:
    """Return rank and player, the best first; players of equal outcomes share a rank.

    Their ratings differ by the order of games alone. One that failed in more episodes comes after them.

    >>> share_ranks([3, 1, 0, 2], {0: "lost", 1: "lost", 2: "lost", 3: "won"}, [0, 9, 0, 0])
    [(1, 3), (2, 0), (2, 2), (4, 1)]

    Args:
        ranked: Players, the best first.
        outcomes: What each player achieved.
        failed: Episodes in which each player failed.
    """
    places: dict[Hashable, int] = {}
    for player in ranked:
        places.setdefault(outcomes[player], len(places))
    order = sorted(ranked, key=lambda player: (places[outcomes[player]], failed[player]))
    first: dict[tuple[Hashable, int], int] = {}
    for rank, player in enumerate(order, 1):
        first.setdefault((outcomes[player], failed[player]), rank)
    return [(first[outcomes[player], failed[player]], player) for player in order]


def summarize_tournament(
    settings: Tournament,
    players: Sequence[Player],
    plan: MeetingPlan,
    record: MeetingRecord,
    pairings: Sequence[Pairing],
    byes: Sequence[int],
    hashes: Sequence[str],
) -> TournamentDone:
    """Compute standings and payoffs from all games.

    Args:
        settings: Settings of the tournament.
        players: The players.
        plan: What all games have in common.
        record: All games.
        pairings: All pairings.
        byes: How often each player rested.
        hashes: SHA-256 of each player's policy.
    """
    sides, games = plan.sides, record.games()
    n_players, pools = len(players), pool_players(players, sides)
    rankings = games if sides.are_interchangeable else rank_within_sides(games, pools)
    ratings = rate_games(n_players, rankings)
    win_shares = average_by_seed(n_players, count_wins(rankings))
    scores = average_by_seed(n_players, games)
    points: Sequence[float | None] = [None] * n_players
    if sides.are_interchangeable:
        points = count_points(games, pairings, byes, plan.n_games)
    swiss = settings.format == "swiss"
    common = summarize_meetings(plan, record, pools, pairings)
    failures = common["failures"]
    failed = [sum(slot["episodes"] for slot in slots.values()) for slots in record.failed]
    reasons = [
        explain_disqualification(counts, n_episodes, settings.max_failure_rate)
        for counts, n_episodes in zip(record.failed, record.episodes, strict=True)
    ]
    standings = []
    for pool in pools[:1] if sides.are_interchangeable else pools:
        order = sorted(pool, key=lambda p: (-(points[p] or 0.0) * swiss, -ratings[p].ordinal))
        outcomes = {p: (ratings[p].win_rate, tuple(scores[p].tolist())) for p in pool}
        places: list[tuple[int | None, int]] = []
        places += share_ranks([p for p in order if not reasons[p]], outcomes, failed)
        p_values = compare_neighbours([p for _, p in places], win_shares)
        places += [(None, p) for p in order if reasons[p]]
        for rank, p in places:
            rating = ratings[p]
            won = (rating.win_rate, rating.win_rate_low, rating.win_rate_high, rating.n_seeds)
            standings.append(Standing(
                rank, players[p].name, players[p].side,
                Estimate(rating.mu, None, None, rating.n_games), Estimate(*won),
                estimate_mean(scores[p]) if len(scores[p]) else None,
                points[p], failures[p], failed[p], hashes[p], reasons[p], p_values.get(p),
            ))  # fmt: skip
    return TournamentDone(**common, format=settings.format, standings=standings)
