"""Eating, and solo predation: prey graze, then every predator bites the first prey on its cell.

A bite that leaves energy makes a carcass: it neither moves, eats, reproduces nor ages, still loses
energy, can still be bitten, and still counts as prey until it is gone.

With the quirk `dead_prey_bitten`, prey that died in this step are still on their cells. Each bite
that finishes one off, the first and any later one, then does all that PredPreyGrass does: it
subtracts the prey from the counter, blanks its cell and makes it a carcass to the next predator,
and it leaves the prey's energy as it was, so that the next predator gains it again.
"""

from __future__ import annotations

import numpy as np

from kinfolk.core.jit import inline_always, prefetch
from kinfolk.worlds.savanna import codes
from kinfolk.worlds.savanna.codes import PREDATOR, PREY
from kinfolk.worlds.savanna.rules import SavannaRules
from kinfolk.worlds.savanna.state import EventBuffer, add_event_details, record_event
from kinfolk.worlds.savanna.step.context import SavannaAgents, StepPart, get_slice
from kinfolk.worlds.savanna.step.occupancy import (
    get_cell,
    kill_agent,
    refresh_occupied_cell,
    refresh_vacated_cell,
    save_view,
)


@inline_always
def add_energy(
    agents: SavannaAgents, w: int, species: int, row: int, bite: float, rules: SavannaRules
) -> float:
    """Add a meal to an agent's energy and return the energy gained.

    The efficiency of meals and the highest energy limit the gain.

    Args:
        agents: Writes `energy` and `visible_energy`.
        w: World.
        species: PREDATOR or PREY.
        row: Row of the eater.
        bite: Energy taken from the food.
        rules: Reads the efficiency of meals and the highest energy.
    """
    efficiency, max_energy = rules.transfer_efficiency, rules.max_energy[species]
    if rules.metabolic_trait >= 0:
        efficiency *= agents.traits[w, row, rules.metabolic_trait] ** rules.metabolic_alpha
    before = agents.energy[w, row]
    after = before + bite * efficiency
    gained = bite
    if after > max_energy or efficiency != 1.0:
        after = min(after, max(before, max_energy))
        gained = after - before
    agents.energy[w, row] = after
    refresh_occupied_cell(agents, w, species, row)
    return gained


@inline_always
def graze(
    agents: SavannaAgents, rules: SavannaRules, events: EventBuffer, w: int, row: int
) -> None:
    """Let a prey eat the grass on its cell, or give it the reward of a step; a carcass gets neither.

    With the quirk `carcasses_live`, a carcass gets the reward of a step.

    Args:
        agents: Writes grass, energies, rewards, counters and accounts.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        row: Row of the prey.
    """
    kind = np.uint64(2 + agents.group[w, row] - rules.n_types)
    cell = get_cell(agents, w, row)
    patch = agents.patch_in_cell[w, np.uint64(cell)]
    if agents.carcass[w, row] and not rules.carcasses_live:
        return
    if agents.carcass[w, row] or patch < 0:
        agents.reward[w, row] = rules.step_reward[kind]
        return
    agents.reward[w, row] = rules.meal_reward[kind]
    available, before = agents.grass_energy[w, patch], agents.energy[w, row]
    bite = min(available, rules.max_grass_bite[kind])
    if rules.leave_small_bite and kind == np.uint64(2):
        bite = min(bite, max(0.0, available - rules.max_grass_bite[3]))
    remaining = available - bite
    agents.grass_energy[w, patch] = remaining
    agents.visible_energy[w, codes.GRASS, cell] = remaining
    gained = add_energy(agents, w, PREY, row, bite, rules)
    agents.energy_accounts[w, codes.WASTED] += bite - gained
    agents.step_event[w, row] = codes.ATE
    agents.counters[w, codes.GRASS_BITES] += 1
    record_event(events, w, codes.EAT, agents.uid[w, row], patch, gained)
    add_event_details(events, w, agents.energy[w, row], before, cell, cell, available)


@inline_always
def prefetch_meal(agents: SavannaAgents, w: int, row: int) -> None:
    """Start to load what `graze` reads of a prey's cell, if there is grass.

    Args:
        agents: Cells of agents and grass.
        w: World.
        row: Row of the prey.
    """
    n_cells, n_planes = agents.size * agents.size, agents.visible_energy.shape[1]
    cell = get_cell(agents, w, row)
    patch = agents.patch_in_cell[w, cell]
    if patch >= 0:
        prefetch(agents.grass_energy, w * agents.grass_energy.shape[1] + patch)
        prefetch(agents.first_in_cell, (w * 2 + PREY) * n_cells + cell)
        prefetch(agents.visible_energy, (w * n_planes + PREY) * n_cells + cell)
        prefetch(agents.visible_energy, (w * n_planes + codes.GRASS) * n_cells + cell)


@inline_always
def find_prey(agents: SavannaAgents, w: int, cell: int) -> int:
    """Return the row of the prey with the lowest uid on a cell, -1 if there is none.

    Args:
        agents: Reads the list of the cell.
        w: World.
        cell: Cell to search.
    """
    first = -1
    row = int(agents.first_in_cell[w, PREY, cell])
    while row >= 0:
        if first < 0 or agents.uid[w, row] < agents.uid[w, first]:
            first = row
        row = int(agents.next_in_cell[w, row])
    return first


