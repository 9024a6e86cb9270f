"""Measure savannas of up to a million agents, and the adapter to PettingZoo."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from kinfolk.bench.worlds import savanna_settings
from kinfolk.worlds import build_world
from kinfolk.worlds.adapters import make_parallel
from kinfolk.worlds.savanna.memory import describe_memory
from kinfolk.worlds.savanna.settings import Savanna

AGENT_COUNTS = (1_000, 10_000, 100_000, 1_000_000)
THREADED_AGENTS = 100_000
# Windows are written for as many agents at a time, as a policy would read them: those of a million
# would fill 330 MB.
BLOCK = 16_384
WALLED_SIZE, WALL_FRACTION = 1000, 0.05
_WARM_UP_TICKS, _TICKS = 3, 12
_LEAST_AGENT_STEPS = 6_000_000  # measured of each size, in as many tries as it takes
_THREADED_TRIES = 20  # on each number of threads
_ADAPTER_STEPS, _ADAPTER_TRIES = 300, 5


class LargeWorldRate(NamedTuple):
    """Times of one world, of each tick the best of several tries, because other load only slows."""

    alive: float  # on average
    ns_rules: float  # per agent-step
    ns_per_agent_step: float  # with observations
    set_up_s: float  # seconds until the first step, the second time: kernels are compiled then


class LargeWorldTrial:
    """One world of many agents, whose ticks are measured again and again.

    Args:
        agents: Number of initial agents.
        threads: Threads that share the world.
        clock: Returns seconds.
    """

    def __init__(self, agents: int, threads: int, clock: Callable[[], float]) -> None:
        settings = {**savanna_settings(agents), "max_rows": 3 * agents, "observation": "compact"}
        build_world("savanna", settings, 1, threads=threads)  # loads what is loaded once
        start = time.perf_counter()
        self._world: Any = build_world("savanna", settings, 1, threads=threads)
        self._world.reset(np.array([0]))
        self._set_up_s, self._clock, self._lived = time.perf_counter() - start, clock, 0
        n_rows, row_bytes = self._world.spec.rows, self._world.spec.row_bytes
        self._actions = np.random.default_rng(0).integers(0, 9, (2, n_rows, 1))
        self._windows = np.zeros((BLOCK, row_bytes), dtype=np.uint8)
        # A try repeats the same ticks, so the best time of each tick is what it takes undisturbed.
        self._seconds = np.full((2, _TICKS), np.inf)

    def run(self) -> None:
        """Step the world with random actions, and write all windows block by block."""
        world, clock = self._world, self._clock
        world.reset(np.array([0]))
        self._lived = 0
        for tick in range(-_WARM_UP_TICKS, _TICKS):
            start = clock()
            world.step(self._actions[tick % 2])
            between = clock()
            rows = world.list_rows_by_cell()
            for first in range(0, len(rows), BLOCK):
                block = rows[first : first + BLOCK]
                world.observe_rows(block, self._windows[: len(block)])
            times = between - start, clock() - between
            if tick >= 0:
                self._seconds[:, tick] = np.minimum(self._seconds[:, tick], times)
                self._lived += len(rows)

    def get_rate(self) -> LargeWorldRate:
        """Return the times of all tries so far."""
        stepping, observing = (1e9 * self._seconds.sum(axis=1) / self._lived).tolist()
        total = stepping + observing
        return LargeWorldRate(self._lived / _TICKS, stepping, total, self._set_up_s)


def measure_large_world(
    agents: int, threads: int = 1, clock: Callable[[], float] = time.process_time
) -> LargeWorldRate:
    """Step one world of many agents with random actions, and write all windows block by block.

    Args:
        agents: Number of initial agents.
        threads: Threads that share the world.
        clock: Returns seconds: by default of processor time, which other load disturbs less. Several
            threads need `time.perf_counter`.
    """
    trial = LargeWorldTrial(agents, threads, clock)
    for _ in range(min(20, max(2, _LEAST_AGENT_STEPS // (_TICKS * agents)))):
        trial.run()
    return trial.get_rate()


def measure_threads(agents: int) -> dict[str, float]:
    """Measure one world on one thread and on two, in turn, by the clock on the wall.

    Of each tick the best of many tries counts, because a tick on two threads is disturbed whenever one
    of two processors has other work.

    Args:
        agents: Number of initial agents.

    Returns:
        `agents`, nanoseconds per agent-step of `one_ns` and `two_ns`, and their `ratio`.
    """
    trials = [LargeWorldTrial(agents, threads, time.perf_counter) for threads in (1, 2)]
    for _ in range(_THREADED_TRIES):
        for trial in trials:
            trial.run()
    alone_ns, shared_ns = (trial.get_rate().ns_per_agent_step for trial in trials)
    ratio = alone_ns / shared_ns
    return {"agents": agents, "one_ns": alone_ns, "two_ns": shared_ns, "ratio": ratio}


def measure_walls() -> dict[str, float]:
    """Return the seconds that it takes to set up a large grid with many walls."""
    generator = np.random.default_rng(0)
    cells = np.argwhere(generator.random((WALLED_SIZE, WALLED_SIZE)) < WALL_FRACTION).tolist()
    settings = {
        "grid_size": WALLED_SIZE,
        "manual_wall_positions": cells,
        "n_initial_active_type_1_prey": 1000,
    }
    start = time.perf_counter()
    build_world("savanna", settings, 1).reset(np.array([0]))
    seconds = time.perf_counter() - start
    return {"size": WALLED_SIZE, "walls": len(cells), "seconds": seconds}


def bench_large_savanna() -> dict[str, Any]:
    """Measure worlds of 1,000 to 1,000,000 agents, and one on two threads.

    Returns:
        Figures of `LargeWorldRate` `by_agents`, in processor time, and the longest of their times
        per agent-step in multiples of the shortest (`slowest_to_fastest`); the `ratio` of two
        `threads` to one; bytes of `memory`; and the time to set up a grid with `walls`.
    """
    by_agents = [{"agents": n, **measure_large_world(n)._asdict()} for n in AGENT_COUNTS]
    times = [row["ns_per_agent_step"] for row in by_agents]
    return {
        "block": BLOCK,
        "by_agents": by_agents,
        "slowest_to_fastest": max(times) / min(times),
        "threads": measure_threads(THREADED_AGENTS),
        "memory": describe_memory(Savanna())._asdict(),
        "walls": measure_walls(),
    }


def bench_adapter() -> dict[str, float]:
    """Measure the PettingZoo adapter with default settings and random actions.

    Returns:
        `agents` per step, and agent-steps per second by `dictionaries` and by `arrays`.
    """
    moves = np.random.default_rng(0).integers(0, 9, 100_003)
    best = {"agents": 0.0, "dictionaries": 0.0, "arrays": 0.0}
    for kind in ("dictionaries", "arrays"):
        env = make_parallel("savanna")
        for _ in range(_ADAPTER_TRIES + 1):  # the first warms up
            env.reset(seed=0)
            seconds, lived = 0.0, 0
            for _ in range(_ADAPTER_STEPS):
                if not env.agents:
                    env.reset()
                n_agents = len(env.agents)
                chosen = moves.take(range(lived, lived + n_agents), mode="wrap")
                actions: Any = chosen
                if kind == "dictionaries":
                    actions = dict(zip(env.agents, chosen.tolist(), strict=True))
                step = env.step if kind == "dictionaries" else env.step_arrays
                start = time.perf_counter()
                step(actions)
                seconds += time.perf_counter() - start
                lived += n_agents
            best[kind] = max(best[kind], lived / seconds)
            best["agents"] = lived / _ADAPTER_STEPS
    return best
