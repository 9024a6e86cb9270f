"""Effects of time: rows are freed, energy decays, agents age, grass grows, the dead are removed."""

from __future__ import annotations

import numpy as np

from kinfolk.core.jit import inline_always
from kinfolk.lineage.kernels import record_death
from kinfolk.worlds.savanna import codes
from kinfolk.worlds.savanna.rules import SavannaRules
from kinfolk.worlds.savanna.state import EventBuffer, SavannaState, add_event_details, record_event
from kinfolk.worlds.savanna.step.context import SavannaAgents, StepPart, get_slice
from kinfolk.worlds.savanna.step.occupancy import (
    get_cell,
    kill_agent,
    refresh_occupied_cell,
    refresh_vacated_cell,
    remove_from_cell,
    save_view,
)


@inline_always
def free_dead_rows(state: SavannaState, w: int) -> None:
    """Free the rows of agents that died in the step before."""
    for i in range(state.n_ended[w] - 1, -1, -1):
        row = state.ended_rows[w, i]
        state.uid[w, row] = -1
        state.reward[w, row] = 0.0
        state.terminated[w, row] = False
        state.free_rows[w, state.n_free[w]] = row
        state.n_free[w] += 1
    state.n_ended[w] = 0


@inline_always
def apply_metabolism(
    agents: SavannaAgents,
    rules: SavannaRules,
    events: EventBuffer,
    w: int,
    all_agents_act: bool,
    part: StepPart,
) -> bool:
    """Subtract the energy loss of a step from agents, and age all but carcasses.

    If all agents act, their moves will refresh the energy shown on cells; until then only agents
    without energy must be refreshed.

    Args:
        agents: Writes energies, ages, rewards, cells and accounts; written for deaths of age.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        all_agents_act: Whether every living agent moves in this step.
        part: Which agents.

    Returns:
        Whether one of them has reached its maximum age.
    """
    lazy = all_agents_act and not rules.cell_erasure
    any_overaged = False
    for species in range(2):
        decayed = 0.0
        first, last = get_slice(part, agents.n_alive[w, species])
        for i in range(first, last):
            row = agents.alive_rows[w, species, np.uint64(i)]
            kind = np.uint64(2 * species + agents.group[w, row] - species * rules.n_types)
            loss = rules.energy_loss[kind]
            if rules.metabolic_trait >= 0:
                loss *= agents.traits[w, row, rules.metabolic_trait]
            if rules.pays_energy:
                agents.energy_before[w, row] = agents.energy[w, row]
            agents.energy[w, row] -= loss
            decayed += loss
            agents.reward[w, row] = 0.0
            agents.step_event[w, row] = codes.NO_EVENT
            if not lazy or agents.carcass[w, row] or agents.energy[w, row] <= 0.0:
                refresh_occupied_cell(agents, w, species, row)
            if agents.carcass[w, row]:
                continue
            age = agents.age[w, row] + 1
            agents.age[w, row] = age
            last_fertile_age = rules.max_fertility_age[kind]
            # Founders, and limits of 0, can be past it in their first step.
            is_first_step = age == 1 or agents.tick[w] == 0
            if age == last_fertile_age or (is_first_step and 0 <= last_fertile_age < age):
                agents.counters[w, codes.EXPIRED_FERTILITY + species] += 1
                record_event(events, w, codes.FERTILITY_EXPIRED, agents.uid[w, row], -1, age)
            any_overaged = any_overaged or 0 <= rules.max_age[kind] <= age
        agents.energy_accounts[w, codes.DECAYED] += decayed
    return any_overaged


@inline_always
def kill_overaged(agents: SavannaAgents, rules: SavannaRules, w: int) -> None:
    """Kill the agents that have reached their maximum age.

    Args:
        agents: Written for every death.
        rules: Reads maximum ages.
        w: World.
    """
    active = agents.active
    for species in range(2):
        for i in range(agents.n_alive[w, species]):
            row = agents.alive_rows[w, species, i]
            max_age = rules.max_age[2 * species + agents.group[w, row] - species * rules.n_types]
            if 0 <= max_age <= agents.age[w, row] and not agents.carcass[w, row]:
                kill_agent(agents, w, species, row, codes.MAX_AGE)
                # Published: the counter may already be too low, but not below zero here.
                active[w, species] = max(active[w, species], 0)


