"""Observers of rollouts: hooks by which a job builds a task's policies and follows its steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from kinfolk.core.arrays import AnyArray, Arrays
from kinfolk.play.loop import EpisodeLoop
from kinfolk.play.results import EpisodeResult
from kinfolk.play.slots import LoadedSlot
from kinfolk.policies.resolve import build_policy
from kinfolk.worlds.base import World

if TYPE_CHECKING:
    from kinfolk.play.task import RolloutTask

T_co = TypeVar("T_co", covariant=True)


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

    def build_slots(self) -> Sequence[LoadedSlot]:
        """Build the policies of the task and return its slots with them."""
        spec = self.world.spec
        return [
            LoadedSlot(name, build_policy(policy, spec))
            for name, policy in self.task.resolved.items()
        ]

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

    def before_step(self) -> None:
        """Read the worlds before a step, after the reset of those that begin an episode."""

    def after_step(self, ended: list[EpisodeResult]) -> list[EpisodeResult]:
        """Read the worlds after a step; return its ended episodes, with additions if there are any."""
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


class ObserverFactory(Protocol[T_co]):
    """Builds the observer of a task in the process that plays it; pickled with the task.

    A subclass of `Observer` is a factory; so is a frozen dataclass whose `__call__` returns one.
    """

    def __call__(self, task: RolloutTask[Any], world: World) -> Observer[T_co]:
        """Return an observer for a runner of this task on this batch of worlds."""
        ...
