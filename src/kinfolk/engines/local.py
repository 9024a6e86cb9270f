"""Tasks run here, one after another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic

from kinfolk.engines.base import Handle, Item, Result, Value, checked_jobs


@dataclass(frozen=True)
class Held(Generic[Value]):
    """A shared value that never left."""

    value: Value

    def get(self) -> Value:
        """The value."""
        return self.value


class Local:
    """The simplest engine, and the reference for the others."""

    def __init__(self, jobs: int = 1) -> None:
        checked_jobs(jobs)  # taken so that all are made alike; here there is only one at a time

    @property
    def jobs(self) -> int:
        """One."""
        return 1

    def map(self, task: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Run each task when its result is asked for."""
        return (task(item) for item in items)

    def share(self, value: Value) -> Handle[Value]:
        """Keep it."""
        return Held(value)

    def close(self) -> None:
        """Nothing to stop."""
