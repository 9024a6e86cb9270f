"""Benchmarks of the episode loop and of the engines."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import Any

from kinfolk.core.random import threefry_2x32
from kinfolk.engines.base import Engine, LocalEngine
from kinfolk.engines.processes import ProcessEngine
from kinfolk.play.task import EpisodeRunner, RolloutTask, WorldRef
from kinfolk.policies.resolve import resolve

LOOP_WORLD_COUNTS = (1, 64, 4096)
TASK_SECONDS = 0.05
TASKS = 24
_ENDLESS = {"max_ticks": 1_000_000, "max_age": 1_000_000}


def bench_engines(jobs: int = 2) -> dict[str, Any]:
    """Measure the loop at three batch sizes, and processes against the local engine."""
    loop = [_time_loop(worlds) for worlds in LOOP_WORLD_COUNTS]
    return {"loop": loop, "tasks": _time_tasks(jobs)}


class _Clock:
    """Adds up the time spent in methods that it wraps."""

    seconds = 0.0

    def wrap(self, thing: Any, *names: str) -> None:
        """Time the methods of these names of an object from now on."""
        for name in names:
            setattr(thing, name, partial(self._call, getattr(thing, name)))

    def _call(self, method: Callable[..., Any], *arguments: Any) -> Any:
        start = time.perf_counter()
        try:
            return method(*arguments)
        finally:
            self.seconds += time.perf_counter() - start


def _time_loop(worlds: int) -> dict[str, float]:
    """Time whole ticks, and within them world and policy; the rest is the loop."""
    ref = WorldRef("probe", settings=_ENDLESS)
    task = RolloutTask[None](ref, {"all": resolve("kin://noop")}, 0, range(worlds))
    loop = EpisodeRunner(task).loop
    loop.tick()
    clock = _Clock()
    clock.wrap(loop.world, "step", "observe")
    clock.wrap(loop.slots[0].policy, "reset_agents", "act_async", "act_wait")
    inner, whole = [], []
    for _ in range(max(20, 4000 // worlds)):
        clock.seconds, start = 0.0, time.perf_counter()
        loop.tick()
        whole.append(time.perf_counter() - start)
        inner.append(whole[-1] - clock.seconds)
    rows = int(loop.slot_rows.n_rows.sum())
    # The median: a shared machine gives outliers, never gifts.
    tick, loop_only = 1e6 * statistics.median(whole), 1e6 * statistics.median(inner)
    per_tick = {"whole_us_per_tick": tick, "loop_us_per_tick": loop_only}
    return {"worlds": worlds, "rows": rows, **per_tick, "loop_ns_per_row": 1e3 * loop_only / rows}


def hash_rounds(rounds: int) -> int:
    """Compute a chain of hashes, which takes the same work everywhere."""
    word = 1
    for i in range(rounds):
        word = threefry_2x32(word, i, 0, 0)[0]
    return word


def _seconds(engine: Engine, rounds: int) -> float:
    start = time.perf_counter()
    for _ in engine.map(hash_rounds, [rounds] * TASKS):
        pass
    return time.perf_counter() - start


def _time_tasks(jobs: int) -> dict[str, float]:
    """Time the same tasks here and in worker processes that were started before."""
    start = time.perf_counter()
    hash_rounds(2000)
    rounds = int(2000 * TASK_SECONDS / (time.perf_counter() - start))
    with closing(ProcessEngine(jobs)) as processes:
        list(processes.map(hash_rounds, [10] * 4 * jobs))
        pairs = [(_seconds(LocalEngine(), rounds), _seconds(processes, rounds)) for _ in range(3)]
    ratio, local, remote = sorted((a / b, a, b) for a, b in pairs)[1]
    seconds = {"task_ms": 1000 * local / TASKS, "local_s": local, "processes_s": remote}
    return {"jobs": jobs, "tasks": TASKS, **seconds, "ratio": ratio}
