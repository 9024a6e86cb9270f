"""Points, ratings, payoffs and ranks of the players of a tournament, from the scores of its games."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import ClassVar, NamedTuple

import numpy as np

from kinfolk.evaluation.ratings import PlayerScores, Rating, beaten_shares, rate_games
from kinfolk.evaluation.statistics import Estimate, estimate_mean
from kinfolk.jobs.tournament.meetings import MeetingPlan, MeetingRecord
from kinfolk.jobs.tournament.players import Player, pool_players
from kinfolk.jobs.tournament.schedule import Pairing
from kinfolk.jobs.tournament.settings import Tournament
from kinfolk.jobs.tournament.summary import MeetingsDone, summarize_meetings


class Standing(NamedTuple):
    """The place of a policy among those of its side."""

    rank: int  # from 1
    name: str
    side: str  # "" if policies change sides
    rating: Estimate  # skill with the central 95 % of the model's belief; n is the number of games
    win_rate: Estimate  # share of rivals beaten in the same game; ties count half
    score: Estimate | None  # mean score of its games
    points: float | None  # pairings won, half of those drawn, and byes; None if sides are fixed
    failures: int  # of its processes, over all games
    failed_episodes: int  # in which it failed; a game played from both sides is two
    sha256: str  # of its files, settings and weights


@dataclass(frozen=True, kw_only=True)
class TournamentDone(MeetingsDone):
    """All games are played; the best of each side comes first."""

    kind: ClassVar[str] = "tournament_done"
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


def rate_sides(
    games: Sequence[PlayerScores], pools: Sequence[Sequence[int]], n_players: int,
    are_interchangeable: bool,
) -> list[Rating]:  # fmt: skip
    """Return the rating of each player among those of its side.

    Players who change sides are rated by their games. Others, such as predators, are ranked among
    those of their side who have played the same game against the same rivals.

    Args:
        games: All games; those of one pairing in the order of their numbers.
        pools: Players of each side.
        n_players: Number of players.
        are_interchangeable: Whether every player plays every side.
    """
    if are_interchangeable:
        return rate_games(n_players, games)
    rankings: list[PlayerScores] = []
    for side, pool in enumerate(pools):
        contexts: defaultdict[tuple[int, ...], dict[int, list[float]]] = defaultdict(dict)
        for players, scores in games:
            rivals = (*players[:side], *players[side + 1 :])
            contexts[rivals].setdefault(players[side], []).append(scores[side])
        for by_player in contexts.values():
            if len(pool) > 1:
                for values in zip(*by_player.values(), strict=True):
                    rankings.append(PlayerScores(tuple(by_player), values))
    return rate_games(n_players, rankings)


def share_ranks(
    ranked: Sequence[int], outcomes: Mapping[int, Hashable], failed: Sequence[int]
) -> list[tuple[int, int]]:
    """Return rank and player, the best first; players of equal outcomes share a rank.

    Their ratings differ by the order of games alone. One that failed in more games comes after them.

    >>> share_ranks([3, 1, 0, 2], {0: "lost", 1: "lost", 2: "lost", 3: "won"}, [0, 9, 0, 0])
    [(1, 3), (2, 0), (2, 2), (4, 1)]

    Args:
        ranked: Players, the best first.
        outcomes: What each player achieved.
        failed: Games in which each player failed.
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
    pools = pool_players(players, sides)
    ratings = rate_sides(games, pools, len(players), sides.are_interchangeable)
    points: Sequence[float | None] = [None] * len(players)
    if sides.are_interchangeable:
        points = count_points(games, pairings, byes, plan.n_games)
    swiss = settings.format == "swiss"
    scores: list[list[float]] = [[] for _ in players]
    for game in games:
        for player, score in zip(game.players, game.scores, strict=True):
            scores[player].append(score)
    common = summarize_meetings(plan, record, pools, pairings)
    failures = common["failures"]
    failed = [sum(slot["episodes"] for slot in slots.values()) for slots in record.failed]
    standings = []
    for pool in pools[:1] if sides.are_interchangeable else pools:
        ranked = sorted(pool, key=lambda p: (-(points[p] or 0.0) * swiss, -ratings[p].ordinal))
        outcomes = {p: (ratings[p].win_rate, fsum(scores[p]), len(scores[p])) for p in pool}
        for rank, p in share_ranks(ranked, outcomes, failed):
            rating = ratings[p]
            standings.append(Standing(
                rank, players[p].name, players[p].side,
                Estimate(rating.mu, *rating.interval, rating.n_games),
                Estimate(rating.win_rate, rating.win_rate_low, rating.win_rate_high, rating.n_games),
                estimate_mean(np.array(scores[p])) if scores[p] else None,
                points[p], failures[p], failed[p], hashes[p],
            ))  # fmt: skip
    return TournamentDone(**common, standings=standings)
