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
    """Measure the cost of the episode loop, and the speed-up of worker processes.

    Returns:
        `loop`, a dict of `_time_loop` for each batch size, and `tasks` of `_time_tasks`.
    """
    loop = [_time_loop(worlds) for worlds in LOOP_WORLD_COUNTS]
    return {"loop": loop, "tasks": _time_tasks(jobs)}


class _Clock:
    """Adds up the time spent in methods that it wraps."""

    seconds = 0.0

    def time_methods(self, thing: Any, *names: str) -> None:
        """Replace methods of an object by wrappers that add their run time to `seconds`.

        Args:
            thing: Object whose methods are replaced.
            names: Names of the methods.
        """
        for name in names:
            setattr(thing, name, partial(self._call, getattr(thing, name)))

    def _call(self, method: Callable[..., Any], *arguments: Any) -> Any:
        """Call a method and add its run time to `seconds`."""
        start = time.perf_counter()
        try:
            return method(*arguments)
        finally:
            self.seconds += time.perf_counter() - start


def _time_loop(worlds: int) -> dict[str, float]:
    """Measure the time of a tick, and how much of it is spent in the episode loop itself.

    Args:
        worlds: Size of the batch of worlds.

    Returns:
        `worlds`, `rows`, microseconds per tick as a whole (`whole_us_per_tick`) and without world
        and policy (`loop_us_per_tick`), and nanoseconds of the loop per agent row
        (`loop_ns_per_row`).
    """
    ref = WorldRef("probe", settings=_ENDLESS)
    task = RolloutTask[None](ref, {"all": resolve("kin://noop")}, 0, range(worlds))
    loop = EpisodeRunner(task).loop
    loop.tick()
    clock = _Clock()
    clock.time_methods(loop.world, "step", "observe")
    clock.time_methods(loop.slots[0].policy, "reset_agents", "act_async", "act_wait")
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
    """Compute a chain of `rounds` hashes, a task that costs the same on every engine."""
    word = 1
    for i in range(rounds):
        word = threefry_2x32(word, i, 0, 0)[0]
    return word


def _time_map(engine: Engine, rounds: int) -> float:
    """Return the seconds that an engine takes for `TASKS` tasks of `rounds` hashes each."""
    start = time.perf_counter()
    for _ in engine.map(hash_rounds, [rounds] * TASKS):
        pass
    return time.perf_counter() - start


def _time_tasks(jobs: int) -> dict[str, float]:
    """Compare the same tasks on the local engine and on worker processes that are already running.

    Args:
        jobs: Number of worker processes.

    Returns:
        `jobs`, `tasks`, milliseconds per task (`task_ms`), seconds by engine (`local_s`,
        `processes_s`) and their `ratio`; the median of three rounds.
    """
    start = time.perf_counter()
    hash_rounds(2000)
    rounds = int(2000 * TASK_SECONDS / (time.perf_counter() - start))
    with closing(ProcessEngine(jobs)) as processes:
        list(processes.map(hash_rounds, [10] * 4 * jobs))
        pairs = [(_time_map(LocalEngine(), rounds), _time_map(processes, rounds)) for _ in range(3)]
    ratio, local, remote = sorted((a / b, a, b) for a, b in pairs)[1]
    seconds = {"task_ms": 1000 * local / TASKS, "local_s": local, "processes_s": remote}
    return {"jobs": jobs, "tasks": TASKS, **seconds, "ratio": ratio}
