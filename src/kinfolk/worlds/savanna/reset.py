"""Start of an episode: founders and grass on free cells.

Plain numpy: it runs once per episode, for all worlds that start together.
"""

from __future__ import annotations

import numpy as np

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import allocation_free_kernel
from kinfolk.core.random import randint
from kinfolk.worlds.savanna.codes import GRASS, NO_BIRTH_TICK, PREDATOR
from kinfolk.worlds.savanna.rules import SavannaRules
from kinfolk.worlds.savanna.state import INDEX_FIELDS, SavannaState

ZEROED_FIELDS = (
    *("tick", "done", "next_uid", "next_number", "active", "n_alive", "n_ended", "alive"),
    *("terminated", "truncated", "carcass", "reward", "energy", "age", "step_event"),
    *("death_cause", "kickbacks", "group", "x", "y", "number"),
    *("visible_energy", "counters", "energy_accounts"),
)


@allocation_free_kernel
def draw_cells(free: Ints, deck: Ints, keys: Ints, cells: Ints) -> None:
    """Draw distinct free cells for founders and grass.

    Args:
        free: Cells without a wall.
        deck: Scratch of the same length.
        keys: `[worlds]` random keys.
        cells: `[worlds, needed]`, written.
    """
    for i in range(keys.shape[0]):
        for j in range(free.shape[0]):
            deck[j] = free[j]
        for j in range(cells.shape[1]):
            other = j + randint(keys[i], j, deck.shape[0] - j)
            chosen = deck[other]
            deck[other] = deck[j]
            deck[j] = chosen
            cells[i, j] = chosen


def reset_worlds(
    state: SavannaState,
    rules: SavannaRules,
    founder_counts: Ints,
    worlds: Ints,
    keys: Ints,
    cells: Ints,
) -> None:
    """Start episodes: place predators of type 1 and 2, prey of type 1 and 2, then grass.

    Args:
        state: State of the batch, written.
        rules: Rules of the batch.
        founder_counts: `[4]`, founders of each species and type.
        worlds: Indices of the worlds to reset.
        keys: `[worlds]` random keys.
        cells: `[worlds, founders + grass]`, cells in that order.
    """
    for name in ZEROED_FIELDS:
        getattr(state, name)[worlds] = 0
    for name in INDEX_FIELDS:
        getattr(state, name)[worlds] = -1
    n_rows = state.uid.shape[1]
    state.last_birth_tick[worlds] = NO_BIRTH_TICK
    state.n_free[worlds] = n_rows
    state.free_rows[worlds] = np.arange(n_rows)[::-1]  # a stack: the lowest row is used first
    state.key[worlds] = keys
    column = worlds[:, None]
    first = 0
    for kind in range(4):
        k, count = kind // 2, int(founder_counts[kind])
        rows = np.arange(first, first + count)
        start_cells = cells[:, first : first + count]
        state.uid[column, rows] = rows
        state.number[column, rows] = np.arange(count)
        state.alive[column, rows] = True
        state.group[column, rows] = k * rules.n_types + kind % 2
        state.x[column, rows] = start_cells // rules.size
        state.y[column, rows] = start_cells % rules.size
        state.energy[column, rows] = rules.initial_energy[k]
        if k == PREDATOR and rules.juvenile_age[kind] >= 0:
            state.age[column, rows] = rules.juvenile_age[kind]
        state.first_in_cell[column, k, start_cells] = rows
        state.visible_energy[column, k, start_cells] = rules.initial_energy[k]
        state.alive_rows[column, k, state.n_alive[column, k] + np.arange(count)] = rows
        state.n_alive[worlds, k] += count
        state.next_number[worlds, kind] = count
        first += count
    state.active[worlds] = state.n_alive[worlds]
    state.next_uid[worlds] = first
    state.n_free[worlds] -= first
    state.parent[worlds, :first] = -1
    state.living[worlds, :first] = True
    state.live_descendants[worlds, :first] = 0
    state.prev_live_descendants[worlds, :first] = 0
    grass = cells[:, first:]
    state.patch_in_cell[column, grass] = np.arange(grass.shape[1])
    state.patch_cell[worlds] = grass
    state.grass_energy[worlds] = rules.initial_grass
    state.visible_energy[column, GRASS, grass] = rules.initial_grass
