"""Bites: prey graze first, then every predator bites the first prey on its own cell.

A bite that leaves something makes a carcass: it neither moves, eats, breeds nor ages, still
decays, can still be bitten, and still counts as one of the prey until it is gone.

With the quirk `dead_prey_bitten`, prey that died in this step are still on their cell. Each bite
that finishes one off, the first and any later one, then does all that the published code does:
it counts the prey off, blanks its cell and makes it a carcass to the next predator, and it leaves
the prey's energy as it was, so that the next one gains it again.
"""

from __future__ import annotations

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline
from kinfolk.worlds.savanna.events import (
    BITE,
    CARCASS,
    CARCASS_BITE,
    CARCASS_ONLY_BLOCK,
    EventBuffer,
    record_event,
)
from kinfolk.worlds.savanna.rules import SavannaRules
from kinfolk.worlds.savanna.state import (
    ATE,
    CARCASS_BITES,
    CARCASSES,
    DIET_BLOCKED,
    DIET_BLOCKS,
    EATEN,
    LIVE_BITES,
    LOST_WITH_DEAD,
    PREDATOR,
    PREY,
)
from kinfolk.worlds.savanna.step.eating import EatingArrays, add_energy, eat_grass
from kinfolk.worlds.savanna.step.metabolism import AliveArrays, DeathArrays, kill_agent
from kinfolk.worlds.savanna.step.occupancy import (
    OccupancyArrays,
    refresh_occupied_cell,
    refresh_vacated_cell,
)


@inline
def find_prey(occupancy: OccupancyArrays, uid: Ints, w: int, cell: int) -> int:
    """The prey of lowest uid on a cell, -1 if there is none."""
    found = -1
    at = int(occupancy.first_in_cell[w, PREY, cell])
    while at >= 0:
        if found < 0 or uid[w, at] < uid[w, found]:
            found = at
        at = int(occupancy.next_in_cell[w, at])
    return found


@inline
def bite_prey(
    population: AliveArrays,
    occupancy: OccupancyArrays,
    deaths: DeathArrays,
    eating: EatingArrays,
    group: Ints,
    rules: SavannaRules,
    events: EventBuffer,
    w: int,
    row: int,
    prey: int,
    cell: int,
) -> None:
    """Transfer energy; the prey becomes a carcass, or is gone."""
    was_carcass = deaths.carcass[w, prey]
    meal = occupancy.energy[w, prey]
    taken = min(meal, rules.max_prey_bite)
    eating.step_event[w, row] = ATE
    population.reward[w, row] = rules.meal_reward[group[w, row]]
    got = add_energy(
        occupancy.energy,
        eating.energy_accounts,
        w,
        row,
        taken,
        rules.transfer_efficiency,
        rules.max_energy[PREDATOR],
    )
    refresh_occupied_cell(occupancy, rules.cell_erasure, w, PREDATOR, cell, row)
    eating.counters[w, CARCASS_BITES if was_carcass else LIVE_BITES] += 1
    record_event(
        events,
        w,
        CARCASS_BITE if was_carcass else BITE,
        population.uid[w, row],
        population.uid[w, prey],
        got,
    )
    rest = meal - taken
    if rest > 0.0:
        occupancy.energy[w, prey] = rest
        refresh_occupied_cell(occupancy, rules.cell_erasure, w, PREY, cell, prey)
        deaths.carcass[w, prey] = True
        if not was_carcass and occupancy.alive[w, prey]:
            eating.counters[w, CARCASSES] += 1
            record_event(events, w, CARCASS, population.uid[w, prey], population.uid[w, row], rest)
        return
    if occupancy.alive[w, prey]:
        kill_agent(
            occupancy,
            deaths,
            rules.size,
            rules.cell_erasure,
            rules.dead_prey_bitten,
            w,
            PREY,
            prey,
            EATEN,
        )
        population.reward[w, prey] = rules.caught_reward[2 + group[w, prey] - rules.n_types]
    else:  # published: who died before the bite is counted off again
        deaths.active[w, PREY] -= 1
        refresh_vacated_cell(occupancy, rules.cell_erasure, w, PREY, cell)
    if rules.dead_prey_bitten:
        deaths.carcass[w, prey] = True
        eating.energy_accounts[w, LOST_WITH_DEAD] -= (
            taken  # `removal.bury` adds all of its energy, taken or not
        )
    else:
        occupancy.energy[w, prey] = rest


@inline
def run_solo_predation(
    population: AliveArrays,
    occupancy: OccupancyArrays,
    deaths: DeathArrays,
    eating: EatingArrays,
    group: Ints,
    age: Ints,
    rules: SavannaRules,
    events: EventBuffer,
    first: int,
    last: int,
) -> None:
    """Prey graze; predators bite. Juveniles bite carcasses only."""
    step_reward, meal_reward, juvenile = rules.step_reward, rules.meal_reward, rules.juvenile_age
    size, types, erase = rules.size, rules.n_types, rules.cell_erasure
    for w in range(first, last):
        if population.done[w]:
            continue
        for i in range(population.n_alive[w, PREY]):
            prey = population.alive_rows[w, PREY, i]
            if not occupancy.alive[w, prey]:
                continue
            kind = 2 + group[w, prey] - types
            cell = occupancy.x[w, prey] * size + occupancy.y[w, prey]
            if deaths.carcass[w, prey] or eating.patch_in_cell[w, cell] < 0:
                population.reward[w, prey] = step_reward[kind]
            else:
                eat_grass(occupancy, eating, events, erase, w, prey, cell, meal_reward[kind])
        for i in range(population.n_alive[w, PREDATOR]):
            row = population.alive_rows[w, PREDATOR, i]
            if not occupancy.alive[w, row]:
                continue
            cell = occupancy.x[w, row] * size + occupancy.y[w, row]
            population.reward[w, row] = step_reward[group[w, row]]
            if occupancy.first_in_cell[w, PREY, cell] < 0:
                continue
            prey = find_prey(occupancy, population.uid, w, cell)
            if not deaths.carcass[w, prey] and age[w, row] < juvenile[group[w, row]]:
                eating.step_event[w, row] = DIET_BLOCKED
                eating.counters[w, DIET_BLOCKS] += 1
                record_event(
                    events,
                    w,
                    CARCASS_ONLY_BLOCK,
                    population.uid[w, row],
                    population.uid[w, prey],
                    age[w, row],
                )
            else:
                bite_prey(
                    population, occupancy, deaths, eating, group, rules, events, w, row, prey, cell
                )
