"""Measure the savanna of whichever revision of kinfolk is imported, for `revisions`.

Run as a script with the source folder of a revision as `PYTHONPATH`; it prints JSON. So it uses only
what all revisions have: `build_world` and `make_parallel`.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np

from kinfolk.worlds import build_world
from kinfolk.worlds.adapters import make_parallel

_WORLDS, _AGENTS, _TICKS, _STEPS, _TRIES = 64, 60, 60, 200, 12
_SIZE = 30


def measure_batch(observation: str) -> tuple[float, float]:
    """Return agent-steps per second without and with observations, of 64 worlds.

    The rules are those of `kinfolk bench worlds`. The best of several tries counts, tick by tick.
    """
    predators = _AGENTS // 8
    settings: dict[str, Any] = {
        "grid_size": _SIZE,
        "n_initial_active_type_1_predator": predators,
        "n_initial_active_type_1_prey": _AGENTS - predators,
        "initial_num_grass": 4 * _AGENTS,
        "energy_gain_per_step_grass": 0.2,
        "energy_loss_per_step_predator": 0.1,
        "manual_wall_positions": [],
        "max_rows": 6 * _AGENTS,
        "observation": observation,
    }
    world = build_world("savanna", settings, _WORLDS)
    shown = np.zeros((_WORLDS * world.spec.rows, world.spec.row_bytes), dtype=np.uint8)
    actions = np.random.default_rng(0).integers(0, 9, (16, len(shown), 1))
    # A try repeats the same ticks, so the best time of each tick is what it takes without the
    # interruptions of a busy machine.
    seconds = np.full((2, _TICKS), np.inf)
    lived = 0
    for _ in range(_TRIES):
        world.reset(np.arange(_WORLDS))
        lived = 0
        for tick in range(_TICKS):
            start = time.perf_counter()
            world.step(actions[tick % 16])
            between = time.perf_counter()
            world.observe(shown)
            times = between - start, time.perf_counter() - between
            seconds[:, tick] = np.minimum(seconds[:, tick], times)
            lived += int(world.columns.alive.sum())
            ended = np.flatnonzero(world.done)
            if len(ended):
                world.reset(np.arange(len(ended)), ended)
    stepping, observing = seconds.sum(axis=1)
    return lived / stepping, lived / (stepping + observing)


def measure_adapter() -> float:
    """Return agent-steps per second of the PettingZoo adapter with default settings."""
    env = make_parallel("savanna")
    moves = np.random.default_rng(0).integers(0, 9, 50_000).tolist()
    seconds, lived = np.full(_STEPS, np.inf), 0
    for _ in range(_TRIES):
        env.reset(seed=0)
        lived = 0
        for step in range(_STEPS):
            if not env.agents:
                env.reset()
            first = lived % 40_000
            chosen = moves[first : first + len(env.agents)]
            actions = dict(zip(env.agents, chosen, strict=True))
            start = time.perf_counter()
            env.step(actions)
            seconds[step] = min(seconds[step], time.perf_counter() - start)
            lived += len(actions)
    return float(lived / seconds.sum())


if __name__ == "__main__":
    rules_rate, compact_rate = measure_batch("compact")
    rates = {
        "rules": rules_rate,
        "compact": compact_rate,
        "float32": measure_batch("float32")[1],
        "pettingzoo": measure_adapter(),
    }
    sys.stdout.write(json.dumps(rates))
