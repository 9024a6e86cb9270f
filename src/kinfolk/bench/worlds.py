"""Measure the throughput of savanna and CogsGuard, next to the same code without its compiler."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any, NamedTuple

import numpy as np

from kinfolk.core.arrays import Ints
from kinfolk.worlds import build_world
from kinfolk.worlds.base import World


def run_uncompiled(module: str, function: str) -> dict[str, Any]:
    """Run a function in a new process whose kernels are plain Python, and return its result.

    Args:
        module: Import path of the function's module.
        function: Name of a function without arguments that returns JSON values.
    """
    code = f"import json; from {module} import {function}; print(json.dumps({function}()))"
    words, environment = [sys.executable, "-c", code], {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(words, env=environment, capture_output=True, check=True)
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


SAVANNA_WORLD_COUNTS = (1, 16, 256, 4096)
SAVANNA_AGENT_COUNTS = (10, 100, 1000)
GRID_SIZES = (25, 100, 500)
SAVANNA_WORLDS = 64  # stays in the cache; `by_worlds` shows larger ones, which are slower
THREADED_WORLDS = 256  # enough that handing out the work costs little
COGSGUARD_WORLDS = 64  # stays in the cache
COGSGUARD_WORLD_COUNTS = (1, 16, 256)
COGSGUARD_AGENT_COUNTS = (1, 8, 24)
COGSGUARD_MAPS = ("tutorial", "arena", "machina_1")
# Agent-steps per second of the engine of cogames on one such core, from the note of that project.
COGSGUARD_ORIGINAL = (9_000, 31_000)
_SAVANNA_TICKS, _COGSGUARD_TICKS, _REPEATS = 100, 200, 3
_ACTION_SETS = 16  # sets of random actions, used in turn, so that drawing them costs nothing


class WorldRate(NamedTuple):
    """Rates of a batch of worlds, the best of several tries, because other load only slows."""

    rules: float  # agent-steps/s, stepping only
    whole: float  # agent-steps/s, stepping and observing
    alive: float  # agents per world, on average
    births: int
    bytes_per_world: float


def measure_world(world: World, actions: Ints, ticks: int, repeats: int) -> WorldRate:
    """Step and observe a batch of worlds, resetting those that ended, and return its rates.

    Args:
        world: Batch of worlds to measure.
        actions: `[sets, batch rows, heads]`; the sets are used in turn.
        ticks: Ticks per try.
        repeats: Tries, after one that warms up.
    """
    n_worlds = world.n_worlds
    shown = np.zeros((n_worlds * world.spec.rows, world.spec.row_bytes), dtype=np.uint8)
    rules = whole = 0.0
    agent_steps = births = episode = 0
    for _ in range(repeats + 1):  # the first try warms up
        world.reset(np.arange(episode, episode + n_worlds))
        episode += n_worlds
        stepping = observing = 0.0
        lived = 0
        for tick in range(ticks):
            start = time.perf_counter()
            world.step(actions[tick % len(actions)])
            between = time.perf_counter()
            world.observe(shown)
            stop = time.perf_counter()
            stepping += between - start
            observing += stop - between
            lived += int(world.columns.alive.sum())
            ended = np.flatnonzero(world.done)
            if len(ended):
                births += _count_births(world, ended)
                world.reset(np.arange(episode, episode + len(ended)), ended)
                episode += len(ended)
        births += _count_births(world, np.arange(n_worlds))
        rules = max(rules, lived / stepping)
        whole = max(whole, lived / (stepping + observing))
        agent_steps += lived
    alive = agent_steps / ((repeats + 1) * ticks) / n_worlds
    size = sum(array.nbytes for array in world.snapshot().values())
    return WorldRate(rules, whole, alive, births, size / n_worlds)


def _count_births(world: World, worlds: Ints) -> int:
    """Return how many agents were born in some worlds; 0 if the world does not count births."""
    counters = world.counters()
    names = ("spawned_predators", "spawned_prey")
    return sum(int(counters[name][worlds].sum()) for name in names if name in counters)


def savanna_settings(agents: int = 60, grid: int | None = None) -> dict[str, Any]:
    """Return rules of a savanna in which about twice `agents` agents survive random actions.

    Args:
        agents: Number of initial agents.
        grid: Side of the grid in cells; None derives it from the number of agents.
    """
    size = grid or max(12, round((15 * agents) ** 0.5))
    predators = max(1, agents // 8)
    return {
        "grid_size": size,
        "n_initial_active_type_1_predator": predators,
        "n_initial_active_type_1_prey": agents - predators,
        "initial_num_grass": min(4 * agents, size * size // 2),
        "energy_gain_per_step_grass": 0.2,
        "energy_loss_per_step_predator": 0.1,
        "manual_wall_positions": [],
        "max_rows": 6 * agents,
    }


def measure_savanna(
    settings: dict[str, Any],
    worlds: int,
    observation: str = "compact",
    threads: int = 1,
    ticks: int = _SAVANNA_TICKS,
    repeats: int = _REPEATS,
) -> WorldRate:
    """Measure savannas that are played with random actions.

    Args:
        settings: Rules of the savanna.
        worlds: Worlds side by side.
        observation: Format of observations.
        threads: Threads that step the worlds.
        ticks: Ticks per try.
        repeats: Tries, after one that warms up.
    """
    changed = {**settings, "observation": observation}
    world = build_world("savanna", changed, worlds, threads=threads)
    rows = worlds * world.spec.rows
    actions = np.random.default_rng(0).integers(0, 9, (_ACTION_SETS, rows, 1))
    return measure_world(world, actions, ticks, repeats)


def savanna_reference() -> dict[str, float]:
    """Measure one savanna for a few ticks; `bench_savanna` runs it without compiled kernels."""
    rate = measure_savanna(savanna_settings(), 1, "float32", ticks=12, repeats=1)
    return {"rules": rate.rules, "float32": rate.whole}


def bench_savanna() -> dict[str, Any]:
    """Measure the throughput of the savanna.

    Returns:
        Sizes (`worlds`, `alive_per_world`, `births`); agent-steps per second without observations
        (`rules`) and with either format (`compact`, `float32`); the same without compiled kernels
        (`uncompiled`) and the ratios to it; rates of one and two `threads`; and costs by size
        (`by_worlds`, `by_agents`, `by_grid`).
    """
    plain = run_uncompiled("kinfolk.bench.worlds", "savanna_reference")
    compact = measure_savanna(savanna_settings(), SAVANNA_WORLDS)
    planes = measure_savanna(savanna_settings(), SAVANNA_WORLDS, "float32")
    one_thread = measure_savanna(savanna_settings(), THREADED_WORLDS)
    two_threads = measure_savanna(savanna_settings(), THREADED_WORLDS, threads=2)
    return {
        "worlds": SAVANNA_WORLDS,
        "alive_per_world": compact.alive,
        "births": compact.births,
        "rules": compact.rules,
        "compact": compact.whole,
        "float32": planes.whole,
        "uncompiled": plain,
        "ratio_rules": compact.rules / plain["rules"],
        "ratio_float32": planes.whole / plain["float32"],
        "threads": {
            "worlds": THREADED_WORLDS,
            "one": one_thread.whole,
            "two": two_threads.whole,
            "ratio": two_threads.whole / one_thread.whole,
        },
        "by_worlds": [_savanna_point("worlds", n, n) for n in SAVANNA_WORLD_COUNTS],
        "by_agents": [
            _savanna_point("agents", n, max(1, 4096 // n), agents=n) for n in SAVANNA_AGENT_COUNTS
        ],
        "by_grid": [_savanna_point("grid", n, 32, grid=n) for n in GRID_SIZES],
    }


def _savanna_point(name: str, value: int, worlds: int, **size: int) -> dict[str, float]:
    """Measure the cost per agent-step of a savanna of one size.

    Args:
        name: Name of the size that is varied, a key of the result.
        value: Value of that size.
        worlds: Worlds side by side.
        size: Arguments of `savanna_settings`.

    Returns:
        The size, `alive_per_world`, nanoseconds per agent-step with and without observations
        (`ns_per_agent_step`, `ns_rules`), and `bytes_per_world`.
    """
    rate = measure_savanna(savanna_settings(**size), worlds)
    return {
        name: value,
        "alive_per_world": rate.alive,
        "ns_per_agent_step": 1e9 / rate.whole,
        "ns_rules": 1e9 / rate.rules,
        "bytes_per_world": int(rate.bytes_per_world),
    }


def measure_cogsguard(
    worlds: int,
    preset: str = "arena",
    agents: int = 8,
    ticks: int = _COGSGUARD_TICKS,
    repeats: int = _REPEATS,
) -> dict[str, float]:
    """Measure CogsGuard worlds that are played with random actions.

    Args:
        worlds: Worlds side by side.
        preset: Preset of CogsGuard.
        agents: Agents per world.
        ticks: Ticks per try.
        repeats: Tries, after one that warms up.

    Returns:
        Agent-steps per second without and with observations (`rules`, `whole`), and
        `bytes_per_world`.
    """
    world = build_world("cogsguard", {"agents": agents}, worlds, preset)
    rows = worlds * world.spec.rows
    actions = np.zeros((_ACTION_SETS, rows, 2), dtype=np.int64)  # a move, and no vibe
    actions[:, :, 0] = np.random.default_rng(0).integers(0, 5, (_ACTION_SETS, rows))
    rate = measure_world(world, actions, ticks, repeats)
    return {"rules": rate.rules, "whole": rate.whole, "bytes_per_world": rate.bytes_per_world}


def cogsguard_reference() -> dict[str, float]:
    """Measure one world for a few ticks; `bench_cogsguard` runs it without compiled kernels."""
    return measure_cogsguard(1, ticks=20, repeats=1)


def bench_cogsguard() -> dict[str, Any]:
    """Measure the throughput of CogsGuard.

    Returns:
        `worlds`, `agents` and the rates of `measure_cogsguard`; the same without compiled kernels
        (`uncompiled`) and the `ratio` to it; the range of cogames (`original`); and rates by size
        (`by_worlds`, `by_agents`, `by_map`).
    """
    plain = run_uncompiled("kinfolk.bench.worlds", "cogsguard_reference")
    arena = measure_cogsguard(COGSGUARD_WORLDS)
    return {
        "worlds": COGSGUARD_WORLDS,
        "agents": 8,
        **arena,
        "uncompiled": plain,
        "ratio": arena["whole"] / plain["whole"],
        "original": COGSGUARD_ORIGINAL,
        "by_worlds": [{"worlds": n, **measure_cogsguard(n)} for n in COGSGUARD_WORLD_COUNTS],
        "by_agents": [
            {"agents": n, **measure_cogsguard(COGSGUARD_WORLDS, agents=n)}
            for n in COGSGUARD_AGENT_COUNTS
        ],
        "by_map": [
            {"map": name, **measure_cogsguard(COGSGUARD_WORLDS, name)} for name in COGSGUARD_MAPS
        ],
    }
