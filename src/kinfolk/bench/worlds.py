"""Measure the throughput of savanna and CogsGuard, next to the same code without its compiler."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any, NamedTuple

import numpy as np

from kinfolk.worlds import build_world


def run_uncompiled(module: str, function: str) -> dict[str, Any]:
    """Run a function that returns plain values in a process whose kernels are plain Python."""
    code = f"import json; from {module} import {function}; print(json.dumps({function}()))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


SAVANNA_WORLD_COUNTS = (1, 16, 256, 4096)

SAVANNA_AGENT_COUNTS = (10, 100, 1000)

GRID_SIZES = (25, 100, 500)

SAVANNA_WORLDS = (
    64  # a batch that stays in the cache; `by_worlds` shows larger ones, which are slower
)

THREADED_WORLDS = 256  # enough that handing out the work costs little

_SAVANNA_TICKS = 100

_REPEATS = 3

_ACTION_SETS = 16  # sets of random actions, used in turn, so that drawing them costs nothing


class SavannaRate(NamedTuple):
    """Rates of a batch of savannas, the best of some tries: other load only slows."""

    rules: float  # agent-steps/s, stepping only
    whole: float  # agent-steps/s, stepping and observing
    alive: float  # agents per world, on average
    births: int
    bytes_per_world: int


def savanna_settings(agents: int = 60, grid: int | None = None) -> dict[str, Any]:
    """Return rules under which about twice `agents` live on with random actions."""
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
) -> SavannaRate:
    """Step and observe savannas with random actions; those that ended are reset.

    Args:
        settings: Rules of the savanna.
        worlds: Worlds side by side.
        observation: Format of observations.
        threads: Threads that step the worlds.
        ticks: Ticks per try.
        repeats: Tries, after one that warms up.
    """
    world = build_world(
        "savanna", {**settings, "observation": observation}, worlds, threads=threads
    )
    places = worlds * world.spec.rows
    drawn = np.random.default_rng(0).integers(0, 9, (_ACTION_SETS, places, 1))
    shown = np.zeros((places, world.spec.row_bytes), dtype=np.uint8)
    best = [0.0, 0.0]
    agent_steps = steps = births = episode = 0
    for _ in range(repeats + 1):  # the first try warms up
        world.reset(np.arange(episode, episode + worlds))
        episode += worlds
        stepping = observing = 0.0
        lived = 0
        for tick in range(ticks):
            start = time.perf_counter()
            world.step(drawn[tick % _ACTION_SETS])
            between = time.perf_counter()
            world.observe(shown)
            stop = time.perf_counter()
            stepping += between - start
            observing += stop - between
            lived += int(world.columns.alive.sum())
            ended = np.flatnonzero(world.done)
            if len(ended):
                births += _count_births(world)[ended].sum()
                world.reset(np.arange(episode, episode + len(ended)), ended)
                episode += len(ended)
        births += _count_births(world).sum()
        best = [max(best[0], lived / stepping), max(best[1], lived / (stepping + observing))]
        agent_steps, steps = agent_steps + lived, steps + ticks
    size = sum(array.nbytes for array in world.snapshot().values())
    return SavannaRate(best[0], best[1], agent_steps / steps / worlds, int(births), size // worlds)


def _count_births(world: Any) -> Any:
    counters = world.counters()
    return counters["spawned_predators"] + counters["spawned_prey"]


def savanna_reference() -> dict[str, float]:
    """Measure one world for a few ticks; run un-compiled for the reference."""
    rate = measure_savanna(savanna_settings(), 1, "float32", ticks=12, repeats=1)
    return {"rules": rate.rules, "float32": rate.whole}


def bench_savanna() -> dict[str, Any]:
    """Measure the throughput, the ratio to un-compiled code, and how the cost grows."""
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
        "by_worlds": [
            _savanna_row("worlds", n, measure_savanna(savanna_settings(), n))
            for n in SAVANNA_WORLD_COUNTS
        ],
        "by_agents": [
            _savanna_row("agents", n, measure_savanna(savanna_settings(n), max(1, 4096 // n)))
            for n in SAVANNA_AGENT_COUNTS
        ],
        "by_grid": [
            _savanna_row("grid", n, measure_savanna(savanna_settings(60, n), 32))
            for n in GRID_SIZES
        ],
    }


def _savanna_row(name: str, value: int, rate: SavannaRate) -> dict[str, float]:
    """Return the cost per agent-step at one point of a curve.

    Args:
        name: What is varied.
        value: Its value.
        rate: What was measured.
    """
    return {
        name: value,
        "alive_per_world": rate.alive,
        "ns_per_agent_step": 1e9 / rate.whole,
        "ns_rules": 1e9 / rate.rules,
        "bytes_per_world": rate.bytes_per_world,
    }


COGSGUARD_WORLDS = 64  # a batch that stays in the cache

COGSGUARD_WORLD_COUNTS = (1, 16, 256)

COGSGUARD_AGENT_COUNTS = (1, 8, 24)

COGSGUARD_MAPS = ("tutorial", "arena", "machina_1")

_COGSGUARD_TICKS, _COGSGUARD_REPEATS = 200, 3

_COGSGUARD_ACTION_SETS = (
    16  # sets of random actions, used in turn, so that drawing them costs nothing
)

# Agent-steps per second of the retired original's engine on one such core, from its note.
COGSGUARD_ORIGINAL = (9_000, 31_000)


def measure_cogsguard(
    worlds: int,
    preset: str = "arena",
    agents: int = 8,
    ticks: int = _COGSGUARD_TICKS,
    repeats: int = _COGSGUARD_REPEATS,
) -> dict[str, float]:
    """Return agent-steps per second with random actions, the best of some tries.

    Args:
        worlds: Worlds side by side.
        preset: Preset of CogsGuard.
        agents: Agents per world.
        ticks: Ticks per try.
        repeats: Tries, after one that warms up.
    """
    world = build_world("cogsguard", {"agents": agents}, worlds, preset)
    places = worlds * world.spec.rows
    rng = np.random.default_rng(0)
    drawn = np.stack(
        [
            rng.integers(0, 5, (_COGSGUARD_ACTION_SETS, places)),
            np.zeros((_COGSGUARD_ACTION_SETS, places)),
        ],
        axis=2,
    )
    drawn = np.ascontiguousarray(drawn.astype(np.int64))
    shown = np.zeros((places, world.spec.row_bytes), dtype=np.uint8)
    rules = whole = 0.0
    for again in range(repeats + 1):  # the first try warms up
        world.reset(np.arange(worlds) + again * worlds)
        stepping = observing = 0.0
        for tick in range(ticks):
            start = time.perf_counter()
            world.step(drawn[tick % _COGSGUARD_ACTION_SETS])
            between = time.perf_counter()
            world.observe(shown)
            stepping += between - start
            observing += time.perf_counter() - between
        rules = max(rules, ticks * places / stepping)
        whole = max(whole, ticks * places / (stepping + observing))
    size = sum(array.nbytes for array in world.snapshot().values())
    return {"rules": rules, "whole": whole, "bytes_per_world": size / worlds}


def cogsguard_reference() -> dict[str, float]:
    """Measure one world for a few ticks; run un-compiled for the reference."""
    return measure_cogsguard(1, ticks=20, repeats=1)


def bench_cogsguard() -> dict[str, Any]:
    """Measure the throughput, the ratio to un-compiled code, and how the cost grows."""
    plain, arena = (
        run_uncompiled("kinfolk.bench.worlds", "cogsguard_reference"),
        measure_cogsguard(COGSGUARD_WORLDS),
    )
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
