"""The protocol that every engine implements: run tasks, share values with workers, close."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

from kinfolk.core.errors import SettingsError

Item = TypeVar("Item")
Result = TypeVar("Result")
Value = TypeVar("Value")
Shared = TypeVar("Shared", covariant=True)


class ObjectRef(Protocol[Shared]):
    """A reference to a shared value, small enough to be sent with every task."""

    def get(self) -> Shared:
        """Return the value, in whichever process this is called."""
        ...


def validate_jobs(jobs: int) -> int:
    """Return the number of parallel tasks if it is valid for an engine.

    Raises:
        SettingsError: It is less than 1.
    """
    if jobs < 1:
        raise SettingsError(f"The number of jobs must be at least 1, not {jobs}.")
    return jobs


class Engine(Protocol):
    """Runs tasks, possibly in parallel and on other machines.

    Tasks are importable functions without side effects and items are picklable values: a task that
    is run again, on any machine, gives the same result, so that a lost worker costs only time.
    """

    @property
    def jobs(self) -> int:
        """Number of tasks that run at the same time."""
        ...

    def map(self, task: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Run a task on every item and yield the results in the order of the items.

        Args:
            task: A function that workers can import.
            items: Its arguments; they are consumed lazily.

        Raises:
            EngineError: A task repeatedly lost its worker. An error raised by a task itself is
                raised again here.
        """
        ...

    def share(self, value: Value) -> ObjectRef[Value]:
        """Make `value` available to all workers; it must not be modified afterwards."""
        ...

    def close(self) -> None:
        """Stop all workers and remove temporary files. May be called twice."""
        ...
