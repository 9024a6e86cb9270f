"""A few threads that share the work of a kernel."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any


class ThreadTeam:
    """Run parts of a task in parallel; kernels release the interpreter's lock.

    Args:
        threads: How many threads, the calling one included.
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads
        # The calling thread does one part itself, so a single thread needs no pool.
        self._pool = ThreadPoolExecutor(threads - 1) if threads > 1 else None

    def run(self, n_items: int, task: Callable[[int, int, int], Any]) -> list[Any]:
        """Call `task(first, last, thread)` for equal parts of `n_items`, one per thread.

        Args:
            n_items: Number of items to split.
            task: Called with a half-open range of items and the index of the thread.

        Returns:
            What the calls returned, in order of their parts.
        """
        if self._pool is None or n_items <= 1:
            return [task(0, n_items, 0)]
        cuts = [n_items * i // self.threads for i in range(self.threads + 1)]
        parts = [(a, b, i) for i, (a, b) in enumerate(pairwise(cuts)) if a < b]
        futures = [self._pool.submit(task, *part) for part in parts[1:]]
        return [task(*parts[0]), *(future.result() for future in futures)]

    def run_each(self, n_items: int, task: Callable[[int, int], Any]) -> list[Any]:
        """Call `task(item, thread)` for each of `n_items`; a thread that is free takes the next one.

        So a thread that starts late, because processors are busy, holds up the others by no more
        than one item.

        Args:
            n_items: Number of items.
            task: Called with an item and the index of the thread.

        Returns:
            What the calls returned, in order of the items.
        """
        if self._pool is None or n_items <= 1:
            return [task(item, 0) for item in range(n_items)]
        items, results = iter(range(n_items)), [None] * n_items

        def work(thread: int) -> None:
            for item in items:  # one thread at a time, under the lock of the interpreter
                results[item] = task(item, thread)

        n_helpers = min(self.threads, n_items) - 1
        futures = [self._pool.submit(work, thread) for thread in range(1, 1 + n_helpers)]
        work(0)
        for future in futures:
            if not future.cancel():  # it has begun
                future.result()
        return results
