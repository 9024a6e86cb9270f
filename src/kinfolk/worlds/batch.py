"""What every batch of worlds shows in the same way: its spec and read-only views of its state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np

from kinfolk.core.arrays import Bools, Ints, read_only
from kinfolk.core.errors import require
from kinfolk.core.spaces import WorldSpec
from kinfolk.worlds.base import Columns


class Batch:
    """Base of worlds whose state is a NamedTuple with the world as first axis.

    The state has `tick`, `done` and an array `[W, N, ...]` for each of `Columns`; these arrays
    must stay where they are.
    """

    def __init__(self, spec: WorldSpec, state: Any, threads: int = 1) -> None:
        worlds, rows = state.uid.shape
        self._spec = spec
        self._threads = threads
        # One part is done by the caller, so that a single thread needs no pool.
        self._pool = ThreadPoolExecutor(threads - 1) if threads > 1 else None
        self._all = np.arange(worlds, dtype=np.int64)
        self._done, self._tick = read_only(state.done), read_only(state.tick)
        arrays = {name: getattr(state, name) for name in Columns._fields}
        self._columns = Columns(
            **{n: read_only(a.reshape(worlds * rows, *a.shape[2:])) for n, a in arrays.items()}
        )

    @property
    def spec(self) -> WorldSpec:
        """What it shows and takes."""
        return self._spec

    @property
    def worlds(self) -> int:
        """How many run side by side."""
        return len(self._all)

    @property
    def columns(self) -> Columns:
        """Read-only views of every place."""
        return self._columns

    @property
    def done(self) -> Bools:
        """Whose episode has ended."""
        return self._done

    @property
    def tick(self) -> Ints:
        """Steps since the reset."""
        return self._tick

    def kernels(self) -> Sequence[Callable[..., Any]]:
        """Those that take long to compile; while one was never used here, people are told."""
        return ()

    def compile(self, part: int) -> None:
        """Compile one of two parts, 0 or 1: two processes then share the work."""

    def _share(self, items: int, task: Callable[[int, int, int], Any]) -> list[Any]:
        """Call `task(first, last, thread)` for equal parts of `items`, one per thread.

        Kernels release the interpreter's lock, so the parts run side by side.
        """
        if self._pool is None or items <= 1:
            return [task(0, items, 0)]
        cuts = [items * i // self._threads for i in range(self._threads + 1)]
        parts = [(a, b, i) for i, (a, b) in enumerate(pairwise(cuts)) if a < b]
        others = [self._pool.submit(task, *part) for part in parts[1:]]
        return [task(*parts[0]), *(other.result() for other in others)]


def check_batch(worlds: int, threads: int = 1) -> None:
    """Refuse an empty batch before arrays are made for it."""
    require(worlds >= 1, f"A batch needs at least 1 world, not {worlds}.")
    require(threads >= 1, f"A batch needs at least 1 thread, not {threads}.")
