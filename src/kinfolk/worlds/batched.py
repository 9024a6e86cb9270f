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
from kinfolk.worlds.base import AgentColumns


class BatchedWorld:
    """Base of worlds whose state is a NamedTuple with the world as first axis.

    The state has `tick`, `done` and an array `[W, N, ...]` for each of `Columns`; these arrays
    must stay where they are.
    """

    def __init__(self, spec: WorldSpec, state: Any, threads: int = 1) -> None:
        worlds, rows = state.uid.shape
        self._spec = spec
        self._threads = threads
        # One part is done by the caller, so that a single thread needs no pool.
        self._thread_pool = ThreadPoolExecutor(threads - 1) if threads > 1 else None
        self._all_worlds = np.arange(worlds, dtype=np.int64)
        self._done, self._tick = read_only(state.done), read_only(state.tick)
        arrays = {name: getattr(state, name) for name in AgentColumns._fields}
        self._columns = AgentColumns(
            **{n: read_only(a.reshape(worlds * rows, *a.shape[2:])) for n, a in arrays.items()}
        )

    @property
    def spec(self) -> WorldSpec:
        """What it shows and takes."""
        return self._spec

    @property
    def n_worlds(self) -> int:
        """How many run side by side."""
        return len(self._all_worlds)

    @property
    def columns(self) -> AgentColumns:
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

    def _run_in_threads(self, n_items: int, task: Callable[[int, int, int], Any]) -> list[Any]:
        """Call `task(first, last, thread)` for equal parts of `n_items`, one per thread.

        Kernels release the interpreter's lock, so the parts run side by side.
        """
        if self._thread_pool is None or n_items <= 1:
            return [task(0, n_items, 0)]
        cuts = [n_items * i // self._threads for i in range(self._threads + 1)]
        parts = [(a, b, i) for i, (a, b) in enumerate(pairwise(cuts)) if a < b]
        others = [self._thread_pool.submit(task, *part) for part in parts[1:]]
        return [task(*parts[0]), *(other.result() for other in others)]


def check_batch_size(n_worlds: int, threads: int = 1) -> None:
    """Refuse an empty batch before arrays are made for it."""
    require(n_worlds >= 1, f"A batch needs at least 1 world, not {n_worlds}.")
    require(threads >= 1, f"A batch needs at least 1 thread, not {threads}.")
