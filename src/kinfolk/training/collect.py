"""Gathering experience: a chunk of worlds is played on for some ticks, as a task for an engine.

A task carries all it follows from (where its worlds stood, the weights, the pool), so any worker
may run it, and run it again. How worlds are split into chunks is a setting: the number of workers
has no effect.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays
from kinfolk.core.spaces import WorldSpec
from kinfolk.engines.base import ObjectRef
from kinfolk.play.loop import EpisodeLoop, EpisodeResult
from kinfolk.play.slots import LoadedSlot, SlotMap, build_slot_assignment
from kinfolk.policies.base import Policy
from kinfolk.policies.neural.policy import NeuralPolicy
from kinfolk.policies.resolve import ResolvedPolicy, build_policy
from kinfolk.training.buffer import RolloutColumns
from kinfolk.training.opponents import (
    OpponentPolicy,
    OpponentPool,
    OpponentPoolPlan,
    assign_opponents,
)
from kinfolk.training.recorder import RolloutRecorder, RowLabels
from kinfolk.worlds import build_world as build_world
from kinfolk.worlds.base import World

_EPISODES_PER_CHUNK = (
    1 << 40
)  # episodes of a chunk are numbered from here, so that no two chunks share one


@dataclass(frozen=True)
class SlotPlan:
    """A slot as the gathering needs it."""

    id: str
    policy: ResolvedPolicy
    labels: RowLabels
    teacher: ResolvedPolicy | None = None  # asked beside the actor
    student: str | None = None  # a slot that watches; it remembers, so it must see every row
    is_demonstration: bool = False  # what this slot does is a lesson


@dataclass(frozen=True)
class RolloutPlan:
    """What stays the same through a whole training."""

    world: str
    world_settings: Mapping[str, Any]
    preset: str | None
    n_worlds: int  # of one chunk
    rollout_length: int  # of one gathering
    seed: int
    slots: tuple[SlotPlan, ...]
    slot_map: SlotMap | None
    inherit_slot: bool = False
    bootstrap_early_ends: bool = True
    opponent_pool: OpponentPoolPlan | None = None
    batch_invariant: bool = True  # refuse nets that are not


@dataclass(frozen=True)
class TrainingRolloutTask:
    """One chunk, to be played on."""

    plan: ObjectRef[RolloutPlan]
    chunk: int
    weights: Mapping[str, Arrays]  # by slot, of all that learn
    state: Arrays | None  # where the worlds stand; None: at the beginning
    opponent_pool: OpponentPool | None = None


@dataclass(frozen=True)
class TrainingRolloutResult:
    """What came of a task."""

    blocks: list[RolloutColumns]  # one per slot
    episodes: list[EpisodeResult]
    opponents: list[int]  # of each episode, which member of the pool played
    state: dict[str, AnyArray]


@dataclass
class RolloutWorker:
    """Worlds and policies of a plan, kept by a process from one task to the next."""

    plan: RolloutPlan
    world: World
    recorders: list[RolloutRecorder]
    policies: dict[str, Policy]
    opponent: OpponentPolicy | None = None
    loops: dict[int, EpisodeLoop] = field(
        default_factory=dict
    )  # by chunk: each has episodes of its own
    loop: EpisodeLoop = field(init=False)  # of the chunk that is placed
    episodes: AnyArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @staticmethod
    def from_plan(plan: RolloutPlan) -> RolloutWorker:
        """Build all."""
        world = build_world(plan.world, plan.world_settings, plan.n_worlds, plan.preset)
        policies = {
            slot.id: build_policy(slot.policy, world.spec, plan.batch_invariant)
            for slot in plan.slots
        }
        pooled = None
        if plan.opponent_pool is not None:
            pooled = OpponentPolicy(policies[plan.opponent_pool.slot], world.spec)
            policies[plan.opponent_pool.slot] = pooled
        capacity = plan.rollout_length * plan.n_worlds * world.spec.rows
        recorders = [
            _build_recorder(plan, slot, policies, world.spec, capacity) for slot in plan.slots
        ]
        return RolloutWorker(plan, world, recorders, policies, pooled)

    def restore(self, chunk: int, state: Arrays | None) -> None:
        """Put the worlds where a chunk stood."""
        if state is None or chunk not in self.loops:
            self.loops[chunk] = _build_loop(self.plan, self.world, self.recorders, chunk)
        self.loop = self.loops[chunk]
        if state is None:
            self.episodes = np.full(self.plan.n_worlds, -1, dtype=np.int64)
            return
        self.loop.restore({n: a for n, a in state.items() if not n.startswith("worker/")})
        self.loop.members[...] = state["worker/members"]
        self.episodes = state["worker/episodes"].copy()

    def state(self) -> dict[str, AnyArray]:
        """Where the worlds stand now."""
        own = {"worker/members": self.loop.members.copy(), "worker/episodes": self.episodes.copy()}
        return self.loop.sparse_snapshot() | own


def _build_recorder(
    plan: RolloutPlan,
    slot: SlotPlan,
    policies: Mapping[str, Policy],
    spec: WorldSpec,
    capacity: int,
) -> RolloutRecorder:
    teacher = None
    if slot.teacher is not None:
        teacher = build_policy(slot.teacher, spec, plan.batch_invariant)
    watching = None if slot.student is None else _observing_student(policies[slot.student])
    return RolloutRecorder(
        policies[slot.id], slot.labels, spec, capacity, teacher, watching, slot.is_demonstration
    )


def _observing_student(student: Policy) -> NeuralPolicy | None:
    """A student that remembers, as one who watches: the same weights, asked by itself."""
    if not isinstance(student, NeuralPolicy) or not student.needs_sequence:
        return None
    watching = copy(student)  # the module is shared, what it said last is not
    return watching


def _build_loop(
    plan: RolloutPlan, world: Any, recorders: list[RolloutRecorder], chunk: int
) -> EpisodeLoop:
    slots = [
        LoadedSlot(slot.id, recorder) for slot, recorder in zip(plan.slots, recorders, strict=True)
    ]
    table = build_slot_assignment(world.spec, [slot.id for slot in plan.slots], plan.slot_map)
    episodes = range(chunk * _EPISODES_PER_CHUNK, (chunk + 1) * _EPISODES_PER_CHUNK)
    return EpisodeLoop(world, slots, table, plan.seed, episodes, inherit_slot=plan.inherit_slot)


_MAX_WORKERS = 8  # stages of different plans that a process holds
_workers: dict[
    int, tuple[RolloutPlan, RolloutWorker]
] = {}  # of this process, by the identity of the plan


def get_worker(plan: RolloutPlan) -> RolloutWorker:
    """The stage of a plan, built once per process."""
    known = _workers.get(id(plan))
    if known is None or known[0] is not plan:
        while len(_workers) >= _MAX_WORKERS:
            _workers.pop(next(iter(_workers)))
        _workers[id(plan)] = known = (plan, RolloutWorker.from_plan(plan))
    return known[1]


def collect_rollout(task: TrainingRolloutTask) -> TrainingRolloutResult:
    """Play a chunk on for the plan's ticks."""
    plan = task.plan.get()
    stage = get_worker(plan)
    for name, arrays in task.weights.items():
        policy = stage.policies[name]
        assert isinstance(policy, NeuralPolicy)  # only nets learn
        policy.load(arrays)
    if stage.opponent is not None and task.opponent_pool is not None:
        stage.opponent.load_pool(task.opponent_pool)
    stage.restore(task.chunk, task.state)
    for recorder in stage.recorders:
        recorder.start_chunk(task.chunk)
    episodes: list[EpisodeResult] = []
    rivals: list[int] = []
    for tick in range(plan.rollout_length):
        ended = _tick(stage, task.opponent_pool, last=tick == plan.rollout_length - 1)
        by_number = dict(zip(stage.loop.episode.tolist(), stage.loop.members[:, 0], strict=True))
        episodes += ended
        rivals += [int(by_number[result.episode]) for result in ended]
    return TrainingRolloutResult(
        [r.columns() for r in stage.recorders], episodes, rivals, stage.state()
    )


def _tick(stage: RolloutWorker, pool: OpponentPool | None, last: bool) -> list[EpisodeResult]:
    """One tick of all worlds; rivals are drawn where an episode begins, and nowhere else."""
    play = stage.loop
    if stage.plan.opponent_pool is not None and pool is not None:
        play.start_episodes()
        fresh = np.flatnonzero(play.episode != stage.episodes)
        assign_opponents(play.members, fresh, play.episode, pool, play.seed)
        stage.episodes = play.episode.copy()
    ended = play.tick()
    world = play.world
    rows, lost = world.spec.rows, np.zeros(world.n_worlds, dtype=np.bool_)
    if not stage.plan.bootstrap_early_ends:
        lost = world.done & (world.tick < world.spec.max_ticks)
    done, lost = np.repeat(world.done, rows), np.repeat(lost, rows)
    for recorder in stage.recorders:
        recorder.finish_step(world.columns, done, lost, play.observations, last)
    return ended
