"""How many agent-steps per second does the savanna run, and Mesa's wolf-sheep model? Measure both by turns.

    pip install mesa
    python examples/beside_mesa.py

Both are predators, prey and grass on a grid, in which agents move at random, eat, breed and die: Mesa's example
as it ships, its grid enlarged to hold as many animals, and the savanna in one world and in 64 worlds side by side, on one core.
The rules differ in detail, so this compares the cost of a step of a living animal, not of one model. Actions of the
savanna are drawn within the measured time. Times are of the processor; the best of the turns counts.
"""

import time
from collections.abc import Callable

import numpy as np

from kinfolk.worlds import build_world

TURNS, TICKS = 5, 40
AGENTS = 1500


def step_savanna(worlds: int, agents: int) -> tuple[int, float]:
    """Run a savanna, and return steps of living agents and processor seconds.

    Args:
        worlds: Worlds side by side.
        agents: Animals of all worlds at the start.
    """
    each = agents // worlds
    settings = {
        "grid_size": max(12, round((4.0 * each) ** 0.5)),
        "n_initial_active_type_1_predator": each // 4,
        "n_initial_active_type_1_prey": each - each // 4,
        "initial_num_grass": 2 * each,
        "manual_wall_positions": [],
        "max_rows": 4 * each,
        "observation": "compact",
    }
    world = build_world("savanna", settings, worlds)
    world.reset(np.arange(worlds))
    draw = np.random.default_rng(0)
    rows, lived = worlds * world.spec.rows, 0
    start = time.process_time()
    for _ in range(TICKS):
        lived += int(world.columns.alive.sum())
        world.step(draw.integers(0, 9, (rows, 1)))
    return lived, time.process_time() - start


def step_mesa(agents: int) -> tuple[int, float]:
    """Run Mesa's wolf-sheep model, and return steps of living animals and processor seconds."""
    from mesa.examples.advanced.wolf_sheep.agents import Sheep, Wolf
    from mesa.examples.advanced.wolf_sheep.model import WolfSheep
    from mesa.experimental.devs import ABMSimulator

    side = round((4.0 * agents) ** 0.5)
    simulator = ABMSimulator()
    model = WolfSheep(
        side, side, agents - agents // 4, agents // 4, seed=0, simulator=simulator
    )  # fmt: skip
    lived = 0
    start = time.process_time()
    for _ in range(TICKS):
        lived += len(model.agents_by_type[Sheep]) + len(model.agents_by_type[Wolf])
        simulator.run_for(1)
    return lived, time.process_time() - start


def main() -> None:
    """Measure by turns, and print steps per second and ratios."""
    kinds: dict[str, Callable[[], tuple[int, float]]] = {
        "Mesa's wolf-sheep model": lambda: step_mesa(AGENTS),
        "savanna, one world": lambda: step_savanna(1, AGENTS),
        "savanna, 64 worlds": lambda: step_savanna(64, 64 * 60),
    }
    rates: dict[str, list[float]] = {name: [] for name in kinds}
    for turn in range(TURNS + 1):
        for name, run in kinds.items():
            lived, seconds = run()
            if turn:  # the first turn compiles
                rates[name].append(lived / seconds)
    reference = max(rates["Mesa's wolf-sheep model"])
    for name, found in rates.items():
        best = max(found)
        print(f"{name:25} {best:12,.0f} agent-steps per second, {best / reference:7,.0f} times")


if __name__ == "__main__":
    main()
