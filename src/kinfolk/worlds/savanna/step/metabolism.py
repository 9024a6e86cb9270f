"""Time passes: rows are released, energy decays, bodies age, grass grows, the hungry starve.

Functions get the parts of the state that they use: handing on all of it costs time, when they
are compiled and at every call.
"""

from __future__ import annotations

from typing import NamedTuple

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
from kinfolk.worlds.savanna.step.occupancy import (
    OccupancyArrays,
    refresh_occupied_cell,
    refresh_vacated_cell,
    remove_from_cell,
)


class AliveArrays(NamedTuple):
    """The part of the state that says who is alive in which world."""

    done: Bools
    n_alive: Ints
    alive_rows: RowIndices
    ended_rows: RowIndices
    n_ended: Ints
    uid: Ints
    reward: Floats


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
    """Give away the rows of those whose life ended in the step before."""
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


class DeathArrays(NamedTuple):
    """The part of the state that a death changes at once."""

    carcass: Bools
    death_cause: Ints
    active: Ints


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
    """End a life at once on the grid; `removal.bury` does the rest later in the step.

    With `dead_prey_stay` dead prey keep their place until then, and can be bitten.
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
    """Those of one species that are too old die, after all of it have lost energy and aged."""
    for i in range(population.n_alive[w, species]):
        row = population.alive_rows[w, species, i]
        oldest = rules.max_age[2 * species + group[w, row] - species * rules.n_types]
        if 0 <= oldest <= age[w, row] and not deaths.carcass[w, row]:
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
            # as published: the counter can be too low already, but not below nothing
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
    """Everybody loses energy, carcasses too; all but carcasses age, and may be too old.

    Where `all_agents_act`, the move that follows shows what is left; until then it is enough to show
    who has nothing left.
    """
    lazy = all_agents_act and not rules.cell_erasure
    size, types, erase = rules.size, rules.n_types, rules.cell_erasure
    fertility, oldest = rules.max_fertility_age, rules.max_age
    for w in range(first, last):
        if population.done[w]:
            continue
        for k in range(2):
            loss, too_old = rules.energy_loss[k], False
            for i in range(population.n_alive[w, k]):
                row = population.alive_rows[w, k, i]
                occupancy.energy[w, row] -= loss
                population.reward[w, row] = 0.0
                step_event[w, row] = NO_EVENT
                if not lazy or deaths.carcass[w, row] or occupancy.energy[w, row] <= 0.0:
                    refresh_occupied_cell(
                        occupancy,
                        erase,
                        w,
                        k,
                        occupancy.x[w, row] * size + occupancy.y[w, row],
                        row,
                    )
                if deaths.carcass[w, row]:
                    continue
                years = age[w, row] + 1
                age[w, row] = years
                kind = 2 * k + group[w, row] - k * types
                limit = fertility[kind]
                new = years == 1 or tick[w] == 0  # founders and limits of 0 can be past it at once
                if years == limit or (new and 0 <= limit < years):
                    record_event(events, w, FERTILITY_EXPIRED, population.uid[w, row], -1, years)
                too_old = too_old or 0 <= oldest[kind] <= years
            energy_accounts[w, DECAYED] += loss * population.n_alive[w, k]
            if too_old:
                kill_overaged(population, occupancy, deaths, rules, group, age, w, k)


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
    """Every patch of grass gains energy, up to its most."""
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
    """Whoever has no energy left dies; starved carcasses vanish with the others."""
    for w in range(first, last):
        if population.done[w]:
            continue
        for k in range(2):
            for i in range(population.n_alive[w, k]):
                row = population.alive_rows[w, k, i]
                if occupancy.energy[w, row] <= 0.0:
                    if occupancy.alive[w, row]:
                        kill_agent(
                            occupancy,
                            deaths,
                            size,
                            cell_erasure,
                            dead_prey_stay,
                            w,
                            k,
                            row,
                            STARVED,
                        )
                    elif dead_prey_stay:  # published: too old and starved in one step dies twice
                        deaths.active[w, k] -= 1
                        refresh_vacated_cell(
                            occupancy,
                            cell_erasure,
                            w,
                            k,
                            occupancy.x[w, row] * size + occupancy.y[w, row],
                        )
