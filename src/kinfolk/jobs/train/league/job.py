"""The loop of a league: every learner collects and learns, snapshots join, exploiters begin anew."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from kinfolk.core.arrays import Arrays
from kinfolk.core.events import Event, FileChunk, Snapshot
from kinfolk.engines.base import Engine
from kinfolk.jobs.train.league.learners import (
    LeagueLearner,
    find_league_sides,
    learner_plans,
    learner_settings,
)
from kinfolk.jobs.train.league.payoffs import member_policy, play_games, report_league
from kinfolk.jobs.train.league.state import JoinReason, League, LeagueMember
from kinfolk.jobs.train.reports import (
    TrainingDone,
    UpdateDone,
    UpdateTimed,
    estimate_returns,
    report_update,
)
from kinfolk.jobs.train.settings import Train
from kinfolk.jobs.train.trainer import TrainingLoop
from kinfolk.policies.base import select_memory as select_arrays
from kinfolk.policies.build import ResolvedPolicy
from kinfolk.store.arrays import PolicyFile, iter_policy_chunks
from kinfolk.store.policy_references import make_member_chunk

MEMBER_FOLDER = "league"  # `run:RUN@league/main-40` plays a member


class LeagueLoop:
    """A training in a league, as a job or by iteration; a `TrainingLoop` for every learner.

    Args:
        settings: The world, its slots and how they learn.
        engine: Engine that collects experience and plays games between members.
        resume: Snapshot to continue from; None starts anew.

    Attributes:
        league: Members, win rates and games between members.
        loops: Training of each learner, by number.
        update_count: Updates so far, of every learner.
    """

    def __init__(self, settings: Train, engine: Engine, resume: Snapshot | None = None) -> None:
        self.settings, self._engine = settings, engine
        sides = find_league_sides(settings)
        self.league = League(sides, settings.matchmaking, settings.stats_window)
        self.loops: list[TrainingLoop] = []
        for learner in sides.learners:
            chosen = learner_settings(settings, sides, learner)
            plans = learner_plans(chosen, sides, learner)
            self.loops.append(TrainingLoop(chosen, engine, plans=plans))
        self._initial = self._present_weights()
        self.update_count = 0
        if resume is not None:
            self._restore(resume)

    @property
    def steps(self) -> int:
        """Rows that all learners have learnt from."""
        return sum(loop.state.steps for loop in self.loops)

    @property
    def learners(self) -> Sequence[LeagueLearner]:
        """Main agents and exploiters of all sides, by number."""
        return self.league.sides.learners

    def _present_weights(self) -> dict[int, Arrays]:
        """Return the weights of all learners, by number."""
        return {
            learner.number: self.loops[learner.number].state.weights()[learner.name]
            for learner in self.learners
        }

    def run(self) -> Iterator[Event | Snapshot | FileChunk]:
        """Train to the end: yield events, policy files and snapshots, as a job does."""
        if not self.league.members:
            mains = [learner for learner in self.learners if learner.kind == "main"]
            yield from self._join(dict.fromkeys(mains, "start"))
        while self.steps < self.settings.steps:
            yield from self.update()
            is_last = self.steps >= self.settings.steps
            yield from self._join(self._find_joining(is_last))
            if is_last or self.update_count % self.settings.checkpoint_every == 0:
                yield from self._policy_files()
                yield self.snapshot()
        yield self._report_end()

    def update(self) -> Iterator[Event]:
        """Collect and learn once with every learner, against the league as it was before."""
        present, start, parts = self._present_weights(), time.perf_counter(), []
        collecting, n_before = 0.0, self.steps
        for learner, loop in zip(self.learners, self.loops, strict=True):
            rollout = loop.collect(self.league.make_pool(learner, present), copy=False)
            collecting += rollout.seconds
            losses = loop.learn(rollout)
            self.league.record_episodes(learner, rollout)
            parts.append(report_update(loop.state, list(rollout.slots.values()), losses))
        self.update_count += 1
        yield self._merge_updates(parts)
        yield UpdateTimed(
            step=self.steps,
            rows=self.steps - n_before,
            collect_seconds=collecting,
            learn_seconds=time.perf_counter() - start - collecting,
        )

    def _merge_updates(self, parts: Sequence[UpdateDone]) -> UpdateDone:
        """Return one event of the updates of all learners; means are those of the main agents."""
        pairs = list(zip(self.learners, parts, strict=True))
        mains = [part for learner, part in pairs if learner.kind == "main"]
        known = [part for part in mains if part.length is not None]

        def mean(name: str) -> float | None:
            """Return the mean of a field over the main agents that have it."""
            values = [getattr(part, name) for part in known]
            return float(np.mean(values)) if values else None

        return UpdateDone(
            step=self.steps,
            update=self.update_count,
            episodes=sum(loop.state.episodes for loop in self.loops),
            length=mean("length"),
            score=mean("score"),
            slots={learner.name: part.slots[learner.name] for learner, part in pairs},
            alive=mains[0].alive,
            births=mains[0].births,
            counters=mains[0].counters,
        )

    def _find_joining(self, is_last: bool) -> dict[LeagueLearner, JoinReason]:
        """Return whose snapshots join now, and why; at the end, all main agents."""
        joining: dict[LeagueLearner, JoinReason] = {}
        for learner in self.learners:
            reason = self.league.find_join_reason(learner, self.update_count)
            if is_last and reason is None and learner.kind == "main":
                reason = "end"
            if reason is not None:
                joining[learner] = reason
        return joining

    def _join(self, joining: dict[LeagueLearner, JoinReason]) -> Iterator[Event | FileChunk]:
        """Add snapshots, play their games, reset exploiters; yield policy files and the event."""
        present = self._present_weights()
        joined = [
            self.league.add(learner, self.update_count, present[learner.number], reason)
            for learner, reason in joining.items()
        ]
        if not joined:
            return
        policies = [self._policy_of(member) for member in self.league.members]
        play_games(self.settings, self.league, joined, policies, self._engine)
        for member in joined:
            policy = self._policy_of(member)
            file = PolicyFile(policy.class_path, policy.settings, policy.arrays)
            yield make_member_chunk(MEMBER_FOLDER, member.name, file)
        yield report_league(
            self.settings, self.league, joined, policies, (self.steps, self.update_count)
        )
        for learner in joining:
            if learner.kind != "main":
                self._reset(learner, present)

    def _policy_of(self, member: LeagueMember) -> ResolvedPolicy:
        """Return the policy of a member."""
        initial = self.loops[member.learner].state.initial_policies
        name = self.learners[member.learner].name
        return member_policy(initial, name, self.league.weights[member.number])

    def _reset(self, learner: LeagueLearner, present: dict[int, Arrays]) -> None:
        """Let an exploiter begin anew, with a new optimiser.

        Args:
            learner: The exploiter.
            present: Weights of all learners, by number.
        """
        weights = self._initial[learner.number]
        if self.league.settings.exploiter_start == "main":
            weights = present[self.league.sides.main_of(learner.side).number]
        self.loops[learner.number].state.reset_learner(learner.name, weights)

    def _policy_files(self) -> Iterator[FileChunk]:
        """Yield the present nets of all learners; the best of a league is the latest."""
        for learner, loop in zip(self.learners, self.loops, strict=True):
            policy = loop.state.policies()[learner.name]
            file = PolicyFile(policy.class_path, policy.settings, policy.arrays)
            yield from iter_policy_chunks(learner.name, self.steps, file, is_best=True)

    def _report_end(self) -> TrainingDone:
        """Return the event of the end; scores are those of the main agents."""
        returns = {
            learner.name: estimate_returns(loop.state)[learner.name]
            for learner, loop in zip(self.learners, self.loops, strict=True)
        }
        parts = [
            report_update(loop.state, [{"slot_id": np.zeros(0)}] * 2, {}) for loop in self.loops
        ]
        last = self._merge_updates(parts)
        weights = {
            learner.name: loop.state.policies()[learner.name].sha256
            for learner, loop in zip(self.learners, self.loops, strict=True)
        }
        return TrainingDone(
            step=self.steps,
            updates=self.update_count,
            episodes=last.episodes,
            reason="steps",
            score=last.score,
            length=last.length,
            best=None,
            best_step=None,
            weights=weights,
            return_per_life=returns,
        )

    def snapshot(self) -> Snapshot:
        """Return the whole state as arrays and notes."""
        arrays, notes = self.league.arrays(), list[Any]()
        for number, loop in enumerate(self.loops):
            part = loop.state.snapshot()
            arrays |= {f"learner/{number}/{path}": array for path, array in part.arrays.items()}
            notes.append(part.notes)
        values = {
            "update": self.update_count,
            "learners": notes,
            "league": self.league.notes(),
        }
        return Snapshot(step=self.update_count, arrays=arrays, notes=values)

    def _restore(self, snapshot: Snapshot) -> None:
        """Restore the state of a snapshot."""
        self.update_count = int(snapshot.notes["update"])
        self.league.restore(snapshot.arrays, snapshot.notes["league"])
        for number, loop in enumerate(self.loops):
            arrays = select_arrays(snapshot.arrays, f"learner/{number}")
            notes = snapshot.notes["learners"][number]
            loop.state.restore(Snapshot(step=snapshot.step, arrays=arrays, notes=notes))

    def __iter__(self) -> Iterator[Event]:
        return (item for item in self.run() if isinstance(item, Event))

    def close(self) -> None:
        """Stop the workers that hold tasks alive; the engine stays open."""
        for loop in self.loops:
            loop.close()
