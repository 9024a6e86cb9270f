"""The unit of work of every job: play some episodes with some policies on a world.

`run_task` is what engines run. Those that look at a game tick by tick (the command line, a recorder
of replays) hold an `EpisodeRunner` themselves. The episode loop is constructed here only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Generic, TypeVar, cast

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays, Floats, Ints
from kinfolk.core.spaces import WorldSpec
from kinfolk.engines.base import ObjectRef
from kinfolk.play.agent_log import AgentLog
from kinfolk.play.loop import EpisodeLoop
from kinfolk.play.observer import Observer, ObserverFactory, PlainObserver
from kinfolk.play.results import EpisodeColumns, EpisodeResult
from kinfolk.play.slots import SlotMap, build_slot_assignment
from kinfolk.policies.resolve import ResolvedPolicy
from kinfolk.worlds import build_world
from kinfolk.worlds.base import World

T = TypeVar("T")
Policies = Mapping[str, ResolvedPolicy]  # by slot


@dataclass(frozen=True)
class WorldRef:
    """A world by name, with the rules to change."""

    name: str
    preset: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    def build(self, worlds: int = 1) -> World:
        """Return a batch of such worlds, not yet reset.

        Raises:
            UsageError: There is no such world or preset, or a setting is wrong.
        """
        world: World = build_world(self.name, self.settings, worlds, self.preset)
        return world

    @property
    def spec(self) -> WorldSpec:
        """What the world shows to its agents and takes from them."""
        return self.build().spec


@dataclass(frozen=True)
class RolloutTask(Generic[T]):
    """Some episodes of some policies on a world. The result follows from this value alone.

    Args:
        world: The world.
        policies: The policy of each slot. Where they are a value shared by the engine, a process
            keeps the worlds, policies and loops of the task for the next task that shares them.
        seed: The seed of all randomness.
        episodes: Their numbers. With as many worlds, each plays the one at its index; then a
            number may stand twice, such as for two teams on the same map.
        slot_map: Which slot plays whom; None: the first slot plays everybody.
        worlds: How many are played side by side; None: one for each episode.
        members: `[worlds, rows]`, which member of its policy's population plays a row.
        inherit_slot: A newborn is played by its first parent's slot, not by its group's.
        max_ticks: How many ticks are played at most; None: until every episode has ended.
        log_agents: Whether results have a record of every agent.
        snapshot: Where to go on, as the `RolloutResult` before has it; None: at the beginning.
        keep_snapshot: Whether the result has a snapshot.
        observer: Makes the observer where the task is played; None: nothing is observed.
    """

    world: WorldRef
    policies: Policies | ObjectRef[Policies]
    seed: int
    episodes: Sequence[int]
    slot_map: SlotMap | None = None
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
        """The policy of each slot, wherever it is kept."""
        return self.policies if isinstance(self.policies, Mapping) else self.policies.get()

    @property
    def batch(self) -> int:
        """How many worlds are played side by side."""
        return len(self.episodes) if self.worlds is None else self.worlds


@dataclass(frozen=True)
class RolloutResult(Generic[T]):
    """What came of a task, as columns.

    Args:
        episodes: Those that ended, whole: in the order of the task's episodes, or, where
            `max_ticks` is set, in the order in which they ended.
        ticks: `[worlds]`, ticks that were played in this task.
        totals: By name and slot, `[worlds]`: `returns`, `lives` and `ticks_lived` of each world's
            latest episode, as far as it was played in this task.
        counters: By name, `[worlds]`, as the world counted them at the end.
        snapshot: Where it stopped; empty unless the task keeps it.
        observed: What the task's observer saw.
    """

    episodes: EpisodeColumns
    ticks: Ints
    totals: Mapping[str, Mapping[str, Floats]]
    counters: Mapping[str, Floats]
    snapshot: dict[str, AnyArray]
    observed: T


class EpisodeRunner(Generic[T]):
    """The worlds, policies and observer of a task, ready to play it and others of its kind.

    Args:
        task: The task; nothing is played yet.
        world: The batch to play on; None: it is built.
    """

    def __init__(self, task: RolloutTask[T], world: World | None = None) -> None:
        self.task = task
        self.world = task.world.build(task.batch) if world is None else world
        plain = cast("ObserverFactory[T]", PlainObserver)  # then T is None
        self.observer: Observer[T] = (task.observer or plain)(task, self.world)
        self._log = AgentLog() if task.log_agents else None
        self._loops: dict[Sequence[int], EpisodeLoop] = {}  # of tasks that go on from a snapshot
        self._loop: EpisodeLoop | None = None

    @property
    def loop(self) -> EpisodeLoop:
        """The loop of the task that was started last; at first, of the runner's own."""
        return self.start(self.task) if self._loop is None else self._loop

    def start(self, task: RolloutTask[T]) -> EpisodeLoop:
        """Return the loop of a task at its beginning, or where its snapshot was taken."""
        shared = not isinstance(task.policies, Mapping)
        if shared and task.snapshot is not None and task.episodes in self._loops:
            loop = self._loops[task.episodes]
        else:
            slots = self.observer.slots
            table = build_slot_assignment(
                self.world.spec, [slot.id for slot in slots], task.slot_map
            )
            loop = EpisodeLoop(
                self.world, slots, table, task.seed, task.episodes, task.members,
                task.inherit_slot, self._log,
            )  # fmt: skip
            if shared:
                self._loops[task.episodes] = loop
        self.observer.attach(task, loop)
        self._loop = loop
        return loop

    def tick(self) -> list[EpisodeResult]:
        """Play one tick in every world; return the episodes that ended in it."""
        loop = self.loop
        loop.start_episodes()
        return self._step(loop)

    def _step(self, loop: EpisodeLoop) -> list[EpisodeResult]:
        self.observer.before_step()
        return self.observer.after_step(loop.step())

    def run(self, task: RolloutTask[T] | None = None) -> RolloutResult[T]:
        """Play a task and return its result.

        Args:
            task: One with the world and the policies of this runner; None: its own, which has
                not been played yet.
        """
        loop = self.loop if task is None else self.start(task)
        task = task or self.task
        before = {name: total.copy() for name, total in loop.totals._asdict().items()}
        resting = loop.idle.copy()
        ticks: Ints = np.zeros(self.world.n_worlds, dtype=np.int64)
        ended: list[EpisodeResult] = []
        played = 0
        while not loop.is_done and (task.max_ticks is None or played < task.max_ticks):
            loop.start_episodes()
            ticks += ~loop.idle
            ended += self._step(loop)
            played += 1

        def gained(name: str) -> dict[str, Floats]:
            """An episode that began in this task counts from zero."""
            after = getattr(loop.totals, name).astype(np.float64)
            total = np.where(resting[:, None], after, after - before[name])
            return {slot.id: total[:, i] for i, slot in enumerate(loop.slots)}

        if task.max_ticks is None:
            order = {number: index for index, number in enumerate(task.episodes)}
            ended.sort(key=lambda result: order.get(result.episode, -1))
        counters = self.world.counters().items()
        return RolloutResult(
            episodes=EpisodeColumns.of(ended),
            ticks=ticks,
            totals={name: gained(name) for name in ("returns", "lives", "ticks_lived")},
            counters={name: np.asarray(value, dtype=np.float64) for name, value in counters},
            snapshot=self.observer.snapshot() if task.keep_snapshot else {},
            observed=self.observer.finish(),
        )

    def close(self) -> None:
        """Close the policies."""
        self.observer.close()

    def __enter__(self) -> EpisodeRunner[T]:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


