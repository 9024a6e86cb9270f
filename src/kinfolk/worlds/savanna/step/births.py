"""Reproduction: an agent with enough energy has one child per step, on a free cell beside it."""

from __future__ import annotations

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline
from kinfolk.core.random import fold_in, uniform
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
    RANDOM_PLACEMENTS,
    SPAWNED,
    WASTED,
    SavannaState,
)
from kinfolk.worlds.savanna.step.occupancy import (
    add_to_cell,
    draw_free_cell,
    find_free_neighbor,
    get_occupancy,
    refresh_occupied_cell,
)

NO_BIRTH_TICK = -(1 << 40)
_PLACEMENT_KEY, _PROBABILITY_KEY = 1, 2  # folded into a tick's key


@inline
def pay_kick_back(
    state: SavannaState,
    events: EventBuffer,
    w: int,
    row: int,
    kick_back_reward: float,
    child_uid: int,
) -> None:
    """Reward the parent of a new parent, if it is alive.

    Args:
        state: Writes `reward`, `kickbacks` and `counters`.
        events: Buffer, appended to.
        w: World.
        row: Row of the new parent.
        kick_back_reward: The reward.
        child_uid: The newborn's uid.
    """
    grandparent, uid = state.parent_rows[w, row, 0], state.parents[w, row, 0]
    if (
        uid >= 0
        and state.uid[w, grandparent] == uid
        and state.alive[w, grandparent]
        and not state.carcass[w, grandparent]
    ):
        state.reward[w, grandparent] += kick_back_reward
        state.kickbacks[w, grandparent] += 1
        state.counters[w, KICKBACKS] += 1
        record_event(events, w, KICK_BACK, uid, child_uid, kick_back_reward)


@inline
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
    """
    occupancy = get_occupancy(state)
    state.n_free[w] -= 1
    child = state.free_rows[w, state.n_free[w]]
    parent = state.uid[w, row]
    parent_kind = 2 * species + state.group[w, row] - species * rules.n_types
    child_energy = rules.initial_energy[species] * rules.birth_efficiency
    state.energy[w, row] -= rules.initial_energy[species]
    state.energy_accounts[w, WASTED] += rules.initial_energy[species] - child_energy
    uid = start_life(state, w, child, row, child_energy)
    state.number[w, child] = state.next_number[w, kind]
    state.next_number[w, kind] += 1
    state.group[w, child] = species * rules.n_types + kind - 2 * species
    state.x[w, child] = cell // rules.size
    state.y[w, child] = cell % rules.size
    add_to_cell(occupancy, w, species, cell, child)
    refresh_occupied_cell(occupancy, rules.cell_erasure, w, species, cell, child)
    refresh_occupied_cell(
        occupancy,
        rules.cell_erasure,
        w,
        species,
        state.x[w, row] * rules.size + state.y[w, row],
        row,
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
    state.reward[w, row] = rules.birth_reward[parent_kind]
    state.counters[w, SPAWNED + species] += 1
    record_event(events, w, BIRTH, uid, parent, 1.0 if kind != parent_kind else 0.0)
    record_event(events, w, REPRODUCTION_REWARD, parent, uid, rules.birth_reward[parent_kind])
    grandparent = state.parent_rows[w, row, 0]
    if grandparent >= 0:
        kick_back = rules.kick_back_reward[
            2 * species + state.group[w, grandparent] - species * rules.n_types
        ]
        if kick_back != 0.0:
            pay_kick_back(state, events, w, row, kick_back, uid)


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
    """Let an agent with enough energy reproduce, if age, cooldown, chance and room allow it.

    Args:
        state: State of the batch, written.
        rules: Rules of the batch.
        events: Buffer, appended to.
        newborn_cells: `[W, births]`, see `run_births`.
        w: World.
        species: PREDATOR or PREY.
        row: Row of the agent.
        n_newborns: Births of this world in this step so far.

    Returns:
        Number of children: 0 or 1.
    """
    parent_kind = 2 * species + state.group[w, row] - species * rules.n_types
    uid = state.uid[w, row]
    if 0 <= rules.max_fertility_age[parent_kind] <= state.age[w, row]:
        state.counters[w, FERTILITY_BLOCKS + species] += 1
        record_event(events, w, FERTILITY_BLOCK, uid, -1, state.age[w, row])
        return 0
    if state.tick[w] - state.last_birth_tick[w, row] < rules.birth_cooldown:
        return 0
    kind = parent_kind
    if rules.birth_probability[parent_kind] < 1.0 or rules.mutation_rate[species] > 0.0:
        key = fold_in(fold_in(fold_in(state.key[w], state.tick[w]), _PROBABILITY_KEY), uid)
        if uniform(key, 0) >= rules.birth_probability[parent_kind]:
            return 0
        if uniform(key, 1) < rules.mutation_rate[species]:
            kind = 4 * species + 1 - parent_kind
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
    if kind != parent_kind:
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
    """Let agents reproduce: predators first, then prey, in uid order; newborns do not.

    A newborn without a free neighbour cell is placed on a random free cell.

    Args:
        state: State of the batch, written.
        rules: Rules of the batch.
        events: Buffer, appended to.
        newborn_cells: `[W, births]`, replaces the random cell of the n-th birth of the step when a
            trace is replayed; `[W, 0]` otherwise.
        first: First world.
        last: End of the range of worlds, exclusive.
    """
    done, n_alive, alive_rows, energy, carcass = (
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
        n_newborns = 0
        for species in range(2):
            for i in range(n_alive[w, species]):
                row = alive_rows[w, species, i]
                if energy[w, row] >= threshold[species] and not carcass[w, row]:
                    n_newborns += try_reproduce(
                        state, rules, events, newborn_cells, w, species, row, n_newborns
                    )
