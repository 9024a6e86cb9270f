"""Cross-play: every policy of a side with every policy of the others, and what follows of the matrix.

The games are those of a tournament (`jobs/tournament`), in every combination, itself included.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from kinfolk.core.arrays import AnyArray, Floats
from kinfolk.core.errors import require
from kinfolk.core.events import Event, FileChunk, Snapshot
from kinfolk.core.settings import Flag, setting
from kinfolk.engines.base import Engine
from kinfolk.evaluation.games import alpha_rank, marginal, nash_mixture
from kinfolk.evaluation.statistics import Estimate, estimate_mean
from kinfolk.isolation.worker_pool import closing_pools
from kinfolk.jobs.tournament.meetings import MeetingPlan, MeetingRecord, play_pairings
from kinfolk.jobs.tournament.outputs import (
    game_rows,
    name_failed,
    payoff_rows,
    write_result_files,
)
from kinfolk.jobs.tournament.players import Player, make_plan, pool_players
from kinfolk.jobs.tournament.schedule import Pairing, pair_all
from kinfolk.jobs.tournament.settings import MeetingSettings
from kinfolk.jobs.tournament.summary import MeetingsDone, summarize_meetings
from kinfolk.play.slots import IsolationMode

_MAX_PROFILES = 4096  # of alpha-rank: its time grows with the third power


class CrossPlay(MeetingSettings):
    """Settings of cross-play, which determine its results completely."""

    games: int = setting(
        20, "Games of each combination, each of them played from every side.", ge=1
    )
    chunk_size: int = setting(20, "Games per task; changes no result.", ge=1)
    replays: Annotated[int, Flag("--replay")] = setting(
        0, "Number of first games of each combination that are recorded for the viewer.", ge=0
    )
    isolate: IsolationMode = setting(
        "none", "Processes for policies: none, one per side, or one per agent."
    )


class PolicyMixture(NamedTuple):
    """How much each policy of a side matters: by alpha-rank, and in a Nash equilibrium."""

    side: str  # "" if policies change sides
    policies: list[str]
    alpha_rank: list[float] | None  # None if there are too many profiles
    nash: list[float] | None  # None with more than two sides


class SelfPlay(NamedTuple):
    """Scores of a side's policies with themselves and with others, over common games."""

    side: str  # "" if policies change sides
    self_play: Estimate | None
    cross_play: Estimate | None
    difference: Estimate | None  # paired by game


@dataclass(frozen=True, kw_only=True)
class CrossPlayDone(MeetingsDone):
    """All combinations are played: payoff matrices and what follows of them."""

    kind: ClassVar[str] = "crossplay_done"
    mixtures: list[PolicyMixture]  # alpha-rank and Nash mixture of each side
    nash_regret: float | None  # the most that a side could gain by leaving the Nash mixture
    self_play: list[SelfPlay]  # self-play minus cross-play, paired by game
    notes: list[str]  # what to distrust


def check_crossplay(settings: CrossPlay) -> tuple[list[Player], MeetingPlan]:
    """Return the players and the plan of cross-play, if it can be played.

    Raises:
        UsageError: There are too few policies, or one of them cannot play.
    """
    players, plan = make_plan(settings)
    require(len(players) >= 2, "Cross-play needs two policies or more; there is one.")
    return players, plan


def crossplay(
    settings: CrossPlay, engine: Engine, resume: Snapshot | None = None
) -> Iterator[Event | Snapshot | FileChunk]:
    """Yield every game, replays and a snapshot after each meeting, result files and the analysis.

    Args:
        settings: The policies and their world.
        engine: Engine that plays the games.
        resume: Last snapshot of a stopped run to continue from; None starts anew.
    """
    players, plan = check_crossplay(settings)
    pairings = pair_all(plan.sides, pool_players(players, plan.sides), with_self=True)
    record = MeetingRecord(len(players), len(plan.sides.slots), resume)
    with closing_pools():
        numbered = list(enumerate(pairings))
        yield from play_pairings(plan, engine, numbered, record, record.done)
    result = analyse_crossplay(players, plan, record, pairings)
    tables = {
        "payoffs": [row for table in result.payoffs for row in payoff_rows(table)],
        "mixtures": [row for mixture in result.mixtures for row in _mixture_rows(mixture)],
        "games": list(game_rows(plan, record)),
    }
    yield from write_result_files(
        "crossplay", settings, tables, notes=result.notes, nash_regret=result.nash_regret,
        self_play=[row._asdict() for row in result.self_play],
        failed=name_failed(result.policies, result.failed_slots),
    )  # fmt: skip
    yield result


def _mixture_rows(mixture: PolicyMixture) -> Iterator[dict[str, Any]]:
    """Yield a flat row for each policy of a side."""
    for i, name in enumerate(mixture.policies):
        rank = None if mixture.alpha_rank is None else mixture.alpha_rank[i]
        nash = None if mixture.nash is None else mixture.nash[i]
        yield {"side": mixture.side, "policy": name, "alpha_rank": rank, "nash": nash}


def analyse_crossplay(
    players: Sequence[Player],
    plan: MeetingPlan,
    record: MeetingRecord,
    pairings: Sequence[Pairing],
) -> CrossPlayDone:
    """Compute payoffs, mixtures and the difference between self-play and cross-play.

    Args:
        players: The players.
        plan: What all games have in common.
        record: All games.
        pairings: All combinations.
    """
    pools, games = pool_players(players, plan.sides), record.games()
    by_pairing = {
        pairing: np.array([game.scores for game in games[i * plan.n_games :][: plan.n_games]])
        for i, pairing in enumerate(pairings)
    }
    names = [player.name for player in players]
    mixtures, regret, notes = find_mixtures(plan, pools, names, by_pairing)
    self_play = _compare_self_play(plan, pools, names, by_pairing)
    if not any(row.self_play for row in self_play):
        notes.append(
            "There is no self-play: no name occurs on every side. Give policies that belong together "
            "one name."
        )
    return CrossPlayDone(
        **summarize_meetings(plan, record, pools, pairings),
        mixtures=mixtures,
        nash_regret=regret,
        self_play=self_play,
        notes=notes,
    )


