"""Eating: what an agent gains from a meal, and how prey eat grass."""

from __future__ import annotations

from kinfolk.core.arrays import Floats
from kinfolk.core.jit import inline
from kinfolk.worlds.savanna.events import EAT, EventBuffer, record_event
from kinfolk.worlds.savanna.state import ATE, GRASS, GRASS_BITES, PREY, WASTED
from kinfolk.worlds.savanna.step.arrays import EatingArrays
from kinfolk.worlds.savanna.step.occupancy import OccupancyArrays, refresh_occupied_cell


@inline
def add_energy(
    energy: Floats,
    energy_accounts: Floats,
    w: int,
    row: int,
    bite: float,
    efficiency: float,
    max_energy: float,
) -> float:
    """Add a meal to an agent's energy; what is lost or does not fit counts as wasted.

    Args:
        energy: `[W, N]`, written.
        energy_accounts: `[W, ENERGY_ACCOUNTS]`, adds the wasted energy.
        w: World.
        row: Row of the eater.
        bite: Energy taken from the food.
        efficiency: Fraction that the eater gains.
        max_energy: Most energy that the eater can hold.

    Returns:
        The energy gained.
    """
    before: float = energy[w, row]
    after = before + bite * efficiency
    if after <= max_energy and efficiency == 1.0:
        energy[w, row] = after
        return bite
    after = min(after, max(before, max_energy))
    energy[w, row] = after
    energy_accounts[w, WASTED] += bite - (after - before)
    return after - before


@inline
def eat_grass(
    occupancy: OccupancyArrays,
    eating: EatingArrays,
    events: EventBuffer,
    cell_erasure: bool,
    w: int,
    row: int,
    cell: int,
    meal_reward: float,
) -> None:
    """Let a prey eat the grass on its cell.

    Args:
        occupancy: Writes `energy` and `visible_energy`.
        eating: Writes grass, reward, step event, counters and accounts.
        events: Buffer, appended to.
        cell_erasure: Quirk, see `refresh_occupied_cell`.
        w: World.
        row: Row of the prey.
        cell: Its cell, which has a patch of grass.
        meal_reward: Reward of the meal.
    """
    patch = eating.patch_in_cell[w, cell]
    eating.reward[w, row] = meal_reward
    eating.step_event[w, row] = ATE
    bite = min(eating.grass_energy[w, patch], eating.max_bite)
    remaining = eating.grass_energy[w, patch] - bite
    eating.grass_energy[w, patch] = remaining
    occupancy.visible_energy[w, GRASS, cell] = remaining
    gained = add_energy(
        occupancy.energy,
        eating.energy_accounts,
        w,
        row,
        bite,
        eating.transfer_efficiency,
        eating.max_energy,
    )
    refresh_occupied_cell(occupancy, cell_erasure, w, PREY, cell, row)
    eating.counters[w, GRASS_BITES] += 1
    record_event(events, w, EAT, eating.uid[w, row], patch, gained)
