"""The unit of work of every job: play some episodes with some policies on a world.

Engines run `run_task`. Callers that need every tick (`kinfolk play`, the replay recorder) use an
`EpisodeRunner` directly. No other module constructs the episode loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeAlias, TypeVar, cast

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays, Floats, Ints
from kinfolk.core.spaces import WorldSpec
from kinfolk.engines.base import ObjectRef
from kinfolk.play.loop import EpisodeLoop
from kinfolk.play.results import AgentLog, EpisodeColumns, EpisodeResult
from kinfolk.play.slots import (
    Founders,
    LoadedSlot,
    SlotMap,
    build_slot_assignment,
    check_learning,
    is_founder_list,
)
from kinfolk.play.world_cache import reuse_world
from kinfolk.policies.build import ResolvedPolicy, build_policy
from kinfolk.worlds import build_world
from kinfolk.worlds.base import World

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
Policies: TypeAlias = Mapping[str, ResolvedPolicy]  # by slot
MAX_FREE_TICKS = 1 << 40


@dataclass(frozen=True)
class WorldRef:
    """A world by name, with its preset and changed settings; small enough to send to a worker."""

    name: str  # in the registry of worlds
    preset: str | None = None  # None: the world's defaults
    settings: Mapping[str, Any] = field(default_factory=dict)  # override those of the preset

    def build(self, worlds: int = 1) -> World:
        """Build a batch of `worlds` such worlds, not yet reset.

        Raises:
            UsageError: There is no such world or preset, or a setting is wrong.
        """
        world: World = build_world(self.name, self.settings, worlds, self.preset)
        return world

    def find_founders(
        self, spec: WorldSpec, slot_maps: Iterable[SlotMap | None]
    ) -> Founders | None:
        """Return the agents at the start of an episode if a slot map of this world lists them."""
        if not any(is_founder_list(spec, slot_map) for slot_map in slot_maps):
            return None
        world = self.build()
        world.reset(np.zeros(1, dtype=np.int64))
        rows = np.flatnonzero(world.columns.alive)
        return Founders(rows, world.columns.group[rows].copy())

    @property
    def spec(self) -> WorldSpec:
        """The world's observation and action spaces, groups and number of rows."""
        return self.build().spec


@dataclass(frozen=True)
class RolloutTask(Generic[T]):
    """Episodes to play with given policies on a world; the result depends on this value alone.

    Args:
        world: The world to play on.
        policies: The policy of each slot. If they are a reference from `Engine.share`, a worker
            process caches their runner for later tasks with the same reference.
        seed: Seed of all randomness.
        episodes: Numbers of the episodes. If there are as many as worlds, each world plays the one
            at its index; a number may then occur twice, such as for two teams on the same map.
        slot_map: Slot of each group, agent at the start or row; None: the first slot plays every
            agent. With a list of the agents at the start, a newborn takes its first parent's slot.
        world_slot_maps: Maps of single environments instead, by the environment's index.
        first_world: Index of the environment that is world 0 of the batch; None: every episode is an
            environment, and its number the index.
        worlds: Size of the batch of worlds; None: one world per episode.
        members: `[worlds, rows]`, member of the policy's population that plays each row; None: 0.
        inherit_slot: Whether a newborn is played by its first parent's slot instead of its group's.
        max_ticks: Upper bound of the ticks to play; None: until every episode has ended.
        log_agents: Whether results contain a record of every agent.
        snapshot: Snapshot of an earlier `RolloutResult` to continue from; None: start anew.
        keep_snapshot: Whether the result contains a snapshot.
        observer: Factory of the observer, called in the process that plays; None: no observer.
    """

    world: WorldRef
    policies: Policies | ObjectRef[Policies]
    seed: int
    episodes: Sequence[int]
    slot_map: SlotMap | None = None
    world_slot_maps: Mapping[int, SlotMap] = field(default_factory=dict)
    first_world: int | None = None
    worlds: int | None = None
    members: Ints | None = None
    inherit_slot: bool = False
    max_ticks: int | None = None
    log_agents: bool = False
    snapshot: Arrays | None = None
    keep_snapshot: bool = False
    observer: ObserverFactory[T] | None = None

    @property
    def resolved(self) -> Policies:
        """The policy of each slot, fetched from the engine if it is shared."""
        return self.policies if isinstance(self.policies, Mapping) else self.policies.get()

    @property
    def batch_size(self) -> int:
        """The number of worlds that are played side by side."""
        return len(self.episodes) if self.worlds is None else self.worlds


