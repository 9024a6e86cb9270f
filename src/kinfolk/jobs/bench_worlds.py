"""How fast worlds run, with births and deaths going on, beside the same code un-compiled."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from kinfolk.jobs.uncompiled import uncompiled
from kinfolk.worlds import build

WORLD_COUNTS = (1, 16, 256, 4096)
AGENT_COUNTS = (10, 100, 1000)
GRIDS = (25, 100, 500)
HEADLINE_WORLDS = (
    64  # a batch that stays in the cache; `by_worlds` shows larger ones, which are slower
)
THREADED_WORLDS = 256  # enough that handing out the work costs little
_TICKS = 100
_REPEATS = 3
_DRAWN = 16  # sets of random actions, used in turn, so that drawing them costs nothing


class Rate(NamedTuple):
    """What a batch did per second, in the best of some tries: others only add noise."""

    rules: float  # agent-steps/s, stepping only
    whole: float  # agent-steps/s, stepping and observing
    alive: float  # agents per world, on average
    births: int
    bytes_per_world: int


def scene(agents: int = 60, grid: int | None = None) -> dict[str, Any]:
    """A savanna on which a population of about twice `agents` lives on under random actions."""
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


def measure(
    settings: dict[str, Any],
    worlds: int,
    observation: str = "compact",
    threads: int = 1,
    ticks: int = _TICKS,
    repeats: int = _REPEATS,
) -> Rate:
    """Step and observe `worlds` savannas with random actions; ended ones begin again."""
    world = build("savanna", {**settings, "observation": observation}, worlds, threads=threads)
    places = worlds * world.spec.rows
    drawn = np.random.default_rng(0).integers(0, 9, (_DRAWN, places, 1))
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
            world.step(drawn[tick % _DRAWN])
            between = time.perf_counter()
            world.observe(shown)
            stop = time.perf_counter()
            stepping += between - start
            observing += stop - between
            lived += int(world.columns.alive.sum())
            ended = np.flatnonzero(world.done)
            if len(ended):
                births += _births(world)[ended].sum()
                world.reset(np.arange(episode, episode + len(ended)), ended)
                episode += len(ended)
        births += _births(world).sum()
        best = [max(best[0], lived / stepping), max(best[1], lived / (stepping + observing))]
        agent_steps, steps = agent_steps + lived, steps + ticks
    size = sum(array.nbytes for array in world.snapshot().values())
    return Rate(best[0], best[1], agent_steps / steps / worlds, int(births), size // worlds)


def _births(world: Any) -> Any:
    counters = world.counters()
    return counters["spawned_predators"] + counters["spawned_prey"]


def reference() -> dict[str, float]:
    """What this interpreter does with a few worlds; run un-compiled for the reference."""
    rate = measure(scene(), 1, "float32", ticks=12, repeats=1)
    return {"rules": rate.rules, "float32": rate.whole}


def bench_worlds() -> dict[str, Any]:
    """The headline, the ratio to un-compiled code, and how the cost grows."""
    plain = uncompiled("kinfolk.jobs.bench_worlds", "reference")
    compact = measure(scene(), HEADLINE_WORLDS)
    planes = measure(scene(), HEADLINE_WORLDS, "float32")
    one_thread = measure(scene(), THREADED_WORLDS)
    two_threads = measure(scene(), THREADED_WORLDS, threads=2)
    return {
        "worlds": HEADLINE_WORLDS,
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
        "by_worlds": [_point("worlds", n, measure(scene(), n)) for n in WORLD_COUNTS],
        "by_agents": [
            _point("agents", n, measure(scene(n), max(1, 4096 // n))) for n in AGENT_COUNTS
        ],
        "by_grid": [_point("grid", n, measure(scene(60, n), 32)) for n in GRIDS],
    }


def _point(name: str, value: int, rate: Rate) -> dict[str, float]:
    return {
        name: value,
        "alive_per_world": rate.alive,
        "ns_per_agent_step": 1e9 / rate.whole,
        "ns_rules": 1e9 / rate.rules,
        "bytes_per_world": rate.bytes_per_world,
    }