def _payoff_tensors(
    plan: MeetingPlan, pools: Sequence[Sequence[int]], by_pairing: Mapping[Pairing, AnyArray]
) -> list[Floats]:
    """Return the mean score of each slot in every profile, an axis per slot.

    Args:
        plan: What all games have in common.
        pools: Players of each side.
        by_pairing: `[games, slots]` scores of each combination.
    """
    n_slots = len(plan.sides.slots)
    pools = [pools[0]] * n_slots if plan.sides.are_interchangeable else pools
    index = [{player: i for i, player in enumerate(pool)} for pool in pools]
    tensors = [np.zeros([len(pool) for pool in pools]) for _ in range(n_slots)]
    orders = list(permutations(range(n_slots)))
    for pairing, scores in by_pairing.items():
        means = scores.mean(axis=0)
        if len(set(pairing)) == 1:
            means = np.full(n_slots, means.mean())  # a policy with itself: slots are samples of one
        for order in orders if plan.sides.are_interchangeable else orders[:1]:
            profile = tuple(index[slot][pairing[place]] for slot, place in enumerate(order))
            for slot, place in enumerate(order):
                tensors[slot][profile] = means[place]
    return tensors


def find_mixtures(
    plan: MeetingPlan, pools: Sequence[Sequence[int]], names: Sequence[str],
    by_pairing: Mapping[Pairing, AnyArray],
) -> tuple[list[PolicyMixture], float | None, list[str]]:  # fmt: skip
    """Return alpha-rank and Nash mixture of each side, the regret of the latter, and notes.

    Teams play against each other, so the payoff of their Nash mixture is the lead over the other team.

    Args:
        plan: What all games have in common.
        pools: Players of each side.
        names: Name of each player.
        by_pairing: `[games, slots]` scores of each combination.
    """
    sides, notes = plan.sides, list[str]()
    n_players = [len(pool) for pool in pools]
    two_sides, n_profiles = len(n_players) == 2 or sides.kind == "rows", int(np.prod(n_players))
    tensors = _payoff_tensors(plan, pools, by_pairing)
    ranks: list[list[float]] | None = None
    if sides.are_interchangeable and len(tensors) == 2:
        ranks = [alpha_rank(tensors[:1]).tolist()]
    elif n_profiles <= _MAX_PROFILES:
        profiles = alpha_rank(tensors)
        ranks = [marginal(profiles, side).tolist() for side in range(len(tensors))]
    else:
        notes.append(
            f"Alpha-rank is left out: it is of at most {_MAX_PROFILES} profiles, not {n_profiles}."
        )
    nash: tuple[list[float], list[float]] | None = None
    regret: float | None = None
    if two_sides:
        first, second = tensors
        if sides.kind == "teams":
            first, second = first - second, second - first
        mixture = nash_mixture(first, second)
        nash, regret = mixture.mixtures, mixture.regret
    else:
        notes.append(f"The Nash mixture is of two sides; there are {len(n_players)}.")
    chosen = (
        [("", pools[0])]
        if sides.are_interchangeable
        else list(zip(sides.names, pools, strict=True))
    )
    return [
        PolicyMixture(
            side,
            [names[player] for player in pool],
            None if ranks is None else ranks[i],
            None if nash is None else nash[i],
        )
        for i, (side, pool) in enumerate(chosen)
    ], regret, notes  # fmt: skip


def _compare_self_play(
    plan: MeetingPlan, pools: Sequence[Sequence[int]], names: Sequence[str],
    by_pairing: Mapping[Pairing, AnyArray],
) -> list[SelfPlay]:  # fmt: skip
    """Return the scores of policies with themselves and with others, of each side.

    On sides that cannot be exchanged, policies of one name belong together, such as a predator and a
    prey that evolved in one world; others do not count.

    Args:
        plan: What all games have in common.
        pools: Players of each side.
        names: Name of each player.
        by_pairing: `[games, slots]` scores of each combination.
    """
    common = set.intersection(*({names[player] for player in pool} for pool in pools))
    alone, mixed = list[AnyArray](), list[AnyArray]()  # [games, slots] of each combination
    for pairing, scores in by_pairing.items():
        played = {names[player] for player in pairing}
        if played <= common:
            (alone if len(played) == 1 else mixed).append(scores)
    n_slots = len(plan.sides.slots)
    groups: list[tuple[str, list[int]]] = [
        (side, [slot]) for slot, side in enumerate(plan.sides.names)
    ]
    if plan.sides.are_interchangeable:
        groups = [("", list(range(n_slots)))]
    rows = []
    for side, slots in groups:
        of_self, of_cross = (_mean_by_game(tables, slots) for tables in (alone, mixed))
        both = of_self is not None and of_cross is not None
        rows.append(
            SelfPlay(
                side,
                None if of_self is None else estimate_mean(of_self),
                None if of_cross is None else estimate_mean(of_cross),
                estimate_mean(np.asarray(of_self) - np.asarray(of_cross)) if both else None,
            )
        )
    return rows


def _mean_by_game(tables: Sequence[AnyArray], slots: Sequence[int]) -> AnyArray | None:
    """Return `[games]` mean scores over combinations and slots; None without combinations."""
    return np.mean([table[:, slots] for table in tables], axis=(0, 2)) if tables else None