@dataclass(frozen=True)
class RolloutResult(Generic[T]):
    """The result of a rollout task, as columns.

    Args:
        episodes: Results of the episodes that ended, in the order of the task's episodes, or, with
            `max_ticks`, in the order in which they ended.
        ticks: `[worlds]`, ticks played in this task.
        totals: By name (`returns`, `lives`, `ticks_lived`) and slot, `[worlds]`: the part of each
            world's latest episode that was played in this task.
        counters: By name, `[worlds]`: the world's counters at the end.
        snapshot: State at the end, to continue from; empty unless `keep_snapshot` is set.
        observed: Return value of the observer's `finish`.
    """

    episodes: EpisodeColumns
    ticks: Ints
    totals: Mapping[str, Mapping[str, Floats]]
    counters: Mapping[str, Floats]
    snapshot: dict[str, AnyArray]
    observed: T


class Observer(Generic[T_co]):
    """Hooks of an `EpisodeRunner`, called around every step of the tasks that it plays.

    Subclasses override what they need. By default each slot's policy is built in this process and
    the results are passed through unchanged.

    Args:
        task: The first task of the runner; later ones have the same world and policies.
        world: The batch of worlds that is played.

    Attributes:
        task: The current task.
        loop: The loop of the current task.
        slots: The slots with their policies.
    """

    loop: EpisodeLoop

    def __init__(self, task: RolloutTask[Any], world: World) -> None:
        self.task, self.world = task, world
        self.slots: Sequence[LoadedSlot] = self.build_slots()
        check_learning(self.slots, self.plays_in_order)

    @property
    def plays_in_order(self) -> bool:
        """Whether episodes are played one at a time, each of them once; so is a single one."""
        return len(self.task.episodes) == 1

    def build_slots(self) -> Sequence[LoadedSlot]:
        """Build the policies of the task and return its slots with them."""
        spec, policies = self.world.spec, self.task.resolved
        return [LoadedSlot(name, build_policy(policy, spec)) for name, policy in policies.items()]

    def attach(self, task: RolloutTask[Any], loop: EpisodeLoop) -> None:
        """Make a task the current one, restoring its snapshot into the loop if it has one."""
        self.task, self.loop = task, loop
        if task.snapshot is not None:
            self.restore(task.snapshot)
        self.start()

    def restore(self, snapshot: Arrays) -> None:
        """Restore the loop from the snapshot of a task."""
        self.loop.restore(snapshot)

    def snapshot(self) -> dict[str, AnyArray]:
        """Return the state of the loop, for a task that continues from it."""
        return self.loop.sparse_snapshot()

    def start(self) -> None:
        """Prepare for a task, before its first tick."""

    def count_free_ticks(self) -> int:
        """Return how many ticks may be played from now on before one that is observed.

        By default all, if neither `before_step` nor `after_step` is overridden, else none.
        """
        hooks = (type(self).before_step, type(self).after_step)
        is_free = hooks == (Observer.before_step, Observer.after_step)
        return MAX_FREE_TICKS if is_free else 0

    def skip_ticks(self, n_ticks: int) -> None:
        """Take note of ticks that were played without a call of `before_step` or `after_step`."""

    def before_step(self) -> None:
        """Read the worlds before a step, after the reset of those that begin an episode."""

    def after_step(self, ended: list[EpisodeResult]) -> list[EpisodeResult]:
        """Read the worlds after a step; return the ended episodes, possibly with additions."""
        return ended

    def finish(self) -> T_co:
        """Return the observations of the current task; `RolloutResult.observed` holds them."""
        raise NotImplementedError

    def close(self) -> None:
        """Close the policies of all slots."""
        for slot in self.slots:
            slot.policy.close()


class PlainObserver(Observer[None]):
    """Observes nothing; used by tasks that need the results of their episodes only."""

    def finish(self) -> None:
        """Return None, as nothing was observed."""


# Builds the observer of a task in the process that plays it; pickled with the task. A subclass of
# `Observer` is one; so is a frozen dataclass whose `__call__` returns an observer.
ObserverFactory: TypeAlias = Callable[[RolloutTask[Any], World], Observer[T]]


