"""Games between the members of a league: payoff matrices with counts, Nash mixture, the event."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from kinfolk.core.arrays import AnyArray
from kinfolk.core.events import Event
from kinfolk.engines.base import Engine
from kinfolk.evaluation.payoffs import PayoffTable, build_payoffs
from kinfolk.evaluation.ratings import PlayerScores
from kinfolk.evaluation.rollout import Isolation
from kinfolk.jobs.crossplay import PolicyMixture, find_mixtures
from kinfolk.jobs.tournament.meetings import MeetingPlan, MeetingRecord, play_pairings
from kinfolk.jobs.train.league.state import League, LeagueMember
from kinfolk.jobs.train.settings import Train
from kinfolk.play.task import Policies
from kinfolk.policies.build import ResolvedPolicy

METRIC = "return_per_life"  # score of a member in a game, as in tournaments
_SEED_OFFSET = 2_000_000  # added to the seed of a run: games between members
_CHUNK_SIZE = 8  # games of a task; changes no result


class LearnerRecord(NamedTuple):
    """Win rate of a learner against one opponent, since it began, over its recent episodes."""

    learner: str
    opponent: str
    win_rate: float
    episodes: int


@dataclass(frozen=True, kw_only=True)
class LeagueUpdated(Event):
    """Members joined the league and played those of the other side; `step` counts rows."""

    kind: ClassVar[str] = "league_updated"
    update: int
    joined: dict[str, str]  # names of the members that joined, and why
    members: list[str]
    games: int  # of each two members
    payoffs: list[PayoffTable]  # return per life of the row's member against the column's
    mixtures: list[PolicyMixture]  # alpha-rank and Nash mixture of each side
    nash_regret: float | None  # the most that a side could gain by leaving the Nash mixture
    win_rates: list[LearnerRecord]  # by which opponents are drawn


def member_policy(policies: Policies, slot: str, arrays: Mapping[str, AnyArray]) -> ResolvedPolicy:
    """Return the policy of a member.

    Args:
        policies: Initial policies of the learner of which it is a snapshot.
        slot: Slot of the learner.
        arrays: Weights of the member.
    """
    initial = policies[slot]
    return ResolvedPolicy(initial.class_path, initial.settings, arrays)


def _make_plan(settings: Train, league: League, policies: Sequence[ResolvedPolicy]) -> MeetingPlan:
    """Return what all games between members have in common; players are members in their order."""
    return MeetingPlan(
        settings.world_ref,
        league.sides.world_sides,
        settings.seed + _SEED_OFFSET,
        league.settings.payoff_games,
        _CHUNK_SIZE,
        METRIC,
        Isolation(),
        [member.name for member in league.members],
        policies,
    )


def play_games(
    settings: Train,
    league: League,
    joined: Sequence[LeagueMember],
    policies: Sequence[ResolvedPolicy],
    engine: Engine,
) -> None:
    """Play members that joined against all others, and record the scores.

    Args:
        settings: Settings of the league.
        league: The league; its games are changed.
        joined: New members.
        policies: Policies of all members.
        engine: Engine that plays the games.
    """
    plan, n_learners = _make_plan(settings, league, policies), len(league.sides.learners)
    pairs = [(a - n_learners, b - n_learners) for a, b in league.list_new_pairs(joined)]
    record = MeetingRecord(len(league.members), 2)
    for _ in play_pairings(plan, engine, list(enumerate(pairs)), record):
        pass  # single games are no events of a training
    for game in record.games():
        league.games.append([*game.players, *game.scores])


def report_league(
    settings: Train,
    league: League,
    joined: Sequence[LeagueMember],
    policies: Sequence[ResolvedPolicy],
    counts: tuple[int, int],
) -> LeagueUpdated:
    """Return the payoff matrices and mixtures of a league.

    Args:
        settings: Settings of the league.
        league: The league.
        joined: Members that joined last.
        policies: Policies of all members.
        counts: Steps and updates so far.
    """
    plan = _make_plan(settings, league, policies)
    n_played: Counter[tuple[int, int]] = Counter()
    games = []
    for a, b, x, y in league.games:  # those of each two members in the order of their seeds
        pairing = (int(a), int(b))
        games.append(PlayerScores(pairing, (x, y), n_played[pairing]))
        n_played[pairing] += 1
    names, sides = [member.name for member in league.members], league.sides
    everybody = range(len(names))
    if sides.are_interchangeable:
        pools = [list(everybody)] * 2
    else:
        pools = [[i for i in everybody if league.members[i].side == side] for side in (0, 1)]
    by_pairing: dict[tuple[int, ...], list[tuple[float, ...]]] = {}
    for game in games:
        by_pairing.setdefault(game.players, []).append(game.scores)
    scores = {pairing: np.array(rows) for pairing, rows in by_pairing.items()}
    mixtures, regret, _ = find_mixtures(plan, pools, names, scores)
    return LeagueUpdated(
        step=counts[0],
        update=counts[1],
        joined={member.name: member.reason for member in joined},
        members=names,
        games=league.settings.payoff_games,
        payoffs=build_payoffs(
            games, pools, names, sides.world_sides.names, sides.are_interchangeable
        ),
        mixtures=mixtures,
        nash_regret=regret,
        win_rates=[
            LearnerRecord(league.name_of(a), league.name_of(b), record.rate, record.episodes)
            for (a, b), record in sorted(league.records.items())
        ],
    )
