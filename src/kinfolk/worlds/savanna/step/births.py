"""Reproduction: an agent with enough energy has one child per step, on a free cell beside it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinfolk.core.arrays import Floats, Ints
from kinfolk.core.jit import inline_always, prefetch
from kinfolk.core.random import fold_in, uniform
from kinfolk.lineage.kernels import count_birth, register_birth
from kinfolk.worlds.savanna import codes
from kinfolk.worlds.savanna.rules import SavannaRules
from kinfolk.worlds.savanna.state import (
    EventBuffer,
    Links,
    SavannaState,
    add_event_details,
    record_event,
)
from kinfolk.worlds.savanna.step.context import get_agent_arrays
from kinfolk.worlds.savanna.step.free_cells import draw_free_cell, take_free_cell
from kinfolk.worlds.savanna.step.inheritance import give_traits
from kinfolk.worlds.savanna.step.occupancy import (
    add_to_cell,
    find_free_neighbor,
    refresh_occupied_cell,
)

_PLACEMENT_KEY, _PROBABILITY_KEY = 1, 2  # folded into a tick's key, as in `inheritance`

# How many agents ahead the cells around a parent are loaded; few of them reproduce in a step.
_AGENTS_AHEAD = 64
_BIRTHS_AHEAD = 3  # and how many births ahead the row of a newborn


class NewbornValues(NamedTuple):
    """What replays of traces give newborns instead of drawing it, empty otherwise; and scratch."""

    cells: Ints  # [W, births] cell of the n-th birth of the step if it has no free neighbour cell
    traits: Floats  # [W, births, traits]
    free_cells: Links  # scratch of the calling thread, see `free_cells`


@inline_always
def pay_kick_back(
    state: SavannaState, events: EventBuffer, w: int, row: int, child_uid: int, reward: float
) -> None:
    """Reward the parent of a new parent, if it is alive.

    Args:
        state: Writes `reward`, `kickbacks` and counters.
        events: Buffer, appended to.
        w: World.
        row: Row of the new parent.
        child_uid: The newborn's uid.
        reward: Reward of the grandparent.
    """
    grandparent, uid = state.parent_rows[w, row, 0], state.parents[w, row, 0]
    is_in_row = uid >= 0 and state.uid[w, grandparent] == uid
    if is_in_row and state.alive[w, grandparent] and not state.carcass[w, grandparent]:
        state.reward[w, grandparent] += reward
        state.kickbacks[w, grandparent] += 1
        state.counters[w, codes.KICKBACKS] += 1
        record_event(events, w, codes.KICK_BACK, uid, child_uid, reward)


@inline_always
def start_life(state: SavannaState, w: int, row: int, parent_row: int, energy: float) -> int:
    """Initialise `row` for a child of the agent in `parent_row`.

    Args:
        state: Writes the row's fields and `next_uid`.
        w: World.
        row: Row of the child.
        parent_row: Row of its parent.
        energy: Energy of the child.

    Returns:
        The child's uid.
    """
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
    state.step_event[w, row] = codes.NO_EVENT
    state.death_cause[w, row] = codes.NO_CAUSE
    state.last_birth_tick[w, row] = codes.NO_BIRTH_TICK
    state.kickbacks[w, row] = 0
    state.parents[w, row, 0] = state.uid[w, parent_row]
    state.parent_rows[w, row, 0] = parent_row
    return uid


@inline_always
def spawn_child(
    state: SavannaState,
    rules: SavannaRules,
    events: EventBuffer,
    w: int,
    species: int,
    row: int,
    kind: int,
    cell: int,
    newborns: NewbornValues,
    n_newborns: int,
    counts_birth: bool,
) -> None:
    """Place a child on `cell`, move energy from parent to child, and set the parent's reward.

    Args:
        state: State of the batch, written.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        species: PREDATOR or PREY.
        row: Row of the parent.
        kind: `2 * species + type` of the child.
        cell: Cell of the child.
        newborns: See `NewbornValues`.
        n_newborns: Births of this world in this step so far.
        counts_birth: Whether ancestors count the newborn now, rather than later.
    """
    agents = get_agent_arrays(state, rules)
    state.n_free[w] -= 1
    child = state.free_rows[w, state.n_free[w]]
    parent = agents.uid[w, row]
    parent_kind = 2 * species + agents.group[w, row] - species * rules.n_types
    cost = rules.initial_energy[kind]
    child_energy = cost * rules.birth_efficiency
    agents.energy[w, row] -= cost
    agents.energy_accounts[w, codes.WASTED] += cost - child_energy
    uid = start_life(state, w, child, row, child_energy)
    state.number[w, child] = state.next_number[w, kind]
    state.next_number[w, kind] += 1
    agents.group[w, child] = species * rules.n_types + kind - 2 * species
    agents.x[w, child] = cell // rules.size
    agents.y[w, child] = cell % rules.size
    add_to_cell(agents, w, species, cell, child)
    take_free_cell(newborns.free_cells, cell)
    refresh_occupied_cell(agents, w, species, child)
    refresh_occupied_cell(agents, w, species, row)
    give_traits(state, rules, w, species, child, row, newborns.traits, n_newborns)
    agents.alive_rows[w, species, agents.n_alive[w, species]] = child
    agents.n_alive[w, species] += 1
    agents.active[w, species] += 1
    descendants, previous = state.live_descendants, state.prev_live_descendants
    register_birth(state.parent, state.living, descendants, previous, w, uid, parent)
    if counts_birth:
        count_birth(state.parent, descendants, w, uid)
    state.last_birth_tick[w, row] = state.tick[w]
    reward = rules.birth_reward[parent_kind]
    agents.reward[w, row] = reward
    agents.counters[w, codes.SPAWNED + species] += 1
    record_event(events, w, codes.BIRTH, uid, parent, 1.0 if kind != parent_kind else 0.0)
    group, number = agents.group[w, child], state.number[w, child]
    add_event_details(events, w, float(group), float(number), cell, cell, 0.0)
    record_event(events, w, codes.REPRODUCTION_REWARD, parent, uid, reward)
    grandparent = state.parent_rows[w, row, 0]
    if grandparent >= 0:
        grandparent_kind = 2 * species + agents.group[w, grandparent] - species * rules.n_types
        kick_back = rules.kick_back_reward[grandparent_kind]
        if kick_back != 0.0:
            pay_kick_back(state, events, w, row, uid, kick_back)


@inline_always
def try_reproduce(
    state: SavannaState,
    rules: SavannaRules,
    events: EventBuffer,
    w: int,
    species: int,
    row: int,
    newborns: NewbornValues,
    n_newborns: int,
    counts_birth: bool,
) -> int:
    """Let an agent with enough energy reproduce, if age, cooldown, chance and room allow it.

    Args:
        state: State of the batch, written.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        species: PREDATOR or PREY.
        row: Row of the agent.
        newborns: See `NewbornValues`.
        n_newborns: Births of this world in this step so far.
        counts_birth: Whether ancestors count the newborn now, rather than later.

    Returns:
        Number of children: 0 or 1.
    """
    uid, age = state.uid[w, row], state.age[w, row]
    parent_kind = 2 * species + state.group[w, row] - species * rules.n_types
    if 0 <= rules.max_fertility_age[parent_kind] <= age:
        state.counters[w, codes.FERTILITY_BLOCKS + species] += 1
        record_event(events, w, codes.FERTILITY_BLOCK, uid, -1, age)
        return 0
    if state.tick[w] - state.last_birth_tick[w, row] < rules.birth_cooldown:
        return 0
    ratio = rules.max_predator_ratio
    is_capped = species == codes.PREDATOR and ratio >= 0.0
    if is_capped and state.active[w, 0] >= ratio * state.active[w, 1]:
        state.counters[w, codes.DENSITY_BLOCKS] += 1
        return 0
    kind, cell, tick_key = parent_kind, -1, fold_in(state.key[w], state.tick[w])
    probability, mutation_rate = rules.birth_probability[parent_kind], rules.mutation_rate[species]
    if probability < 1.0 or mutation_rate > 0.0:
        key = fold_in(fold_in(tick_key, _PROBABILITY_KEY), uid)
        if uniform(key, 0) >= probability:
            return 0
        if uniform(key, 1) < mutation_rate:
            kind = 4 * species + 1 - parent_kind
    has_id = rules.n_possible[kind] < 0 or state.next_number[w, kind] < rules.n_possible[kind]
    if state.n_free[w] > 0 and has_id:
        wall, first_in_cell = rules.wall, state.first_in_cell
        x, y = state.x[w, row], state.y[w, row]
        cell = find_free_neighbor(wall, rules.size, first_in_cell, w, x, y)
        if cell < 0:
            state.counters[w, codes.RANDOM_PLACEMENTS] += 1
            if n_newborns < newborns.cells.shape[1]:
                cell = newborns.cells[w, n_newborns]
            else:
                key = fold_in(fold_in(tick_key, _PLACEMENT_KEY), uid)
                cell = draw_free_cell(newborns.free_cells, wall, first_in_cell, w, key)
    if cell < 0:
        state.counters[w, codes.CAPACITY_BLOCKS + species] += 1
        record_event(events, w, codes.CAPACITY_BLOCK, uid, -1, 0.0)
        return 0
    if kind != parent_kind:
        state.counters[w, codes.MUTATIONS] += 1
    if rules.exceeds_cache:
        prefetch_newborn(state, w)
    spawn_child(
        state, rules, events, w, species, row, kind, cell, newborns, n_newborns, counts_birth
    )
    return 1


@inline_always
def prefetch_birth(
    state: SavannaState, rules: SavannaRules, w: int, species: int, row: int
) -> None:
    """Start to load the fields of an agent that is about to reproduce, and the cells around it.

    Args:
        state: Reads energies and positions.
        rules: Rules of the batch.
        w: World.
        species: PREDATOR or PREY.
        row: Row of the agent.
    """
    kind, size = 2 * species + state.group[w, row] - species * rules.n_types, rules.size
    if state.energy[w, row] >= rules.birth_threshold[kind]:
        corner = (state.x[w, row] - 1) * size + state.y[w, row]
        lists = w * 2 * size * size
        shown = (w * state.visible_energy.shape[1] + species) * size * size
        for line in range(3):
            cell = corner + line * size
            prefetch(rules.wall, cell)
            prefetch(state.first_in_cell, lists + cell)
            prefetch(state.first_in_cell, lists + size * size + cell)
            prefetch(state.visible_energy, shown + cell)
        batch_row = w * state.uid.shape[1] + np.int64(row)
        prefetch(state.uid, batch_row)
        prefetch(state.age, batch_row)
        prefetch(state.last_birth_tick, batch_row)
        prefetch(state.reward, batch_row)
        prefetch(state.next_in_cell, batch_row)
        prefetch(state.parent_rows, 2 * batch_row)


@inline_always
def prefetch_newborn(state: SavannaState, w: int) -> None:
    """Start to load the row of a later newborn, which may lie anywhere: its agent died long ago."""
    ahead = state.n_free[w] - 1 - _BIRTHS_AHEAD
    if ahead < 0:
        return
    row = w * state.uid.shape[1] + np.int64(state.free_rows[w, ahead])
    prefetch(state.uid, row)
    prefetch(state.alive, row)
    prefetch(state.terminated, row)
    prefetch(state.truncated, row)
    prefetch(state.reward, row)
    prefetch(state.group, row)
    prefetch(state.parents, 2 * row)
    prefetch(state.parent_rows, 2 * row)
    prefetch(state.number, row)
    prefetch(state.x, row)
    prefetch(state.y, row)
    prefetch(state.energy, row)
    prefetch(state.age, row)
    prefetch(state.carcass, row)
    prefetch(state.step_event, row)
    prefetch(state.death_cause, row)
    prefetch(state.last_birth_tick, row)
    prefetch(state.kickbacks, row)
    prefetch(state.next_in_cell, row)


@inline_always
def run_births(
    state: SavannaState, rules: SavannaRules, events: EventBuffer, w: int, newborns: NewbornValues
) -> None:
    """Let agents reproduce: predators first, then prey, in uid order; newborns do not.

    A newborn without a free neighbour cell is placed on a random free cell.

    Args:
        state: State of the batch, written.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        newborns: See `NewbornValues`.
    """
    threshold = rules.birth_threshold
    newborns.free_cells[0] = 0
    n_newborns = 0
    for species in range(2):
        n_parents = state.n_alive[w, species]
        for i in range(n_parents):
            row = state.alive_rows[w, species, i]
            if rules.exceeds_cache and i + _AGENTS_AHEAD < n_parents:
                prefetch_birth(
                    state, rules, w, species, state.alive_rows[w, species, i + _AGENTS_AHEAD]
                )
            kind = np.uint64(2 * species + state.group[w, row] - species * rules.n_types)
            if state.energy[w, row] >= threshold[kind] and not state.carcass[w, row]:
                n_newborns += try_reproduce(
                    state, rules, events, w, species, row, newborns, n_newborns, True
                )