@inline_always
def grow_grass(state: SavannaState, rules: SavannaRules, w: int, part: StepPart) -> None:
    """Add energy to patches of grass, up to their maximum; seasons change how much.

    Args:
        state: Writes the energy of grass.
        rules: Rules of the batch.
        w: World.
        part: Which patches.
    """
    grown, gain, max_energy = 0.0, rules.grass_gain, rules.max_grass
    if rules.season_length > 0:
        is_odd = (state.tick[w] // rules.season_length) % 2 == 1
        gain *= rules.season_low if is_odd else rules.season_high
    first, last = get_slice(part, state.grass_energy.shape[1])
    energy, shown = state.grass_energy[w], state.visible_energy[w, codes.GRASS]
    patch_cell = state.patch_cell[w]
    for patch in range(first, last):
        before = energy[np.uint64(patch)]
        # Writing full patches again is faster than a branch, unless it loads their cells.
        if rules.exceeds_cache and before == max_energy:
            continue
        after = min(before + gain, max_energy)
        energy[np.uint64(patch)] = after
        grown += after - before
        shown[np.uint64(patch_cell[np.uint64(patch)])] = after
    state.energy_accounts[w, codes.GROWN] += grown


@inline_always
def starve(agents: SavannaAgents, rules: SavannaRules, w: int, species: int, row: int) -> None:
    """Kill an agent without energy, or remove a carcass, whose prey died when it was caught.

    Args:
        agents: Written for the death.
        rules: Rules of the batch.
        w: World.
        species: PREDATOR or PREY.
        row: Row of the agent.
    """
    was_caught = agents.carcass[w, row] and not rules.carcasses_live
    kill_agent(agents, w, species, row, codes.EATEN if was_caught else codes.STARVED)


@inline_always
def kill_starved(agents: SavannaAgents, rules: SavannaRules, w: int) -> None:
    """Kill all agents and carcasses without energy.

    Args:
        agents: Written for every death.
        rules: Rules of the batch.
        w: World.
    """
    for species in range(2):
        for i in range(agents.n_alive[w, species]):
            row = agents.alive_rows[w, species, i]
            if agents.energy[w, row] <= 0.0:
                if agents.alive[w, row]:
                    if rules.view_at_death:
                        save_view(agents, rules, w, species, row)
                    starve(agents, rules, w, species, row)
                elif agents.dead_prey_stay:
                    # Published: an agent too old and starved in one step dies twice.
                    agents.active[w, species] -= 1
                    refresh_vacated_cell(agents, w, species, get_cell(agents, w, row), row)


@inline_always
def remove_agent(
    agents: SavannaAgents,
    rules: SavannaRules,
    state: SavannaState,
    events: EventBuffer,
    w: int,
    species: int,
    row: int,
) -> None:
    """Remove an agent that died, or became a carcass, from its lineage; list it if it died.

    A prey that became a carcass is dead to its kin from the first bite on.

    Args:
        agents: Writes rewards, counters and accounts, and cells of dead prey.
        rules: Rules of the batch.
        state: Writes the list of the dead, and lineages.
        events: Buffer, appended to.
        w: World.
        species: PREDATOR or PREY.
        row: Row of the agent.
    """
    uid, cause = agents.uid[w, row], agents.death_cause[w, row]
    record_death(state.parent, state.living, state.live_descendants, w, uid)
    if agents.alive[w, row]:
        return
    state.terminated[w, row] = True
    state.ended_rows[w, state.n_ended[w]] = row
    state.n_ended[w] += 1
    agents.energy_accounts[w, codes.LOST_WITH_DEAD] += agents.energy[w, row]
    agents.counters[w, codes.DEATHS + 2 * (cause - 1) + species] += 1
    if species == codes.PREY and agents.dead_prey_stay:
        remove_from_cell(agents, w, species, get_cell(agents, w, row), row)
    record_event(events, w, codes.DEATH, uid, -1, cause)
    kind = 2 * species + agents.group[w, row] - species * rules.n_types
    agents.reward[w, row] += rules.death_reward[kind]
    age, cell = agents.age[w, row], get_cell(agents, w, row)
    add_event_details(events, w, float(age), rules.death_reward[kind], cell, cell, 0.0)


@inline_always
def remove_dead(
    agents: SavannaAgents, rules: SavannaRules, state: SavannaState, events: EventBuffer, w: int
) -> None:
    """Remove the dead from `alive_rows`, lineages and cells; their rows stay occupied for a step.

    Args:
        agents: Writes `alive_rows`, rewards, counters and accounts, and cells of dead prey.
        rules: Rules of the batch.
        state: Writes the list of the dead, and lineages.
        events: Buffer, appended to.
        w: World.
    """
    for species in range(2):
        n_survivors = 0
        for i in range(agents.n_alive[w, species]):
            row = agents.alive_rows[w, species, i]
            is_alive = agents.alive[w, row]
            if is_alive:
                agents.alive_rows[w, species, n_survivors] = row
                n_survivors += 1
            if not is_alive or agents.carcass[w, row]:
                remove_agent(agents, rules, state, events, w, species, row)
        agents.n_alive[w, species] = n_survivors
