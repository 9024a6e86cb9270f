"""Observers of rollouts: how a job prepares the policies of a task and looks on while it is played."""

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
    """Looks on while the tasks of one runner are played.

    Subclasses override what they need: without that, each slot's policy is built in this process
    and nothing is looked at but the results.

    Args:
        task: The first task of the runner. Later ones have the same world and policies.
        world: The batch of worlds that is played.

    Attributes:
        task: The task that is played.
        loop: Its loop.
    """

    loop: EpisodeLoop

    def __init__(self, task: RolloutTask[Any], world: World) -> None:
        self.task, self.world = task, world
        self.slots: Sequence[LoadedSlot] = self.build_slots()

    def build_slots(self) -> Sequence[LoadedSlot]:
        """Return the slots of the task with policies that are ready to play."""
        spec = self.world.spec
        return [
            LoadedSlot(name, build_policy(policy, spec))
            for name, policy in self.task.resolved.items()
        ]

    def attach(self, task: RolloutTask[Any], loop: EpisodeLoop) -> None:
        """Turn to a task, whose loop stands at its beginning."""
        self.task, self.loop = task, loop
        if task.snapshot is not None:
            self.restore(task.snapshot)
        self.start()

    def restore(self, snapshot: Arrays) -> None:
        """Put the loop where a task's snapshot was taken."""
        self.loop.restore(snapshot)

    def snapshot(self) -> dict[str, AnyArray]:
        """Return where the loop stands, for the task that goes on from here."""
        return self.loop.sparse_snapshot()

    def start(self) -> None:
        """Prepare for a task, before its first tick."""

    def before_step(self) -> None:
        """Look at the worlds before a step; the episodes of this tick have begun."""

    def after_step(self, ended: list[EpisodeResult]) -> list[EpisodeResult]:
        """Look at the worlds after a step; return the ended episodes with what is added to them."""
        return ended

    def finish(self) -> T_co:
        """Return what was observed in the task."""
        raise NotImplementedError

    def close(self) -> None:
        """Close the policies."""
        for slot in self.slots:
            slot.policy.close()


class PlainObserver(Observer[None]):
    """Observes nothing: the results of the episodes are all that is wanted."""

    def finish(self) -> None:
        """Return nothing."""


class ObserverFactory(Protocol[T_co]):
    """A value that travels with a task and makes its observer where the task is played.

    A class of observers is one; so is a frozen dataclass whose `__call__` makes an observer.
    """

    def __call__(self, task: RolloutTask[Any], world: World) -> Observer[T_co]:
        """Return the observer of a runner."""
        ...
