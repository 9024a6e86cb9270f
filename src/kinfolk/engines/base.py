"""The contract of an engine: where tasks run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

from kinfolk.core.errors import SettingsError

Item = TypeVar("Item")
Result = TypeVar("Result")
Value = TypeVar("Value")
Shared = TypeVar("Shared", covariant=True)


class ObjectRef(Protocol[Shared]):
    """A value that was sent to every worker once; small to pass on."""

    def get(self) -> Shared:
        """The value."""
        ...


def validate_jobs(jobs: int) -> int:
    """A number of tasks at once, for any engine.

    Raises:
        SettingsError: It is less than one.
    """
    if jobs < 1:
        raise SettingsError(f"The number of jobs must be at least 1, not {jobs}.")
    return jobs


class Engine(Protocol):
    """Runs tasks.

    Tasks are top-level functions and items are values: a task that is run again, here or
    elsewhere, gives the same result, so a lost worker costs time and nothing else.
    """

    @property
    def jobs(self) -> int:
        """How many tasks run at once."""
        ...

    def map(self, task: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Results in the order of the items, as they come. What a task raises is raised here."""
        ...

    def share(self, value: Value) -> ObjectRef[Value]:
        """Send `value` to all workers; it must not be changed afterwards."""
        ...

    def close(self) -> None:
        """Stop, and leave nothing behind. May be called twice."""
        ...
