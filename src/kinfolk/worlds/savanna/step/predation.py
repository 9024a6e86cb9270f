"""Solo predation: prey graze first, then every predator bites the first prey on its own cell.

A bite that leaves energy makes a carcass: it neither moves, eats, reproduces nor ages, still loses
energy, can still be bitten, and still counts as prey until it is gone.

With the quirk `dead_prey_bitten`, prey that died in this step are still on their cells. Each bite
that finishes one off, the first and any later one, then does all that the published code does: it
subtracts the prey from the counter, blanks its cell and makes it a carcass to the next predator,
and it leaves the prey's energy as it was, so that the next predator gains it again.
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
from kinfolk.worlds.savanna.step.arrays import AliveArrays, DeathArrays, EatingArrays
from kinfolk.worlds.savanna.step.eating import add_energy, eat_grass
from kinfolk.worlds.savanna.step.metabolism import kill_agent
from kinfolk.worlds.savanna.step.occupancy import (
    OccupancyArrays,
    refresh_occupied_cell,
    refresh_vacated_cell,
)


@inline
def find_prey(occupancy: OccupancyArrays, uid: Ints, w: int, cell: int) -> int:
    """Return the row of the prey with the lowest uid on a cell, -1 if there is none.

    Args:
        occupancy: Read.
        uid: `[W, N]`.
        w: World.
        cell: Cell to search.
    """
    first = -1
    row = int(occupancy.first_in_cell[w, PREY, cell])
    while row >= 0:
        if first < 0 or uid[w, row] < uid[w, first]:
            first = row
        row = int(occupancy.next_in_cell[w, row])
    return first


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
    """Transfer energy from a prey to a predator; the prey becomes a carcass or dies.

    Args:
        population: Writes `reward`.
        occupancy: Writes `energy` and `visible_energy`.
        deaths: Writes `carcass`; written for a death.
        eating: Writes `step_event`, counters and accounts.
        group: `[W, N]`, group of each agent.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        row: Row of the predator.
        prey: Row of the prey.
        cell: The cell of both.
    """
    was_carcass = deaths.carcass[w, prey]
    prey_energy = occupancy.energy[w, prey]
    bite = min(prey_energy, rules.max_prey_bite)
    eating.step_event[w, row] = ATE
    population.reward[w, row] = rules.meal_reward[group[w, row]]
    gained = add_energy(
        occupancy.energy,
        eating.energy_accounts,
        w,
        row,
        bite,
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
        gained,
    )
    remaining = prey_energy - bite
    if remaining > 0.0:
        occupancy.energy[w, prey] = remaining
        refresh_occupied_cell(occupancy, rules.cell_erasure, w, PREY, cell, prey)
        deaths.carcass[w, prey] = True
        if not was_carcass and occupancy.alive[w, prey]:
            eating.counters[w, CARCASSES] += 1
            record_event(
                events, w, CARCASS, population.uid[w, prey], population.uid[w, row], remaining
            )
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
    else:  # published: prey that died before the bite is subtracted again
        deaths.active[w, PREY] -= 1
        refresh_vacated_cell(occupancy, rules.cell_erasure, w, PREY, cell)
    if rules.dead_prey_bitten:
        deaths.carcass[w, prey] = True
        # `remove_dead` will add all of its energy, bitten off or not.
        eating.energy_accounts[w, LOST_WITH_DEAD] -= bite
    else:
        occupancy.energy[w, prey] = remaining


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
    """Let prey eat grass, then predators bite prey on their cells; juveniles bite carcasses only.

    Args:
        population: Reads the living; writes `reward`.
        occupancy: Writes `energy` and `visible_energy`.
        deaths: Writes `carcass`; written for every death.
        eating: Written for every meal.
        group: `[W, N]`, group of each agent.
        age: `[W, N]`, age in steps.
        rules: Rules of the batch.
        events: Buffer, appended to.
        first: First world.
        last: End of the range of worlds, exclusive.
    """
    step_reward, meal_reward, juvenile_age = (
        rules.step_reward,
        rules.meal_reward,
        rules.juvenile_age,
    )
    size, n_types, cell_erasure = rules.size, rules.n_types, rules.cell_erasure
    for w in range(first, last):
        if population.done[w]:
            continue
        for i in range(population.n_alive[w, PREY]):
            prey = population.alive_rows[w, PREY, i]
            if not occupancy.alive[w, prey]:
                continue
            kind = 2 + group[w, prey] - n_types
            cell = occupancy.x[w, prey] * size + occupancy.y[w, prey]
            if deaths.carcass[w, prey] or eating.patch_in_cell[w, cell] < 0:
                population.reward[w, prey] = step_reward[kind]
            else:
                eat_grass(occupancy, eating, events, cell_erasure, w, prey, cell, meal_reward[kind])
        for i in range(population.n_alive[w, PREDATOR]):
            row = population.alive_rows[w, PREDATOR, i]
            if not occupancy.alive[w, row]:
                continue
            cell = occupancy.x[w, row] * size + occupancy.y[w, row]
            population.reward[w, row] = step_reward[group[w, row]]
            if occupancy.first_in_cell[w, PREY, cell] < 0:
                continue
            prey = find_prey(occupancy, population.uid, w, cell)
            if not deaths.carcass[w, prey] and age[w, row] < juvenile_age[group[w, row]]:
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
