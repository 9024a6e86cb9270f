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
from kinfolk.engines.base import Handle
from kinfolk.play.episode import EpisodeResult, Play
from kinfolk.play.slots import Slot, SlotMap, slot_table
from kinfolk.policies.base import Policy
from kinfolk.policies.neural.policy import Neural
from kinfolk.policies.resolve import ResolvedPolicy, build
from kinfolk.training.experience import Rows
from kinfolk.training.pool import Pooled, PoolPlan, PoolState, seat_rivals
from kinfolk.training.recording import Labels, Recorder
from kinfolk.worlds import build as build_world
from kinfolk.worlds.base import World

_APART = 1 << 40  # episodes of a chunk are numbered from here, so that no two chunks share one


@dataclass(frozen=True)
class SlotPlan:
    """A slot as the gathering needs it."""

    id: str
    policy: ResolvedPolicy
    labels: Labels
    teacher: ResolvedPolicy | None = None  # asked beside the actor
    student: str | None = None  # a slot that watches; it remembers, so it must see every row
    taught: bool = False  # what this slot does is a lesson


@dataclass(frozen=True)
class Plan:
    """What stays the same through a whole training."""

    world: str
    world_settings: Mapping[str, Any]
    preset: str | None
    worlds: int  # of one chunk
    ticks: int  # of one gathering
    seed: int
    slots: tuple[SlotPlan, ...]
    slot_map: SlotMap | None
    inherit_slot: bool = False
    early_ends_bootstrap: bool = True
    pool: PoolPlan | None = None
    batch_invariant: bool = True  # refuse nets that are not


@dataclass(frozen=True)
class Task:
    """One chunk, to be played on."""

    plan: Handle[Plan]
    chunk: int
    weights: Mapping[str, Arrays]  # by slot, of all that learn
    standing: Arrays | None  # where the worlds stand; None: at the beginning
    pool: PoolState | None = None


@dataclass(frozen=True)
class Gathered:
    """What came of a task."""

    blocks: list[Rows]  # one per slot
    episodes: list[EpisodeResult]
    rivals: list[int]  # of each episode, which member of the pool played
    standing: dict[str, AnyArray]


@dataclass
class Stage:
    """Worlds and policies of a plan, kept by a process from one task to the next."""

    plan: Plan
    world: World
    recorders: list[Recorder]
    policies: dict[str, Policy]
    pooled: Pooled | None = None
    plays: dict[int, Play] = field(default_factory=dict)  # by chunk: each has episodes of its own
    play: Play = field(init=False)  # of the chunk that is placed
    episodes: AnyArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @staticmethod
    def of(plan: Plan) -> Stage:
        """Build all."""
        world = build_world(plan.world, plan.world_settings, plan.worlds, plan.preset)
        policies = {
            slot.id: build(slot.policy, world.spec, plan.batch_invariant) for slot in plan.slots
        }
        pooled = None
        if plan.pool is not None:
            pooled = Pooled(policies[plan.pool.slot], world.spec)
            policies[plan.pool.slot] = pooled
        capacity = plan.ticks * plan.worlds * world.spec.rows
        recorders = [_recorder(plan, slot, policies, world.spec, capacity) for slot in plan.slots]
        return Stage(plan, world, recorders, policies, pooled)

    def place(self, chunk: int, standing: Arrays | None) -> None:
        """Put the worlds where a chunk stood."""
        if standing is None or chunk not in self.plays:
            self.plays[chunk] = _play(self.plan, self.world, self.recorders, chunk)
        self.play = self.plays[chunk]
        if standing is None:
            self.episodes = np.full(self.plan.worlds, -1, dtype=np.int64)
            return
        self.play.restore({n: a for n, a in standing.items() if not n.startswith("stage/")})
        self.play.members[...] = standing["stage/members"]
        self.episodes = standing["stage/episodes"].copy()

    def standing(self) -> dict[str, AnyArray]:
        """Where the worlds stand now."""
        own = {"stage/members": self.play.members.copy(), "stage/episodes": self.episodes.copy()}
        return self.play.packed() | own


def _recorder(
    plan: Plan, slot: SlotPlan, policies: Mapping[str, Policy], spec: WorldSpec, capacity: int
) -> Recorder:
    teacher = None
    if slot.teacher is not None:
        teacher = build(slot.teacher, spec, plan.batch_invariant)
    watching = None if slot.student is None else _watching(policies[slot.student])
    return Recorder(policies[slot.id], slot.labels, spec, capacity, teacher, watching, slot.taught)


def _watching(student: Policy) -> Neural | None:
    """A student that remembers, as one who watches: the same weights, asked by itself."""
    if not isinstance(student, Neural) or not student.must_watch:
        return None
    watching = copy(student)  # the module is shared, what it said last is not
    return watching


def _play(plan: Plan, world: Any, recorders: list[Recorder], chunk: int) -> Play:
    slots = [Slot(slot.id, recorder) for slot, recorder in zip(plan.slots, recorders, strict=True)]
    table = slot_table(world.spec, [slot.id for slot in plan.slots], plan.slot_map)
    episodes = range(chunk * _APART, (chunk + 1) * _APART)
    return Play(world, slots, table, plan.seed, episodes, inherit_slot=plan.inherit_slot)


_KEPT = 8  # stages of different plans that a process holds
_stages: dict[int, tuple[Plan, Stage]] = {}  # of this process, by the identity of the plan


def stage_of(plan: Plan) -> Stage:
    """The stage of a plan, built once per process."""
    known = _stages.get(id(plan))
    if known is None or known[0] is not plan:
        while len(_stages) >= _KEPT:
            _stages.pop(next(iter(_stages)))
        _stages[id(plan)] = known = (plan, Stage.of(plan))
    return known[1]


def gather(task: Task) -> Gathered:
    """Play a chunk on for the plan's ticks."""
    plan = task.plan.get()
    stage = stage_of(plan)
    for name, arrays in task.weights.items():
        policy = stage.policies[name]
        assert isinstance(policy, Neural)  # only nets learn
        policy.load(arrays)
    if stage.pooled is not None and task.pool is not None:
        stage.pooled.take(task.pool)
    stage.place(task.chunk, task.standing)
    for recorder in stage.recorders:
        recorder.start(task.chunk)
    episodes: list[EpisodeResult] = []
    rivals: list[int] = []
    for tick in range(plan.ticks):
        ended = _tick(stage, task.pool, last=tick == plan.ticks - 1)
        by_number = dict(zip(stage.play.episode.tolist(), stage.play.members[:, 0], strict=True))
        episodes += ended
        rivals += [int(by_number[result.episode]) for result in ended]
    return Gathered([r.rows() for r in stage.recorders], episodes, rivals, stage.standing())


def _tick(stage: Stage, pool: PoolState | None, last: bool) -> list[EpisodeResult]:
    """One tick of all worlds; rivals are drawn where an episode begins, and nowhere else."""
    play = stage.play
    if stage.plan.pool is not None and pool is not None:
        play.begin()
        fresh = np.flatnonzero(play.episode != stage.episodes)
        seat_rivals(play.members, fresh, play.episode, pool, play.seed)
        stage.episodes = play.episode.copy()
    ended = play.tick()
    world = play.world
    rows, lost = world.spec.rows, np.zeros(world.worlds, dtype=np.bool_)
    if not stage.plan.early_ends_bootstrap:
        lost = world.done & (world.tick < world.spec.max_ticks)
    done, lost = np.repeat(world.done, rows), np.repeat(lost, rows)
    for recorder in stage.recorders:
        recorder.settle(world.columns, done, lost, play.observations, last)
    return ended