@inline_always
def bite_prey(
    agents: SavannaAgents, rules: SavannaRules, events: EventBuffer, w: int, row: int, prey: int
) -> None:
    """Transfer energy from a prey to a predator; the prey becomes a carcass or dies.

    Args:
        agents: Writes energies, rewards, counters and accounts; written for a death.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        row: Row of the predator.
        prey: Row of the prey, on the same cell.
    """
    was_carcass = agents.carcass[w, prey]
    prey_energy, before = agents.energy[w, prey], agents.energy[w, row]
    cell = get_cell(agents, w, row)
    bite = min(prey_energy, rules.max_prey_bite)
    agents.reward[w, row] = rules.meal_reward[agents.group[w, row]]
    gained = add_energy(agents, w, PREDATOR, row, bite, rules)
    agents.energy_accounts[w, codes.WASTED] += bite - gained
    agents.step_event[w, row] = codes.ATE
    agents.counters[w, codes.CARCASS_BITES if was_carcass else codes.LIVE_BITES] += 1
    kind = codes.CARCASS_BITE if was_carcass else codes.BITE
    record_event(events, w, kind, agents.uid[w, row], agents.uid[w, prey], gained)
    add_event_details(events, w, agents.energy[w, row], before, cell, cell, prey_energy)
    if rules.satiation > 0:
        agents.satiated_until[w, row] = agents.tick[w] + rules.satiation
    remaining = prey_energy - bite
    if remaining > 0.0 and rules.leave_carcass:
        agents.energy[w, prey] = remaining
        refresh_occupied_cell(agents, w, PREY, prey)
        agents.carcass[w, prey] = True
        if not was_carcass and agents.alive[w, prey]:
            agents.counters[w, codes.CARCASSES] += 1
            uid = agents.uid[w, prey]
            record_event(events, w, codes.CARCASS, uid, agents.uid[w, row], remaining)
        return
    if rules.view_at_death:
        save_view(agents, rules, w, PREY, prey)
    if agents.alive[w, prey]:
        kill_agent(agents, w, PREY, prey, codes.EATEN)
        agents.reward[w, prey] = rules.caught_reward[2 + agents.group[w, prey] - rules.n_types]
    else:  # as in PredPreyGrass: prey that died before the bite is subtracted again
        agents.active[w, PREY] -= 1
        refresh_vacated_cell(agents, w, PREY, get_cell(agents, w, prey), prey)
    if rules.dead_prey_bitten:
        agents.carcass[w, prey] = True
        # `remove_dead` will add all of its energy, bitten off or not.
        agents.energy_accounts[w, codes.LOST_WITH_DEAD] -= bite
    else:
        agents.energy[w, prey] = remaining


@inline_always
def run_grazing(
    agents: SavannaAgents, rules: SavannaRules, events: EventBuffer, w: int, part: StepPart
) -> None:
    """Let prey eat the grass on their cells.

    Args:
        agents: Writes grass, energies, rewards, counters and accounts.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        part: Which prey.
    """
    first, last = get_slice(part, agents.n_alive[w, PREY])
    for i in range(first, last):
        prey = agents.alive_rows[w, PREY, i]
        if agents.alive[w, prey]:
            graze(agents, rules, events, w, prey)


@inline_always
def run_solo_predation(
    agents: SavannaAgents, rules: SavannaRules, events: EventBuffer, w: int
) -> None:
    """Let predators bite prey on their cells; juveniles bite carcasses only.

    Args:
        agents: Written for every meal and death.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
    """
    for i in range(agents.n_alive[w, PREDATOR]):
        row = agents.alive_rows[w, PREDATOR, i]
        if not agents.alive[w, row]:
            continue
        group, age = agents.group[w, row], agents.age[w, row]
        cell = get_cell(agents, w, row)
        agents.reward[w, row] = rules.step_reward[group]
        prey = find_prey(agents, w, cell)
        if prey < 0:
            continue
        if rules.satiation > 0 and agents.tick[w] < agents.satiated_until[w, row]:
            agents.counters[w, codes.SATIATION_BLOCKS] += 1
            continue
        if agents.carcass[w, prey] or age >= rules.juvenile_age[group]:
            bite_prey(agents, rules, events, w, row, prey)
        else:
            block_bite(agents, events, w, row, prey)


@inline_always
def block_bite(agents: SavannaAgents, events: EventBuffer, w: int, row: int, prey: int) -> None:
    """Count and record that a juvenile may not bite a living prey.

    Args:
        agents: Writes `step_event` and counters.
        events: Buffer, appended to.
        w: World.
        row: Row of the juvenile.
        prey: Row of the prey.
    """
    agents.step_event[w, row] = codes.DIET_BLOCKED
    agents.counters[w, codes.DIET_BLOCKS] += 1
    uid, other, age = agents.uid[w, row], agents.uid[w, prey], agents.age[w, row]
    record_event(events, w, codes.CARCASS_ONLY_BLOCK, uid, other, age)
