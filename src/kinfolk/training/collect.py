"""Collection of experience: a chunk of worlds is played on for some ticks, as a task for an engine.

A task carries all it follows from (where its worlds stood, the weights, the pool), so any worker
may run it, and run it again. How worlds are split into chunks is a setting: the number of workers
has no effect.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays, Ints
from kinfolk.play.observer import Observer
from kinfolk.play.results import EpisodeResult
from kinfolk.play.slots import LoadedSlot
from kinfolk.play.task import RolloutTask
from kinfolk.policies.base import Policy
from kinfolk.policies.neural.policy import NeuralPolicy
from kinfolk.policies.resolve import build_policy
from kinfolk.training.buffer import RolloutColumns
from kinfolk.training.opponents import OpponentPolicy, OpponentPool, assign_opponents
from kinfolk.training.recorder import RolloutRecorder, RowLabels
from kinfolk.worlds.base import World

_EPISODES_PER_CHUNK = (
    1 << 40
)  # episodes of a chunk are numbered from here, so that no two chunks share one
_OWN = "worker/"  # begins the names of what is ours in a snapshot


@dataclass(frozen=True)
class SlotPlan:
    """How the rows of a slot are recorded; other slots are named by their ids."""

    labels: RowLabels
    teacher: str | None = None  # its policy is asked beside the actor
    student: str | None = None  # a slot that watches; it remembers, so it must see every row
    is_demonstration: bool = False  # what this slot does is a lesson


@dataclass(frozen=True)
class Collection:
    """What is recorded while a chunk is played, and by which weights.

    Args:
        slots: How each slot is recorded.
        early_ends_bootstrap: Whether something is expected after an episode that ended early.
        pool_slot: The slot that is played by earlier copies; None: there is no pool.
        batch_invariant: Whether nets are refused that are not.
        chunk: Which chunk of the worlds.
        weights: By slot, of all that learn.
        pool: The copies.
    """

    slots: Mapping[str, SlotPlan]
    early_ends_bootstrap: bool = True
    pool_slot: str | None = None
    batch_invariant: bool = True
    chunk: int = 0
    weights: Mapping[str, Arrays] = field(default_factory=dict)
    pool: OpponentPool | None = None

    def __call__(self, task: RolloutTask[Any], world: World) -> Collector:
        """Return the observer that records."""
        return Collector(self, task, world)


@dataclass(frozen=True)
class Experience:
    """The rows of a chunk, and who played for the pool."""

    blocks: list[RolloutColumns]  # one per slot
    rivals: list[int]  # of each episode that ended, which copy of the pool played


def collection_task(
    plan: RolloutTask[Experience],
    chunk: int,
    weights: Mapping[str, Arrays],
    snapshot: Arrays | None,
    pool: OpponentPool | None = None,
) -> RolloutTask[Experience]:
    """Return the task of playing a chunk on.

    Args:
        plan: What stays the same through a whole training: a task with a `Collection` whose
            policies are shared by the engine.
        chunk: Which chunk of the worlds.
        weights: By slot, of all that learn.
        snapshot: Where the chunk stands; None: at its beginning.
        pool: The copies to play against.
    """
    assert isinstance(plan.observer, Collection)
    return replace(
        plan,
        episodes=range(chunk * _EPISODES_PER_CHUNK, (chunk + 1) * _EPISODES_PER_CHUNK),
        snapshot=snapshot,
        observer=replace(plan.observer, chunk=chunk, weights=weights, pool=pool),
    )


class Collector(Observer[Experience]):
    """Records the rows of every slot; kept by a process from one task to the next.

    Args:
        plan: What stays the same through a whole training.
        task: The first task.
        world: The worlds of a chunk.
    """

    def __init__(self, plan: Collection, task: RolloutTask[Any], world: World) -> None:
        self._plan = self._now = plan
        self._pooled: OpponentPolicy | None = None
        self._episodes: Ints = np.zeros(0, dtype=np.int64)  # of each world, when rivals were drawn
        super().__init__(task, world)

    def build_slots(self) -> Sequence[LoadedSlot]:
        """Return the slots, each recorded."""
        plan, spec, resolved = self._plan, self.world.spec, self.task.resolved

        def built(slot: str) -> Policy:
            return build_policy(resolved[slot], spec, plan.batch_invariant)

        self._policies = {slot: built(slot) for slot in resolved}
        if plan.pool_slot is not None:
            self._pooled = OpponentPolicy(self._policies[plan.pool_slot], spec)
            self._policies[plan.pool_slot] = self._pooled
        assert self.task.max_ticks is not None  # a collection is of so many ticks
        capacity = self.task.max_ticks * self.world.n_worlds * spec.rows
        self._recorders = []
        for name, slot in plan.slots.items():
            teacher = None if slot.teacher is None else built(slot.teacher)
            student = (
                None if slot.student is None else _observing_student(self._policies[slot.student])
            )
            actor = self._policies[name]
            self._recorders.append(
                RolloutRecorder(
                    actor, slot.labels, spec, capacity, teacher, student, slot.is_demonstration
                )
            )
        return [
            LoadedSlot(n, recorder) for n, recorder in zip(plan.slots, self._recorders, strict=True)
        ]

    def restore(self, snapshot: Arrays) -> None:
        """Put the worlds where the chunk stood."""
        self.loop.restore({n: a for n, a in snapshot.items() if not n.startswith(_OWN)})
        self.loop.members[...] = snapshot[f"{_OWN}members"]
        self._episodes = snapshot[f"{_OWN}episodes"].copy()

    def snapshot(self) -> dict[str, AnyArray]:
        """Return where the worlds of the chunk stand now."""
        members, episodes = self.loop.members.copy(), self._episodes.copy()
        return self.loop.sparse_snapshot() | {
            f"{_OWN}members": members,
            f"{_OWN}episodes": episodes,
        }

    def start(self) -> None:
        """Load the weights of a task and begin to record."""
        assert isinstance(self.task.observer, Collection)
        self._now = self.task.observer
        for name, arrays in self._now.weights.items():
            policy = self._policies[name]
            assert isinstance(policy, NeuralPolicy)  # only nets learn
            policy.load(arrays)
        if self._pooled is not None and self._now.pool is not None:
            self._pooled.load_pool(self._now.pool)
        if self.task.snapshot is None:
            self._episodes = np.full(self.world.n_worlds, -1, dtype=np.int64)
        for recorder in self._recorders:
            recorder.start_chunk(self._now.chunk)
        self._left = self.task.max_ticks or 0
        self._rivals: list[int] = []

    def before_step(self) -> None:
        """Draw rivals where an episode begins, and nowhere else."""
        loop = self.loop
        if self._pooled is not None and self._now.pool is not None:
            fresh = np.flatnonzero(loop.episode != self._episodes)
            assign_opponents(loop.members, fresh, loop.episode, self._now.pool, loop.seed)
            self._episodes = loop.episode.copy()

    def after_step(self, ended: list[EpisodeResult]) -> list[EpisodeResult]:
        """Record what the rows of this tick earned, and how they go on."""
        self._left -= 1
        world, loop = self.world, self.loop
        rows, lost = world.spec.rows, np.zeros(world.n_worlds, dtype=np.bool_)
        if not self._plan.early_ends_bootstrap:
            lost = world.done & (world.tick < world.spec.max_ticks)
        done, lost = np.repeat(world.done, rows), np.repeat(lost, rows)
        for recorder in self._recorders:
            recorder.finish_step(world.columns, done, lost, loop.observations, self._left == 0)
        if ended:
            by_number = dict(zip(loop.episode.tolist(), loop.members[:, 0].tolist(), strict=True))
            self._rivals += [by_number[result.episode] for result in ended]
        return ended

    def finish(self) -> Experience:
        """Return the rows of every slot."""
        return Experience([recorder.columns() for recorder in self._recorders], self._rivals)


def _observing_student(student: Policy) -> NeuralPolicy | None:
    """Return a student that remembers as one who watches: the same weights, asked by itself."""
    if not isinstance(student, NeuralPolicy) or not student.needs_sequence:
        return None
    watching = copy(student)  # the module is shared, what it said last is not
    return watching
