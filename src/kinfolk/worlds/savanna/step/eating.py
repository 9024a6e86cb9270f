"""Eating: what one body gains, and what a prey takes from the grass under it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kinfolk.core.arrays import Floats, Ints
from kinfolk.core.jit import inline
from kinfolk.worlds.savanna.events import EAT, EventBuffer, record_event
from kinfolk.worlds.savanna.rules import SavannaRules
from kinfolk.worlds.savanna.state import ATE, GRASS, GRASS_BITES, PREY, WASTED, SavannaState
from kinfolk.worlds.savanna.step.occupancy import OccupancyArrays, refresh_occupied_cell


class EatingArrays(NamedTuple):
    """The part of the state and of the rules that eating grass needs."""

    patch_in_cell: npt.NDArray[np.int32]
    grass_energy: Floats
    reward: Floats
    step_event: Ints
    uid: Ints
    counters: Ints
    energy_accounts: Floats
    max_bite: float
    transfer_efficiency: float
    max_energy: float


@inline
def get_eating_arrays(state: SavannaState, rules: SavannaRules) -> EatingArrays:
    """The table of a state."""
    return EatingArrays(
        state.patch_in_cell,
        state.grass_energy,
        state.reward,
        state.step_event,
        state.uid,
        state.counters,
        state.energy_accounts,
        rules.max_grass_bite,
        rules.transfer_efficiency,
        rules.max_energy[PREY],
    )


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
    """Feed a body; what is lost on the way, or does not fit in, is wasted."""
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
    """A prey bites off the grass on its cell."""
    patch = eating.patch_in_cell[w, cell]
    eating.reward[w, row] = meal_reward
    eating.step_event[w, row] = ATE
    bite = min(eating.grass_energy[w, patch], eating.max_bite)
    rest = eating.grass_energy[w, patch] - bite
    eating.grass_energy[w, patch] = rest
    occupancy.visible_energy[w, GRASS, cell] = rest
    got = add_energy(
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
    record_event(events, w, EAT, eating.uid[w, row], patch, got)