_KEPT_WORLDS = 2
_KEPT_RUNNERS = 8
_worlds: dict[tuple[str, str | None, str, int], World] = {}  # of this process
_runners: dict[int, tuple[Policies, EpisodeRunner[Any]]] = {}  # by identity of the policies


def run_task(task: RolloutTask[T]) -> RolloutResult[T]:
    """Play a task: the function that engines run."""
    if not isinstance(task.policies, Mapping):
        return _shared_runner(task).run(task)
    with EpisodeRunner(task, reusable_world(task.world, task.batch)) as runner:
        return runner.run()


def reusable_world(ref: WorldRef, worlds: int) -> World:
    """Return a batch for one task after another: a reset leaves nothing of what was before.

    The caller must have finished with it before the next task of this process begins.
    """
    key = (ref.name, ref.preset, repr(dict(ref.settings)), worlds)
    world = _worlds.pop(key, None) or ref.build(worlds)
    while len(_worlds) >= _KEPT_WORLDS:
        _worlds.pop(next(iter(_worlds)))
    _worlds[key] = world
    return world


def _shared_runner(task: RolloutTask[T]) -> EpisodeRunner[T]:
    """Return the runner of the tasks that share these policies, built once per process."""
    policies = task.resolved
    known = _runners.get(id(policies))
    if known is None or known[0] is not policies:
        while len(_runners) >= _KEPT_RUNNERS:
            _runners.pop(next(iter(_runners)))
        _runners[id(policies)] = known = (policies, EpisodeRunner(task))
    return known[1]
