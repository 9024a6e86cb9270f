"""Tasks run here, one after another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic

from kinfolk.engines.base import Item, ObjectRef, Result, Value, validate_jobs


@dataclass(frozen=True)
class LocalRef(Generic[Value]):
    """A shared value that never left."""

    value: Value

    def get(self) -> Value:
        """The value."""
        return self.value


class LocalEngine:
    """The simplest engine, and the reference for the others."""

    def __init__(self, jobs: int = 1) -> None:
        validate_jobs(jobs)  # taken so that all are made alike; here there is only one at a time

    @property
    def jobs(self) -> int:
        """One."""
        return 1

    def map(self, task: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Run each task when its result is asked for."""
        return (task(item) for item in items)

    def share(self, value: Value) -> ObjectRef[Value]:
        """Keep it."""
        return LocalRef(value)

    def close(self) -> None:
        """Nothing to stop."""
