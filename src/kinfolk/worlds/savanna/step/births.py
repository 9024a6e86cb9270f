"""Reproduction: whoever has the energy has one child per step, on a free cell beside it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kinfolk.core.arrays import Bools, Ints
from kinfolk.core.jit import inline
from kinfolk.core.random import fold_in, randint, uniform
from kinfolk.lineage.kernels import record_birth
from kinfolk.worlds.savanna.events import (
    BIRTH,
    CAPACITY_BLOCK,
    FERTILITY_BLOCK,
    KICK_BACK,
    REPRODUCTION_REWARD,
    EventBuffer,
    record_event,
)
from kinfolk.worlds.savanna.rules import SavannaRules
from kinfolk.worlds.savanna.state import (
    CAPACITY_BLOCKS,
    FERTILITY_BLOCKS,
    KICKBACKS,
    MUTATIONS,
    NO_CAUSE,
    NO_EVENT,
    PREDATOR,
    PREY,
    RANDOM_PLACEMENTS,
    SPAWNED,
    WASTED,
    SavannaState,
)
from kinfolk.worlds.savanna.step.occupancy import add_to_cell, get_occupancy, refresh_occupied_cell

CellLinks = npt.NDArray[np.int32]
NO_BIRTH_TICK = -(1 << 40)
_PLACEMENT_KEY, _PROBABILITY_KEY = 1, 2  # of a tick's key


@inline
def is_cell_free(wall: Bools, first_in_cell: CellLinks, w: int, cell: int) -> bool:
    """Whether a cell has neither a wall nor an agent of either species."""
    return (
        not wall[cell] and first_in_cell[w, PREDATOR, cell] < 0 and first_in_cell[w, PREY, cell] < 0
    )


@inline
def find_free_neighbor(
    wall: Bools, size: int, first_in_cell: CellLinks, w: int, x: int, y: int
) -> int:
    """The first free of the cells at (x-1, y), (x+1, y), (x, y-1), (x, y+1); -1 if none is."""
    if x > 0 and is_cell_free(wall, first_in_cell, w, (x - 1) * size + y):
        return (x - 1) * size + y
    if x < size - 1 and is_cell_free(wall, first_in_cell, w, (x + 1) * size + y):
        return (x + 1) * size + y
    if y > 0 and is_cell_free(wall, first_in_cell, w, x * size + y - 1):
        return x * size + y - 1
    if y < size - 1 and is_cell_free(wall, first_in_cell, w, x * size + y + 1):
        return x * size + y + 1
    return -1


@inline
def draw_free_cell(wall: Bools, first_in_cell: CellLinks, w: int, key: int) -> int:
    """A free cell of the whole grid by chance, -1 if there is none. Rare, so it may be slow."""
    free = 0
    for cell in range(wall.shape[0]):
        if is_cell_free(wall, first_in_cell, w, cell):
            free += 1
    if free == 0:
        return -1
    chosen = randint(key, 0, free)
    for cell in range(wall.shape[0]):
        if is_cell_free(wall, first_in_cell, w, cell):
            if chosen == 0:
                return cell
            chosen -= 1
    return -1


@inline
def pay_kick_back(
    state: SavannaState,
    events: EventBuffer,
    w: int,
    row: int,
    kick_back_reward: float,
    child_uid: int,
) -> None:
    """The parent of a new parent is paid, if it is alive."""
    grand, uid = state.parent_rows[w, row, 0], state.parents[w, row, 0]
    if (
        uid >= 0
        and state.uid[w, grand] == uid
        and state.alive[w, grand]
        and not state.carcass[w, grand]
    ):
        state.reward[w, grand] += kick_back_reward
        state.kickbacks[w, grand] += 1
        state.counters[w, KICKBACKS] += 1
        record_event(events, w, KICK_BACK, uid, child_uid, kick_back_reward)


@inline
def start_life(state: SavannaState, w: int, row: int, parent_row: int, energy: float) -> int:
    """Begin a life in `row` as a child of the life in the row `parent_row`; returns its uid."""
    uid: int = state.next_uid[w]
    state.next_uid[w] += 1
    state.uid[w, row] = uid
    state.alive[w, row] = True
    state.terminated[w, row] = False
    state.truncated[w, row] = False
    state.reward[w, row] = 0.0
    state.energy[w, row] = energy
    state.age[w, row] = 0
    state.carcass[w, row] = False
    state.step_event[w, row] = NO_EVENT
    state.death_cause[w, row] = NO_CAUSE
    state.last_birth_tick[w, row] = NO_BIRTH_TICK
    state.kickbacks[w, row] = 0
    state.parents[w, row, 0] = state.uid[w, parent_row]
    state.parent_rows[w, row, 0] = parent_row
    return uid


@inline
def spawn_child(
    state: SavannaState,
    rules: SavannaRules,
    events: EventBuffer,
    w: int,
    species: int,
    row: int,
    kind: int,
    cell: int,
) -> None:
    """A child on `cell`: energy goes from parent to child, and the parent's reward is set."""
    g = get_occupancy(state)
    state.n_free[w] -= 1
    child = state.free_rows[w, state.n_free[w]]
    parent = state.uid[w, row]
    own = 2 * species + state.group[w, row] - species * rules.n_types
    given = rules.initial_energy[species] * rules.birth_efficiency
    state.energy[w, row] -= rules.initial_energy[species]
    state.energy_accounts[w, WASTED] += rules.initial_energy[species] - given
    uid = start_life(state, w, child, row, given)
    state.number[w, child] = state.next_number[w, kind]
    state.next_number[w, kind] += 1
    state.group[w, child] = species * rules.n_types + kind - 2 * species
    state.x[w, child] = cell // rules.size
    state.y[w, child] = cell % rules.size
    add_to_cell(g, w, species, cell, child)
    refresh_occupied_cell(g, rules.cell_erasure, w, species, cell, child)
    refresh_occupied_cell(
        g, rules.cell_erasure, w, species, state.x[w, row] * rules.size + state.y[w, row], row
    )
    state.alive_rows[w, species, state.n_alive[w, species]] = child
    state.n_alive[w, species] += 1
    state.active[w, species] += 1
    record_birth(
        state.parent,
        state.living,
        state.live_descendants,
        state.prev_live_descendants,
        w,
        uid,
        parent,
    )
    state.last_birth_tick[w, row] = state.tick[w]
    state.reward[w, row] = rules.birth_reward[own]
    state.counters[w, SPAWNED + species] += 1
    record_event(events, w, BIRTH, uid, parent, 1.0 if kind != own else 0.0)
    record_event(events, w, REPRODUCTION_REWARD, parent, uid, rules.birth_reward[own])
    grand = state.parent_rows[w, row, 0]
    if grand >= 0:
        pay = rules.kick_back_reward[2 * species + state.group[w, grand] - species * rules.n_types]
        if pay != 0.0:
            pay_kick_back(state, events, w, row, pay, uid)


