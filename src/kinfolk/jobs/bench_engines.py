"""How much the loop and the engines cost by themselves."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

from kinfolk.core.keys import threefry
from kinfolk.engines.base import Engine
from kinfolk.engines.local import Local
from kinfolk.engines.processes import Processes
from kinfolk.play.episode import Play
from kinfolk.play.slots import Slot, slot_table
from kinfolk.policies.resolve import build, resolve
from kinfolk.worlds import build as build_world

WORLDS = (1, 64, 4096)
TASK_SECONDS = 0.05
TASKS = 24
_UNDYING = {"max_ticks": 1_000_000, "max_age": 1_000_000}


def bench_engines(jobs: int = 2) -> dict[str, Any]:
    """The loop at three sizes of batch, and processes against local."""
    return {"loop": [_loop(worlds) for worlds in WORLDS], "tasks": _tasks(jobs)}


class _Clock:
    """Adds up the time spent in what it wraps."""

    def __init__(self) -> None:
        self.spent = 0.0

    def timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            start = time.perf_counter()
            try:
                return function(*arguments)
            finally:
                self.spent += time.perf_counter() - start

        return call


def _loop(worlds: int) -> dict[str, float]:
    """Time whole ticks, and within them what world and policy take; the rest is the loop's."""
    world = build_world("probe", _UNDYING, worlds)
    policy = build(resolve("kin://noop"), world.spec)
    loop = Play(world, [Slot("all", policy)], slot_table(world.spec, ["all"]), 0, range(worlds))
    loop.tick()
    clock = _Clock()
    for thing, names in ((world, ("step", "observe")), (policy, ("begin", "ask", "answer"))):
        for name in names:
            setattr(thing, name, clock.timed(getattr(thing, name)))
    own, whole = [], []
    for _ in range(max(20, 4000 // worlds)):
        clock.spent, start = 0.0, time.perf_counter()
        loop.tick()
        whole.append(time.perf_counter() - start)
        own.append(whole[-1] - clock.spent)
    rows = int(loop.lists.asked.sum())
    # The median: a shared machine gives outliers, never gifts.
    tick, loop_only = statistics.median(whole), statistics.median(own)
    return {
        "worlds": worlds,
        "rows": rows,
        "whole_us_per_tick": 1e6 * tick,
        "loop_us_per_tick": 1e6 * loop_only,
        "loop_ns_per_row": 1e9 * loop_only / rows,
    }


def count(rounds: int) -> int:
    """A counted amount of work: the same everywhere, and of no use."""
    word = 1
    for i in range(rounds):
        word = threefry(word, i, 0, 0)[0]
    return word


def _seconds(engine: Engine, rounds: int) -> float:
    start = time.perf_counter()
    for _ in engine.map(count, [rounds] * TASKS):
        pass
    return time.perf_counter() - start


def _tasks(jobs: int) -> dict[str, float]:
    """The same tasks here and in worker processes, which are started before the clock is."""
    start = time.perf_counter()
    count(2000)
    rounds = int(2000 * TASK_SECONDS / (time.perf_counter() - start))
    processes = Processes(jobs)
    try:
        list(processes.map(count, [10] * 4 * jobs))
        pairs = [(_seconds(Local(), rounds), _seconds(processes, rounds)) for _ in range(3)]
    finally:
        processes.close()
    ratio, local, remote = sorted((a / b, a, b) for a, b in pairs)[1]
    return {
        "jobs": jobs,
        "tasks": TASKS,
        "task_ms": 1000 * local / TASKS,
        "local_s": local,
        "processes_s": remote,
        "ratio": ratio,
    }
