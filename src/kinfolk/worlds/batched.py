"""Base class of worlds whose state is a NamedTuple of arrays."""

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
    """Implement the parts of the `World` contract that are the same for every world.

    The state has `tick`, `done` and an array `[W, N, ...]` for each field of `AgentColumns`; these
    arrays must not be reallocated, because views of them are handed out.

    Args:
        spec: Groups, observation fields and action heads.
        state: NamedTuple of arrays with the world as first axis.
        threads: Threads that share the worlds.
    """

    def __init__(self, spec: WorldSpec, state: Any, threads: int = 1) -> None:
        worlds, rows = state.uid.shape
        self._spec = spec
        self._threads = threads
        # The calling thread does one part itself, so a single thread needs no pool.
        self._thread_pool = ThreadPoolExecutor(threads - 1) if threads > 1 else None
        self._all_worlds = np.arange(worlds, dtype=np.int64)
        self._done, self._tick = read_only(state.done), read_only(state.tick)
        arrays = {name: getattr(state, name) for name in AgentColumns._fields}
        self._columns = AgentColumns(
            **{n: read_only(a.reshape(worlds * rows, *a.shape[2:])) for n, a in arrays.items()}
        )

    @property
    def spec(self) -> WorldSpec:
        """Return the groups of agents, their observation fields and their action heads."""
        return self._spec

    @property
    def n_worlds(self) -> int:
        """Return the number of worlds in the batch."""
        return len(self._all_worlds)

    @property
    def columns(self) -> AgentColumns:
        """Return read-only views of all batch rows."""
        return self._columns

    @property
    def done(self) -> Bools:
        """Return `[W]`: True where the episode has ended."""
        return self._done

    @property
    def tick(self) -> Ints:
        """Return `[W]`: steps since the reset."""
        return self._tick

    def kernels(self) -> Sequence[Callable[..., Any]]:
        """Return the kernels that take long to compile with these settings.

        Commands announce compilation while one of them is missing from the cache.
        """
        return ()

    def compile(self, part: int) -> None:
        """Compile one half of the kernels, `part` 0 or 1, so that two processes share the work."""

    def _run_in_threads(self, n_items: int, task: Callable[[int, int, int], Any]) -> list[Any]:
        """Call `task(first, last, thread)` for equal parts of `n_items`, one per thread.

        Kernels release the interpreter's lock, so the parts run in parallel.

        Args:
            n_items: Number of items to split.
            task: Called with a half-open range of items and the index of the thread.

        Returns:
            What the calls returned, in order of their parts.
        """
        if self._thread_pool is None or n_items <= 1:
            return [task(0, n_items, 0)]
        cuts = [n_items * i // self._threads for i in range(self._threads + 1)]
        parts = [(a, b, i) for i, (a, b) in enumerate(pairwise(cuts)) if a < b]
        futures = [self._thread_pool.submit(task, *part) for part in parts[1:]]
        return [task(*parts[0]), *(future.result() for future in futures)]


def check_batch_size(n_worlds: int, threads: int = 1) -> None:
    """Raise SettingsError unless there is at least one world and one thread."""
    require(n_worlds >= 1, f"A batch needs at least 1 world, not {n_worlds}.")
    require(threads >= 1, f"A batch needs at least 1 thread, not {threads}.")