@inline
def try_reproduce(
    state: SavannaState,
    rules: SavannaRules,
    events: EventBuffer,
    newborn_cells: Ints,
    w: int,
    species: int,
    row: int,
    n_newborns: int,
) -> int:
    """One that has the energy tries to breed; returns how many children it had."""
    own = 2 * species + state.group[w, row] - species * rules.n_types
    uid = state.uid[w, row]
    if 0 <= rules.max_fertility_age[own] <= state.age[w, row]:
        state.counters[w, FERTILITY_BLOCKS + species] += 1
        record_event(events, w, FERTILITY_BLOCK, uid, -1, state.age[w, row])
        return 0
    if state.tick[w] - state.last_birth_tick[w, row] < rules.birth_cooldown:
        return 0
    kind = own
    if rules.birth_probability[own] < 1.0 or rules.mutation_rate[species] > 0.0:
        key = fold_in(fold_in(fold_in(state.key[w], state.tick[w]), _PROBABILITY_KEY), uid)
        if uniform(key, 0) >= rules.birth_probability[own]:
            return 0
        if uniform(key, 1) < rules.mutation_rate[species]:
            kind = 4 * species + 1 - own
    cell = -1
    if state.n_free[w] > 0:
        cell = find_free_neighbor(
            rules.wall, rules.size, state.first_in_cell, w, state.x[w, row], state.y[w, row]
        )
        if cell < 0:
            state.counters[w, RANDOM_PLACEMENTS] += 1
            if n_newborns < newborn_cells.shape[1]:
                cell = newborn_cells[w, n_newborns]
            else:
                key = fold_in(fold_in(fold_in(state.key[w], state.tick[w]), _PLACEMENT_KEY), uid)
                cell = draw_free_cell(rules.wall, state.first_in_cell, w, key)
    if cell < 0:
        state.counters[w, CAPACITY_BLOCKS + species] += 1
        record_event(events, w, CAPACITY_BLOCK, uid, -1, 0.0)
        return 0
    if kind != own:
        state.counters[w, MUTATIONS] += 1
    spawn_child(state, rules, events, w, species, row, kind, cell)
    return 1


@inline
def run_births(
    state: SavannaState,
    rules: SavannaRules,
    events: EventBuffer,
    newborn_cells: Ints,
    first: int,
    last: int,
) -> None:
    """Predators first, then prey, in uid order; children do not breed in the step of their birth.

    A newborn without a free neighbour cell goes to the cell `newborn_cells` names for the n-th birth of
    the step (a replay does that), or else anywhere by chance.
    """
    done, length, herd, energy, carcass = (
        state.done,
        state.n_alive,
        state.alive_rows,
        state.energy,
        state.carcass,
    )
    threshold = rules.birth_threshold
    for w in range(first, last):
        if done[w]:
            continue
        newborns = 0
        for k in range(2):
            for i in range(length[w, k]):
                row = herd[w, k, i]
                if energy[w, row] >= threshold[k] and not carcass[w, row]:
                    newborns += try_reproduce(
                        state, rules, events, newborn_cells, w, k, row, newborns
                    )
