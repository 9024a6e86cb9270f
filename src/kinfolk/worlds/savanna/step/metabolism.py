"""Effects of time: rows are freed, energy decays, agents age, grass grows, agents starve.

Functions take only the arrays that they use: passing the whole state costs compile time and time
at every call.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kinfolk.core.arrays import Bools, Floats, Ints
from kinfolk.core.jit import inline
from kinfolk.worlds.savanna.events import FERTILITY_EXPIRED, EventBuffer, record_event
from kinfolk.worlds.savanna.rules import SavannaRules
from kinfolk.worlds.savanna.state import (
    DECAYED,
    GRASS,
    GROWN,
    MAX_AGE,
    NO_EVENT,
    PREDATOR,
    STARVED,
    RowIndices,
)
from kinfolk.worlds.savanna.step.arrays import AliveArrays, DeathArrays
from kinfolk.worlds.savanna.step.occupancy import (
    OccupancyArrays,
    refresh_occupied_cell,
    refresh_vacated_cell,
    remove_from_cell,
)


@inline
def free_dead_rows(
    population: AliveArrays,
    events: EventBuffer,
    terminated: Bools,
    free_rows: RowIndices,
    n_free: Ints,
    first: int,
    last: int,
) -> None:
    """Free the rows of agents that died in the step before, and empty the event buffer.

    Args:
        population: Writes `uid`, `reward` and `n_ended`.
        events: Buffer, emptied.
        terminated: `[W, N]`, written.
        free_rows: `[W, N]`, stack of empty rows, pushed to.
        n_free: `[W]`, its length.
        first: First world.
        last: End of the range of worlds, exclusive.
    """
    for w in range(first, last):
        events.n_events[w] = 0
        if population.done[w]:
            continue
        for i in range(population.n_ended[w] - 1, -1, -1):
            row = population.ended_rows[w, i]
            population.uid[w, row] = -1
            population.reward[w, row] = 0.0
            terminated[w, row] = False
            free_rows[w, n_free[w]] = row
            n_free[w] += 1
        population.n_ended[w] = 0


@inline
def kill_agent(
    occupancy: OccupancyArrays,
    deaths: DeathArrays,
    size: int,
    cell_erasure: bool,
    dead_prey_stay: bool,
    w: int,
    species: int,
    row: int,
    cause: int,
) -> None:
    """Mark an agent as dead and take it off the grid; `remove_dead` completes the removal.

    Args:
        occupancy: Writes `alive`, chains of cells and `visible_energy`.
        deaths: Written.
        size: Side of the grid.
        cell_erasure: Quirk, see `refresh_vacated_cell`.
        dead_prey_stay: Quirk: dead prey stay on their cells until `remove_dead`, and can be bitten.
        w: World.
        species: PREDATOR or PREY.
        row: Row of the agent.
        cause: Index into `DEATH_CAUSES`.
    """
    cell = occupancy.x[w, row] * size + occupancy.y[w, row]
    occupancy.alive[w, row] = False
    deaths.carcass[w, row] = False
    deaths.death_cause[w, row] = cause
    deaths.active[w, species] -= 1
    if species == PREDATOR or not dead_prey_stay:
        remove_from_cell(occupancy, w, species, cell, row)
    refresh_vacated_cell(occupancy, cell_erasure, w, species, cell)


@inline
def kill_overaged(
    population: AliveArrays,
    occupancy: OccupancyArrays,
    deaths: DeathArrays,
    rules: SavannaRules,
    group: Ints,
    age: Ints,
    w: int,
    species: int,
) -> None:
    """Kill the agents of one species that have reached their maximum age.

    Args:
        population: Reads the living.
        occupancy: Written for every death.
        deaths: Written for every death.
        rules: Rules of the batch.
        group: `[W, N]`, group of each agent.
        age: `[W, N]`, age in steps.
        w: World.
        species: PREDATOR or PREY.
    """
    for i in range(population.n_alive[w, species]):
        row = population.alive_rows[w, species, i]
        max_age = rules.max_age[2 * species + group[w, row] - species * rules.n_types]
        if 0 <= max_age <= age[w, row] and not deaths.carcass[w, row]:
            kill_agent(
                occupancy,
                deaths,
                rules.size,
                rules.cell_erasure,
                rules.dead_prey_bitten,
                w,
                species,
                row,
                MAX_AGE,
            )
            # Published: the counter may already be too low, but is not allowed below zero here.
            deaths.active[w, species] = max(deaths.active[w, species], 0)


@inline
def apply_metabolism(
    population: AliveArrays,
    occupancy: OccupancyArrays,
    deaths: DeathArrays,
    rules: SavannaRules,
    events: EventBuffer,
    tick: Ints,
    group: Ints,
    age: Ints,
    step_event: Ints,
    energy_accounts: Floats,
    all_agents_act: bool,
    first: int,
    last: int,
) -> None:
    """Subtract the energy loss of a step from all agents, and age all but carcasses.

    If all agents act, their moves will refresh the energy shown on cells; until then only agents
    without energy must be refreshed.

    Args:
        population: Reads the living; clears `reward`.
        occupancy: Writes `energy` and `visible_energy`.
        deaths: Reads `carcass`; written for deaths of age.
        rules: Rules of the batch.
        events: Buffer, appended to.
        tick: `[W]`, steps since the reset.
        group: `[W, N]`, group of each agent.
        age: `[W, N]`, written.
        step_event: `[W, N]`, cleared.
        energy_accounts: `[W, ENERGY_ACCOUNTS]`, adds the decayed energy.
        all_agents_act: Whether every living agent moves in this step.
        first: First world.
        last: End of the range of worlds, exclusive.
    """
    lazy = all_agents_act and not rules.cell_erasure
    size, n_types, cell_erasure = rules.size, rules.n_types, rules.cell_erasure
    fertility, max_age = rules.max_fertility_age, rules.max_age
    for w in range(first, last):
        if population.done[w]:
            continue
        for species in range(2):
            loss, any_overaged = rules.energy_loss[species], False
            for i in range(population.n_alive[w, species]):
                row = population.alive_rows[w, species, i]
                occupancy.energy[w, row] -= loss
                population.reward[w, row] = 0.0
                step_event[w, row] = NO_EVENT
                if not lazy or deaths.carcass[w, row] or occupancy.energy[w, row] <= 0.0:
                    refresh_occupied_cell(
                        occupancy,
                        cell_erasure,
                        w,
                        species,
                        occupancy.x[w, row] * size + occupancy.y[w, row],
                        row,
                    )
                if deaths.carcass[w, row]:
                    continue
                new_age = age[w, row] + 1
                age[w, row] = new_age
                kind = 2 * species + group[w, row] - species * n_types
                last_fertile_age = fertility[kind]
                first_step = (
                    new_age == 1 or tick[w] == 0
                )  # founders, and limits of 0, can be past it now
                if new_age == last_fertile_age or (first_step and 0 <= last_fertile_age < new_age):
                    record_event(events, w, FERTILITY_EXPIRED, population.uid[w, row], -1, new_age)
                any_overaged = any_overaged or 0 <= max_age[kind] <= new_age
            energy_accounts[w, DECAYED] += loss * population.n_alive[w, species]
            if any_overaged:
                kill_overaged(population, occupancy, deaths, rules, group, age, w, species)


@inline
def grow_grass(
    done: Bools,
    grass_energy: Floats,
    visible_energy: npt.NDArray[np.float32],
    patch_cell: Ints,
    energy_accounts: Floats,
    gain: float,
    max_energy: float,
    first: int,
    last: int,
) -> None:
    """Add energy to every patch of grass, up to its maximum.

    Args:
        done: `[W]`, worlds that are skipped.
        grass_energy: `[W, patches]`, written.
        visible_energy: `[W, 3, cells]`, written.
        patch_cell: `[W, patches]`, cell of each patch.
        energy_accounts: `[W, ENERGY_ACCOUNTS]`, adds the grown energy.
        gain: Energy per patch and step.
        max_energy: Energy of a full patch.
        first: First world.
        last: End of the range of worlds, exclusive.
    """
    for w in range(first, last):
        if done[w]:
            continue
        grown = 0.0
        for patch in range(grass_energy.shape[1]):
            before = grass_energy[w, patch]
            if before != max_energy:
                after = min(before + gain, max_energy)
                grass_energy[w, patch] = after
                grown += after - before
                visible_energy[w, GRASS, patch_cell[w, patch]] = after
        energy_accounts[w, GROWN] += grown


@inline
def kill_starved(
    population: AliveArrays,
    occupancy: OccupancyArrays,
    deaths: DeathArrays,
    size: int,
    cell_erasure: bool,
    dead_prey_stay: bool,
    first: int,
    last: int,
) -> None:
    """Kill all agents and carcasses without energy.

    Args:
        population: Reads the living.
        occupancy: Reads `energy`; written for every death.
        deaths: Written for every death.
        size: Side of the grid.
        cell_erasure: Quirk, see `refresh_vacated_cell`.
        dead_prey_stay: Quirk, see `kill_agent`.
        first: First world.
        last: End of the range of worlds, exclusive.
    """
    for w in range(first, last):
        if population.done[w]:
            continue
        for species in range(2):
            for i in range(population.n_alive[w, species]):
                row = population.alive_rows[w, species, i]
                if occupancy.energy[w, row] <= 0.0:
                    if occupancy.alive[w, row]:
                        kill_agent(
                            occupancy,
                            deaths,
                            size,
                            cell_erasure,
                            dead_prey_stay,
                            w,
                            species,
                            row,
                            STARVED,
                        )
                    elif dead_prey_stay:  # published: too old and starved in one step dies twice
                        deaths.active[w, species] -= 1
                        refresh_vacated_cell(
                            occupancy,
                            cell_erasure,
                            w,
                            species,
                            occupancy.x[w, row] * size + occupancy.y[w, row],
                        )
