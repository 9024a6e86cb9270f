"""The protocol that every engine implements: run tasks, share values with workers, close."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from kinfolk.core.errors import EngineError, SettingsError

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
    """Return `jobs` if it is a valid number of parallel tasks.

    Raises:
        SettingsError: `jobs` is less than 1.
    """
    if jobs < 1:
        raise SettingsError(f"The number of jobs must be at least 1, not {jobs}.")
    return jobs


def make_lost_worker_error(
    task: Callable[..., object], item: object, n_attempts: int
) -> EngineError:
    """Return the error of a task that was given up, because its workers exited each time.

    Args:
        task: Function that was run.
        item: Argument with which it was run.
        n_attempts: How often it was run.
    """
    name = getattr(task, "__name__", task)
    return EngineError(
        f"{name} lost its worker {n_attempts} times and was given up; its item was {str(item)[:80]}."
    )


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


@dataclass(frozen=True)
class LocalRef(Generic[Value]):
    """A shared value that stays in this process."""

    value: Value

    def get(self) -> Value:
        """Return the value itself, not a copy."""
        return self.value


class LocalEngine:
    """Runs tasks in this process: the reference for the other engines.

    Args:
        jobs: Accepted so that all engines are constructed alike; it has to be 1.

    Raises:
        SettingsError: `jobs` is another number.
    """

    def __init__(self, jobs: int = 1) -> None:
        if validate_jobs(jobs) > 1:
            raise SettingsError(
                f"The engine local runs one task at a time, not {jobs}. Choose the engine processes, or "
                "leave the engine out."
            )

    @property
    def jobs(self) -> int:
        """Number of tasks that run at once: always 1."""
        return 1

    def map(self, task: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Run each task when its result is consumed."""
        return (task(item) for item in items)

    def share(self, value: Value) -> ObjectRef[Value]:
        """Wrap the value without copying it."""
        return LocalRef(value)

    def close(self) -> None:
        """Do nothing: there is no worker to stop."""
