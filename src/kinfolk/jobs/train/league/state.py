"""State of a league: its members, win rates of learners against them, and games between members."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays
from kinfolk.jobs.train.league.learners import OPPONENTS, LeagueLearner, LeagueSides
from kinfolk.jobs.train.trainer import Rollout
from kinfolk.play.results import EpisodeResult
from kinfolk.training.matchmaking import (
    LeagueSettings,
    WinRate,
    draw_weights,
    find_reset_reason,
    is_snapshot_due,
    share_won,
)
from kinfolk.training.opponents import OpponentPool

JoinReason = Literal["start", "snapshot", "won", "budget", "end"]
_PREFIX = "league"  # of the arrays of members in a snapshot


class LeagueMember(NamedTuple):
    """A snapshot of a learner, which does not change any more."""

    number: int  # from the number of learners on
    name: str  # LEARNER-UPDATE
    side: int
    learner: int  # of which it is a snapshot
    reason: JoinReason


@dataclass
class League:
    """Members of a league, and what is known of them.

    Attributes:
        sides: Sides and learners.
        settings: How opponents are drawn, and when snapshots join.
        stats_window: Episodes of a main agent with which its side's scores are compared.
        members: Snapshots, in the order in which they joined.
        weights: Weights of each member, by number.
        records: By learner and opponent, win rate of the learner since it began.
        since: Update of each learner's last snapshot, or of its last reset.
        main_scores: Of each side, scores of the main agent's last episodes.
        games: Rows of two members, by number, and their scores in a game.
    """

    sides: LeagueSides
    settings: LeagueSettings
    stats_window: int
    members: list[LeagueMember] = field(default_factory=list)
    weights: dict[int, Arrays] = field(default_factory=dict)
    records: dict[tuple[int, int], WinRate] = field(default_factory=dict)
    since: list[int] = field(default_factory=list)
    main_scores: list[list[float]] = field(default_factory=list)
    games: list[list[float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.since = self.since or [0] * len(self.sides.learners)
        self.main_scores = self.main_scores or [[] for _ in self.sides.slots]

    def name_of(self, number: int) -> str:
        """Return the name of a learner or member."""
        n_learners = len(self.sides.learners)
        if number < n_learners:
            return self.sides.learners[number].name
        return self.members[number - n_learners].name

    def list_opponents(self, learner: LeagueLearner) -> list[int]:
        """Return the numbers of all members that a learner may meet."""
        side = self.sides.other_side(learner.side)
        return [member.number for member in self.members if member.side == side]

    def make_pool(self, learner: LeagueLearner, present: Mapping[int, Arrays]) -> OpponentPool:
        """Return the opponents of a learner with their sampling weights.

        Args:
            learner: The learner.
            present: Weights of all learners as they are now, by number.
        """
        rival = self.sides.main_of(self.sides.other_side(learner.side)).number
        numbers = self.list_opponents(learner)
        rates = {number: self._record(learner.number, number).rate for number in numbers}
        drawn = draw_weights(learner.kind, rival, rates, self.settings)
        # Episodes in progress may be against the present main agent, though it is not drawn any more.
        arrays = {rival: present[rival], **{n: self.weights[n] for n in drawn if n != rival}}
        return OpponentPool(arrays, tuple(drawn), tuple(drawn.values()))

    def _record(self, learner: int, opponent: int) -> WinRate:
        """Return the win rate of a learner against an opponent."""
        return self.records.get((learner, opponent), WinRate())

    def record_episodes(self, learner: LeagueLearner, rollout: Rollout) -> None:
        """Update the win rates of a learner with the episodes of a rollout that ended.

        Args:
            learner: The learner.
            rollout: Its experience.
        """
        for episode, opponent in zip(rollout.episodes, rollout.opponents, strict=True):
            score = _score(episode, learner.name)
            if self.sides.are_interchangeable:
                others = [_score(episode, OPPONENTS)]
            else:
                others = self.main_scores[learner.side]
            if others:
                pair = (learner.number, opponent)
                self.records[pair] = self._record(*pair).add(share_won(score, others))
            if learner.kind == "main":
                scores = [*self.main_scores[learner.side], score]
                self.main_scores[learner.side] = scores[-self.stats_window :]

    def find_join_reason(self, learner: LeagueLearner, update: int) -> JoinReason | None:
        """Return why a snapshot of a learner joins the league now; None if it does not.

        Args:
            learner: The learner.
            update: Updates so far.
        """
        updates = update - self.since[learner.number]
        if learner.kind == "main":
            met = [self._record(learner.number, number) for number in self.list_opponents(learner)]
            return "snapshot" if is_snapshot_due(updates, met, self.settings) else None
        exploited = [r for (number, _), r in self.records.items() if number == learner.number]
        return find_reset_reason(updates, exploited, self.settings)

    def add(
        self, learner: LeagueLearner, update: int, arrays: Arrays, reason: JoinReason
    ) -> LeagueMember:
        """Add a snapshot of a learner and return it; an exploiter's record begins anew.

        Args:
            learner: The learner.
            update: Updates so far.
            arrays: Its weights.
            reason: Why it joins.
        """
        number = len(self.sides.learners) + len(self.members)
        member = LeagueMember(
            number, f"{learner.name}-{update}", learner.side, learner.number, reason
        )
        self.members.append(member)
        self.weights[number] = arrays
        self.since[learner.number] = update
        if learner.kind != "main":
            self.records = {p: r for p, r in self.records.items() if p[0] != learner.number}
        return member

    def list_new_pairs(self, joined: Sequence[LeagueMember]) -> list[tuple[int, int]]:
        """Return the pairs of members that have not met, as numbers in the order of the sides."""
        new = {member.number for member in joined}
        pairs = []
        for i, first in enumerate(self.members):
            for second in self.members[i + 1 :]:
                can_meet = self.sides.are_interchangeable or first.side != second.side
                if can_meet and (first.number in new or second.number in new):
                    ordered = sorted((first, second), key=lambda m: (m.side, m.number))
                    pairs.append((ordered[0].number, ordered[1].number))
        return pairs

    def arrays(self) -> dict[str, AnyArray]:
        """Return weights of members and games as arrays, for a checkpoint."""
        arrays: dict[str, AnyArray] = {
            f"{_PREFIX}/{number}/{name}": array
            for number, weights in self.weights.items()
            for name, array in weights.items()
        }
        if self.games:
            arrays[f"{_PREFIX}/games"] = np.array(self.games, dtype=np.float64)
        return arrays

    def notes(self) -> dict[str, Any]:
        """Return everything else as plain values, for a checkpoint."""
        return {
            "members": [list(member) for member in self.members],
            "records": [[*pair, *record] for pair, record in self.records.items()],
            "since": list(self.since),
            "main_scores": [list(scores) for scores in self.main_scores],
        }

    def restore(self, arrays: Arrays, notes: Mapping[str, Any]) -> None:
        """Restore what `arrays` and `notes` returned."""
        self.members = [LeagueMember(*member) for member in notes["members"]]
        self.records = {(int(a), int(b)): WinRate(*record) for a, b, *record in notes["records"]}
        self.since = list(notes["since"])
        self.main_scores = [list(scores) for scores in notes["main_scores"]]
        games = arrays.get(f"{_PREFIX}/games")
        self.games = [] if games is None else games.tolist()
        weights: dict[int, dict[str, AnyArray]] = {member.number: {} for member in self.members}
        for path, array in arrays.items():
            prefix, _, rest = path.partition("/")
            number, _, name = rest.partition("/")
            if prefix == _PREFIX and name:
                weights[int(number)][name] = array
        self.weights = dict(weights)


def _score(episode: EpisodeResult, slot: str) -> float:
    """Return the return per life of a slot in an episode; 0 without a life."""
    return episode.returns[slot] / max(1, episode.lives[slot])
