"""Collection of rollouts: a task continues a chunk of worlds for some ticks and records them.

A task carries everything its result depends on (snapshot of its worlds, weights, opponent pool),
so any worker of an engine may run it, or run it again. How worlds are split into chunks is a
setting, so the number of workers does not change results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays, Ints
from kinfolk.play.results import EpisodeResult
from kinfolk.play.slots import LoadedSlot
from kinfolk.play.task import Observer, RolloutTask
from kinfolk.policies.base import Policy
from kinfolk.policies.build import ResolvedPolicy, build_policy
from kinfolk.policies.neural.policy import NeuralPolicy
from kinfolk.training.buffer import RolloutColumns
from kinfolk.training.opponents import (
    MixturePolicy,
    OpponentPolicy,
    OpponentPool,
    assign_opponents,
)
from kinfolk.training.potential import Potential, Shaping
from kinfolk.training.recorder import RolloutRecorder, SlotPlan
from kinfolk.worlds.base import World

_EPISODES_PER_CHUNK = 1 << 40  # range of episode numbers of a chunk: no two chunks share one
_PREFIX = "worker/"  # of the collector's arrays in a snapshot


@dataclass(frozen=True)
class Collection:
    """Observer factory: what is recorded while a chunk is played, and with which weights.

    Args:
        slots: By slot id, how its rows are recorded.
        bootstrap_early_ends: Whether episodes that end before the world's time limit are
            bootstrapped with the critic's value.
        pool_slot: Id of the slot that members of the opponent pool play; None without a pool.
        mixture: Policies that play the pool's slot, by number; empty if they are snapshots of a net.
        batch_invariant: Whether nets whose outputs depend on the batch are refused.
        potential: Weights of the potential that shapes rewards; empty for none.
        potential_limit: Most of each number that it counts; None: all of it.
        gamma: Discount per step of that potential.
        noise_correlation: Of continuous actions of slots that are trained, from step to step.
        chunk: Which chunk of the worlds.
        weights: By slot id, the weights of every slot that learns.
        pool: The opponents to play against.
    """

    slots: Mapping[str, SlotPlan]
    bootstrap_early_ends: bool = True
    pool_slot: str | None = None
    mixture: Sequence[ResolvedPolicy] = ()
    batch_invariant: bool = True
    potential: Mapping[str, float] = field(default_factory=dict)
    potential_limit: float | None = None
    gamma: float = 1.0
    noise_correlation: float = 0.0
    chunk: int = 0
    weights: Mapping[str, Arrays] = field(default_factory=dict)
    pool: OpponentPool | None = None

    def __call__(self, task: RolloutTask[Any], world: World) -> Collector:
        """Return the observer that records a task."""
        return Collector(self, task, world)


@dataclass(frozen=True)
class Experience:
    """The recorded rows of a chunk, and the opponents it met."""

    blocks: list[RolloutColumns]  # one per slot
    opponents: list[int]  # of each ended episode, number of the pool's snapshot that played
    n_restarted: int = 0  # episodes that were given up, as the process that held them is gone


def collection_task(
    plan: RolloutTask[Experience],
    chunk: int,
    weights: Mapping[str, Arrays],
    snapshot: Arrays | None,
    pool: OpponentPool | None = None,
) -> RolloutTask[Experience]:
    """Return the task that continues a chunk of worlds for one rollout.

    Args:
        plan: Task from `build_plan`, with a `Collection` as observer and policies that the engine
            shares.
        chunk: Which chunk of the worlds.
        weights: By slot id, the weights of every slot that learns.
        snapshot: State of the chunk's worlds; None begins new episodes.
        pool: The opponents to play against.
    """
    assert isinstance(plan.observer, Collection)
    episodes = range(chunk * _EPISODES_PER_CHUNK, (chunk + 1) * _EPISODES_PER_CHUNK)
    observer = replace(plan.observer, chunk=chunk, weights=weights, pool=pool)
    first_world = chunk * plan.batch_size
    return replace(
        plan, episodes=episodes, first_world=first_world, snapshot=snapshot, observer=observer
    )


class Collector(Observer[Experience]):
    """Records the rows of every slot; a worker process reuses it for all its tasks.

    Args:
        plan: What stays the same in all updates.
        task: The first task.
        world: The worlds of a chunk.
    """

    def __init__(self, plan: Collection, task: RolloutTask[Any], world: World) -> None:
        self._plan = self._current = plan
        self._opponent: OpponentPolicy | None = None
        self._episodes: Ints = np.zeros(0, np.int64)  # of worlds, when their opponents were drawn
        self._n_restarted = 0
        if hasattr(world, "keeps_tasks_alive"):
            world.keeps_tasks_alive = True
        super().__init__(task, world)

    def build_slots(self) -> Sequence[LoadedSlot]:
        """Return the slots, each with a recorder around its policy."""
        plan, spec, resolved = self._plan, self.world.spec, self.task.resolved

        def build(slot: str) -> Policy:
            """Return a new instance of the policy of a slot."""
            return build_policy(resolved[slot], spec, plan.batch_invariant)

        self._policies = {slot: build(slot) for slot in resolved}
        if plan.pool_slot is not None and plan.mixture:
            mixed = [build_policy(policy, spec, plan.batch_invariant) for policy in plan.mixture]
            self._policies[plan.pool_slot] = MixturePolicy(mixed, spec)
        elif plan.pool_slot is not None:
            self._opponent = OpponentPolicy(self._policies[plan.pool_slot], spec)
            self._policies[plan.pool_slot] = self._opponent
        assert self.task.max_ticks is not None  # a rollout has a fixed length
        capacity = self.task.max_ticks * self.world.n_worlds * spec.rows
        self._recorders = {}
        shaping = None
        if plan.potential:
            shaping = Shaping(Potential(spec, plan.potential, plan.potential_limit), plan.gamma)
        for name, slot in plan.slots.items():
            teacher = None if slot.teacher is None else build(slot.teacher)
            student = None if slot.student is None else self._policies[slot.student]
            actor = self._policies[name]
            if slot.is_trainable_agent and isinstance(actor, NeuralPolicy):
                actor.noise_correlation = plan.noise_correlation
            self._recorders[name] = RolloutRecorder(
                actor, slot, spec, capacity, teacher, student, shaping
            )
        return [LoadedSlot(name, recorder) for name, recorder in self._recorders.items()]

    def restore(self, snapshot: Arrays) -> None:
        """Restore the chunk's worlds and their opponents from a snapshot."""
        self.loop.restore({n: a for n, a in snapshot.items() if not n.startswith(_PREFIX)})
        self.loop.members[...] = snapshot[f"{_PREFIX}members"]
        self._episodes = snapshot[f"{_PREFIX}episodes"].copy()
        if getattr(self.world, "lost_tasks", False):
            self._n_restarted = int((~self.loop.idle).sum())
            self.loop.idle[:] = True

    def snapshot(self) -> dict[str, AnyArray]:
        """Return the state of the chunk's worlds and their opponents."""
        arrays = self.loop.sparse_snapshot()
        arrays[f"{_PREFIX}members"] = self.loop.members.copy()
        arrays[f"{_PREFIX}episodes"] = self._episodes.copy()
        return arrays

    def start(self) -> None:
        """Load the weights of a task and empty the recorders."""
        assert isinstance(self.task.observer, Collection)
        self._current = self.task.observer
        for name, arrays in self._current.weights.items():
            policy = self._policies[name]
            assert isinstance(policy, NeuralPolicy)  # only nets learn
            policy.load(arrays)
        if self._opponent is not None and self._current.pool is not None:
            self._opponent.load_pool(self._current.pool)
        if self.task.snapshot is None:
            self._episodes = np.full(self.world.n_worlds, -1, dtype=np.int64)
        for recorder in self._recorders.values():
            recorder.start_chunk(self._current.chunk)
        self._ticks_left = self.task.max_ticks or 0
        self._opponents: list[int] = []

    def before_step(self) -> None:
        """Draw opponents in the worlds whose episode has just begun."""
        loop, pool = self.loop, self._current.pool
        if self._plan.pool_slot is not None and pool is not None:
            new_episodes = np.flatnonzero(loop.episode != self._episodes)
            assign_opponents(loop.members, new_episodes, loop.episode, pool, loop.seed)
            self._episodes = loop.episode.copy()

    def after_step(self, ended: list[EpisodeResult]) -> list[EpisodeResult]:
        """Record the rewards of this tick's rows, and which rows need a bootstrap value."""
        self._ticks_left -= 1
        world, loop = self.world, self.loop
        no_bootstrap = world.done & (world.tick < world.spec.max_ticks)
        if self._plan.bootstrap_early_ends:
            no_bootstrap = np.zeros_like(no_bootstrap)
        for recorder in self._recorders.values():
            recorder.finish_step(loop, no_bootstrap, is_last=self._ticks_left == 0)
        if ended:
            opponent_of = dict(zip(loop.episode.tolist(), loop.members[:, 0].tolist(), strict=True))
            self._opponents += [opponent_of[result.episode] for result in ended]
        return ended

    def finish(self) -> Experience:
        """Return the recorded rows of every slot."""
        blocks = [recorder.columns() for recorder in self._recorders.values()]
        n_restarted, self._n_restarted = self._n_restarted, 0
        return Experience(blocks, self._opponents, n_restarted)
