"""How fast CogsGuard runs: rules and observations under random actions."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from kinfolk.jobs.uncompiled import uncompiled
from kinfolk.worlds import build

WORLDS = 64  # a batch that stays in the cache
WORLD_COUNTS = (1, 16, 256)
AGENT_COUNTS = (1, 8, 24)
MAPS = ("tutorial", "arena", "machina_1")
_TICKS, _REPEATS = 200, 3
_DRAWN = 16  # sets of random actions, used in turn, so that drawing them costs nothing
# Agent-steps per second of the retired original's engine on one such core, from its note.
ORIGINAL = (9_000, 31_000)


def measure(
    worlds: int,
    preset: str = "arena",
    agents: int = 8,
    ticks: int = _TICKS,
    repeats: int = _REPEATS,
) -> dict[str, float]:
    """Agent-steps per second, in the best of some tries: others only add noise."""
    world = build("cogsguard", {"agents": agents}, worlds, preset)
    places = worlds * world.spec.rows
    rng = np.random.default_rng(0)
    drawn = np.stack([rng.integers(0, 5, (_DRAWN, places)), np.zeros((_DRAWN, places))], axis=2)
    drawn = np.ascontiguousarray(drawn.astype(np.int64))
    shown = np.zeros((places, world.spec.row_bytes), dtype=np.uint8)
    rules = whole = 0.0
    for again in range(repeats + 1):  # the first try warms up
        world.reset(np.arange(worlds) + again * worlds)
        stepping = observing = 0.0
        for tick in range(ticks):
            start = time.perf_counter()
            world.step(drawn[tick % _DRAWN])
            between = time.perf_counter()
            world.observe(shown)
            stepping += between - start
            observing += time.perf_counter() - between
        rules = max(rules, ticks * places / stepping)
        whole = max(whole, ticks * places / (stepping + observing))
    size = sum(array.nbytes for array in world.snapshot().values())
    return {"rules": rules, "whole": whole, "bytes_per_world": size / worlds}


def reference() -> dict[str, float]:
    """What this interpreter does with one world; run un-compiled for the reference."""
    return measure(1, ticks=20, repeats=1)


def bench_cogs() -> dict[str, Any]:
    """The headline, the ratio to un-compiled code, and how the cost grows."""
    plain, arena = uncompiled("kinfolk.jobs.bench_cogs", "reference"), measure(WORLDS)
    return {
        "worlds": WORLDS,
        "agents": 8,
        **arena,
        "uncompiled": plain,
        "ratio": arena["whole"] / plain["whole"],
        "original": ORIGINAL,
        "by_worlds": [{"worlds": n, **measure(n)} for n in WORLD_COUNTS],
        "by_agents": [{"agents": n, **measure(WORLDS, agents=n)} for n in AGENT_COUNTS],
        "by_map": [{"map": name, **measure(WORLDS, name)} for name in MAPS],
    }
