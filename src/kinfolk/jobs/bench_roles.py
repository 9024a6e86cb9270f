"""How fast roles play whole games: perception, searches, behaviours, rules and the loop together.

Late ticks count as much as early ones: much is known then, and searches fail.
"""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

from kinfolk.jobs.uncompiled import uncompiled
from kinfolk.play.episode import Play
from kinfolk.play.slots import Slot, slot_table
from kinfolk.policies.resolve import build, resolve
from kinfolk.worlds import build as build_world

LINEUP = "kin://roles?miner=3&scout=1&aligner=2&scrambler=2"
SMART = "kin://smart"
PARTS = 5  # a game is timed in so many parts
WORLD_COUNTS = (1, 8, 32, 128)
AGENT_COUNTS = (1, 8, 24)
# Agent-steps per second of the retired original's scripted roles, from its note.
ORIGINAL = (50, 90)


def measure(
    preset: str, worlds: int, uri: str = LINEUP, ticks: int | None = None, **settings: Any
) -> dict[str, Any]:
    """Play `worlds` games side by side to their end, or for so many ticks."""
    game = build_world("cogsguard", settings, worlds, preset)
    policy = build(resolve(uri), game.spec)
    play = Play(game, [Slot("cogs", policy)], slot_table(game.spec, ["cogs"]), 7, range(worlds))
    play.tick()  # reads maps and kernels in
    total = (ticks or game.spec.max_ticks) - 1
    stamps, held = [time.perf_counter()], 0.0
    for part in range(PARTS):
        for _ in range(total * part // PARTS, total * (part + 1) // PARTS):
            for result in play.tick():
                held += result.counters["junction_ticks_team_0"] / worlds
        stamps.append(time.perf_counter())
    steps = total * worlds * game.spec.rows
    spent = [b - a for a, b in pairwise(stamps)]
    return {
        "worlds": worlds,
        "agents": game.spec.rows,
        "ticks": total + 1,
        "agent_steps_per_s": steps / sum(spent),
        "by_part": [steps / PARTS / seconds for seconds in spent],
        "junction_ticks": held,
    }


def reference() -> dict[str, Any]:
    """A few ticks of one small game; run un-compiled for the reference."""
    return measure("arena", 1, ticks=21)


def bench_roles() -> dict[str, Any]:
    """Whole games on both maps, the ratio to un-compiled code, and how the cost grows."""
    plain = uncompiled("kinfolk.jobs.bench_roles", "reference")
    arena, machina = measure("arena", 32), measure("machina_1", 8)
    fast = arena["agent_steps_per_s"]
    return {
        "lineup": LINEUP,
        "arena": arena,
        "machina_1": machina,
        "smart": measure("arena", 32, SMART),
        "edition_a": measure("edition_a", 32),
        "uncompiled": plain["agent_steps_per_s"],
        "ratio": fast / plain["agent_steps_per_s"],
        "original": ORIGINAL,
        "by_worlds": [measure("arena", n, SMART) for n in WORLD_COUNTS],
        "by_agents": [measure("arena", 16, SMART, agents=n) for n in AGENT_COUNTS],
        "by_map": [
            {"map": name, **measure(name, 16, SMART, ticks=500)}
            for name in ("tutorial", "arena", "machina_1")
        ],
    }