class EpisodeRunner(Generic[T]):
    """Plays tasks that share a world and policies; closes the policies at the end.

    Args:
        task: The first task; constructing the runner does not play it.
        world: Batch of worlds to play on; None: build it.
    """

    def __init__(self, task: RolloutTask[T], world: World | None = None) -> None:
        self.task = task
        self.world = task.world.build(task.batch_size) if world is None else world
        default = cast("ObserverFactory[T]", PlainObserver)  # T is None in this case
        self.observer: Observer[T] = (task.observer or default)(task, self.world)
        slots = [slot.id for slot in self.observer.slots]
        self._log = AgentLog(slots) if task.log_agents else None
        # By the episodes of a task; only of tasks with shared policies.
        self._loops: dict[Sequence[int], EpisodeLoop] = {}
        self._loop: EpisodeLoop | None = None

    @property
    def loop(self) -> EpisodeLoop:
        """The loop of the task started last, or of the runner's first task if none was started."""
        return self.start(self.task) if self._loop is None else self._loop

    def start(self, task: RolloutTask[T]) -> EpisodeLoop:
        """Return the loop of a task, before its first tick or restored from its snapshot."""
        shared = not isinstance(task.policies, Mapping)
        if shared and task.snapshot is not None and task.episodes in self._loops:
            loop = self._loops[task.episodes]
        else:
            slots, world = self.observer.slots, self.world
            ids = [slot.id for slot in slots]
            maps = task.world_slot_maps
            founders = task.world.find_founders(world.spec, [task.slot_map, *maps.values()])
            assign = partial(build_slot_assignment, world.spec, ids, founders=founders)
            loop = EpisodeLoop(
                world, slots, assign(task.slot_map), task.seed, task.episodes, task.members,
                task.inherit_slot or founders is not None, self._log,
                {index: assign(slot_map) for index, slot_map in maps.items()}, task.first_world,
                None if founders is None else founders.row,
            )  # fmt: skip
            if shared:
                self._loops[task.episodes] = loop
        self.observer.attach(task, loop)
        self._loop = loop
        return loop

    def tick(self) -> list[EpisodeResult]:
        """Play one tick in every world; return the episodes that ended in it."""
        self.loop.start_episodes()
        return self._step()

    def _step(self) -> list[EpisodeResult]:
        """Step the loop and call the observer before and after it; return the ended episodes."""
        self.observer.before_step()
        return self.observer.after_step(self.loop.step())

    def _play_ticks(self, most: int) -> tuple[int, list[EpisodeResult]]:
        """Play several ticks without Python in between if nobody observes them, else one.

        Returns:
            The number of ticks, at most `most`, and the episodes that ended in them.
        """
        n_ticks, ended = self.loop.play_ticks(min(most, self.observer.count_free_ticks() + 1))
        if n_ticks == 0:
            return 1, self._step()
        self.observer.skip_ticks(n_ticks - 1)
        return n_ticks, self.observer.after_step(ended)

    def run(self, task: RolloutTask[T] | None = None) -> RolloutResult[T]:
        """Play a task and return its result.

        Args:
            task: A task with the world and policies of this runner; None: the one it was
                constructed with, continuing after any ticks that were already played.
        """
        loop = self.loop if task is None else self.start(task)
        task = task or self.task
        before = {name: total.copy() for name, total in loop.totals._asdict().items()}
        was_idle = loop.idle.copy()
        ticks: Ints = np.zeros(self.world.n_worlds, dtype=np.int64)
        ended: list[EpisodeResult] = []
        played, most = 0, MAX_FREE_TICKS if task.max_ticks is None else task.max_ticks
        if self.observer.count_free_ticks() > 0:
            loop.fuse()
        while not loop.is_done and played < most:
            loop.start_episodes()
            playing = ~loop.idle
            n_ticks, results = self._play_ticks(most - played)
            ticks += playing * n_ticks
            ended += results
            played += n_ticks

        def totals_of_task(name: str) -> dict[str, Floats]:
            """Return the increase of a total by slot; totals of a new episode start at zero."""
            after = getattr(loop.totals, name).astype(np.float64)
            increase = np.where(was_idle[:, None], after, after - before[name])
            return {slot.id: increase[:, i] for i, slot in enumerate(loop.slots)}

        if task.max_ticks is None:
            order = {number: index for index, number in enumerate(task.episodes)}
            ended.sort(key=lambda result: order.get(result.episode, -1))
        counters = self.world.counters().items()
        return RolloutResult(
            episodes=EpisodeColumns.from_results(ended),
            ticks=ticks,
            totals={name: totals_of_task(name) for name in ("returns", "lives", "ticks_lived")},
            counters={name: np.asarray(value, dtype=np.float64) for name, value in counters},
            snapshot=self.observer.snapshot() if task.keep_snapshot else {},
            observed=self.observer.finish(),
        )

    def close(self) -> None:
        """Close the observer, which closes the policies that it has built."""
        self.observer.close()

    def __enter__(self) -> EpisodeRunner[T]:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


# Cache of this process.
_MAX_CACHED_RUNNERS = 8
_runners: dict[int, tuple[Policies, EpisodeRunner[Any]]] = {}  # by identity of the policies


def run_task(task: RolloutTask[T]) -> RolloutResult[T]:
    """Play a task and return its result; this is the function that engines run."""
    if not isinstance(task.policies, Mapping):
        return _get_shared_runner(task).run(task)
    with EpisodeRunner(task, reuse_world(task.world, task.batch_size)) as runner:
        return runner.run()


def _get_shared_runner(task: RolloutTask[T]) -> EpisodeRunner[T]:
    """Return the runner of all tasks with these shared policies, built once per process."""
    policies = task.resolved
    cached = _runners.get(id(policies))
    if cached is None or cached[0] is not policies:
        while len(_runners) >= _MAX_CACHED_RUNNERS:
            _runners.pop(next(iter(_runners)))
        _runners[id(policies)] = cached = (policies, EpisodeRunner(task))
    return cached[1]
