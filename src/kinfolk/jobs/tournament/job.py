"""Run a tournament: rounds of pairings on an engine, ratings, payoff matrices, failures, replays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kinfolk.core.errors import UsageError, require
from kinfolk.core.events import Event, FileChunk, Snapshot
from kinfolk.engines.base import Engine
from kinfolk.isolation.worker_pool import closing_pools
from kinfolk.jobs.tournament.meetings import MeetingPlan, MeetingRecord, play_pairings
from kinfolk.jobs.tournament.outputs import (
    game_rows,
    name_failed,
    payoff_rows,
    standing_row,
    write_result_files,
)
from kinfolk.jobs.tournament.players import Player, list_players, make_plan, pool_players
from kinfolk.jobs.tournament.schedule import Pairing, default_rounds, pair_all, pair_swiss
from kinfolk.jobs.tournament.settings import Tournament
from kinfolk.jobs.tournament.standings import count_points, summarize_tournament
from kinfolk.jobs.tournament.submissions import hash_submission


def check_tournament(settings: Tournament) -> tuple[list[Player], MeetingPlan]:
    """Return the players and the plan of a tournament, if it can be played.

    Raises:
        UsageError: There are too few policies, one of them cannot play, or the format does not fit.
    """
    players, plan = make_plan(settings)
    sides = plan.sides
    if sides.are_interchangeable:
        need = len(sides.slots)
        require(
            len(players) >= need,
            f"A game of {settings.world} has {need} policies; there "
            f"{'is' if len(players) == 1 else 'are'} {len(players)}.",
        )
    else:
        largest = max(map(len, pool_players(players, sides)))
        require(largest >= 2, "Each side has one policy, so there is nobody to rank. Add policies.")
        require(
            settings.format == "round-robin",
            f"A Swiss tournament pairs policies that can play every side; in {settings.world} they "
            f"are for {' or '.join(sides.names)}. Set --format round-robin.",
        )
    return players, plan


def tournament(
    settings: Tournament, engine: Engine, resume: Snapshot | None = None
) -> Iterator[Event | Snapshot | FileChunk]:
    """Yield every game, replays and a snapshot after each meeting, result files and the standings.

    Args:
        settings: The policies, their world and the format.
        engine: Engine that plays the games.
        resume: Last snapshot of a stopped run to continue from; None starts anew.

    Raises:
        UsageError: A policy cannot play, or has changed since the run was stopped.
    """
    players, plan = check_tournament(settings)
    hashes = [hash_submission(policy) for policy in plan.policies]
    if resume is not None:
        _check_unchanged(players, hashes, resume.notes["sha256"])
    record = MeetingRecord(len(players), len(plan.sides.slots), resume)
    pairings: list[Pairing] = []
    byes = [0] * len(players)
    n_before = 0  # meetings of earlier rounds
    with closing_pools():
        for _ in range(_count_rounds(settings, plan, len(players))):
            first = len(pairings)
            new = list(
                enumerate(_pair_round(settings, plan, players, record, pairings, byes), first)
            )
            pairings += [pairing for _, pairing in new]
            for item in play_pairings(plan, engine, new, record, max(0, record.done - n_before)):
                yield _add_hashes(item, hashes) if isinstance(item, Snapshot) else item
            n_before += len(plan.list_meetings(new))
    result = summarize_tournament(settings, players, plan, record, pairings, byes, hashes)
    tables = {
        "leaderboard": [standing_row(standing) for standing in result.standings],
        "payoffs": [row for table in result.payoffs for row in payoff_rows(table)],
        "games": list(game_rows(plan, record)),
    }
    failed = name_failed(result.policies, result.failed_slots)
    yield from write_result_files(
        "tournament", settings, tables, format=settings.format, failed=failed
    )
    yield result


def count_pairings(settings: Tournament) -> int:
    """Return the number of pairings of a tournament."""
    sides = settings.find_sides()
    players = list_players(settings.policies, sides)
    if settings.format == "round-robin":
        return len(pair_all(sides, pool_players(players, sides)))
    n_sides = len(sides.slots)
    rounds = settings.rounds or default_rounds(len(players), n_sides)
    return rounds * (len(players) // n_sides)


def _count_rounds(settings: Tournament, plan: MeetingPlan, n_players: int) -> int:
    """Return the number of rounds; a round robin is a single one."""
    if settings.format == "round-robin":
        return 1
    return settings.rounds or default_rounds(n_players, len(plan.sides.slots))


def _pair_round(
    settings: Tournament, plan: MeetingPlan, players: Sequence[Player], record: MeetingRecord,
    earlier: Sequence[Pairing], byes: list[int],
) -> list[Pairing]:  # fmt: skip
    """Return the pairings of the next round; those who rest are counted in `byes`.

    Args:
        settings: Settings of the tournament.
        plan: What all games have in common.
        players: The players.
        record: Games so far.
        earlier: Pairings of earlier rounds.
        byes: How often each player has rested; changed.
    """
    sides = plan.sides
    if settings.format == "round-robin":
        return pair_all(sides, pool_players(players, sides))
    games = record.games(before=len(earlier))
    points = count_points(games, earlier, byes, plan.n_games)
    new, resting = pair_swiss(points, earlier, byes, len(sides.slots), settings.seed)
    for player in resting:
        byes[player] += 1
    return new


def _add_hashes(snapshot: Snapshot, hashes: Sequence[str]) -> Snapshot:
    """Return a snapshot of the games with the hashes of the policies."""
    notes = {**snapshot.notes, "sha256": list(hashes)}
    return Snapshot(step=snapshot.step, arrays=snapshot.arrays, notes=notes)


def _check_unchanged(
    players: Sequence[Player], hashes: Sequence[str], earlier: Sequence[str]
) -> None:
    """Check that the policies of a stopped tournament are still the same.

    Raises:
        UsageError: A policy has changed.
    """
    for player, now, before in zip(players, hashes, earlier, strict=True):
        if now != before:
            raise UsageError(
                f"Policy '{player.name}' has changed since the tournament began. Restore it to resume, "
                f"or start a new tournament."
            )
