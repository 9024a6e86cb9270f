"""Run tasks in the calling process, one after another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic

from kinfolk.engines.base import Item, ObjectRef, Result, Value, validate_jobs


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
        jobs: Accepted so that all engines are constructed alike; one task runs at a time.
    """

    def __init__(self, jobs: int = 1) -> None:
        validate_jobs(jobs)

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
