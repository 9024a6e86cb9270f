"""One step of an episode as a list of phases."""

from __future__ import annotations

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import allocation_free_kernel, inline_always
from kinfolk.worlds.savanna.events import EventBuffer
from kinfolk.worlds.savanna.rules import SavannaRules
from kinfolk.worlds.savanna.state import RowIndices, SavannaState
from kinfolk.worlds.savanna.step.arrays import (
    AliveArrays,
    DeathArrays,
    get_alive_arrays,
    get_death_arrays,
    get_eating_arrays,
    get_lineage_arrays,
    get_predator_arrays,
)
from kinfolk.worlds.savanna.step.births import run_births
from kinfolk.worlds.savanna.step.deaths import remove_dead
from kinfolk.worlds.savanna.step.episode_end import finish_step, pay_lineage_rewards
from kinfolk.worlds.savanna.step.metabolism import (
    apply_metabolism,
    free_dead_rows,
    grow_grass,
    kill_starved,
)
from kinfolk.worlds.savanna.step.movement import move_agents
from kinfolk.worlds.savanna.step.occupancy import OccupancyArrays, get_occupancy
from kinfolk.worlds.savanna.step.predation import run_solo_predation
from kinfolk.worlds.savanna.step.team_capture import run_team_capture

# Worlds that run a phase together: few enough to stay in the cache of one core.
WORLDS_PER_BLOCK = 4


@inline_always
def run_phases_before_predation(
    state: SavannaState,
    rules: SavannaRules,
    events: EventBuffer,
    population: AliveArrays,
    occupancy: OccupancyArrays,
    deaths: DeathArrays,
    actions: Ints,
    acting_rows: RowIndices,
    n_acting: Ints,
    all_agents_act: bool,
    first: int,
    last: int,
) -> None:
    """Free rows, apply metabolism, grow grass, move agents and kill the starved.

    Args:
        state: State of the batch, written.
        rules: Rules of the batch.
        events: Buffer, emptied and written.
        population: Arrays of `state` that list the living and the dead.
        occupancy: Arrays of `state` that describe cells.
        deaths: Arrays of `state` that a death changes at once.
        actions: `[W * N, 1]`.
        acting_rows: `[W, 2, N]`, rows of each species that move, in order.
        n_acting: `[W, 2]`, how many of them.
        all_agents_act: Whether these are all living agents.
        first: First world.
        last: End of the range of worlds, exclusive.
    """
    free_dead_rows(population, events, state.terminated, state.free_rows, state.n_free, first, last)
    apply_metabolism(
        population,
        occupancy,
        deaths,
        rules,
        events,
        state.tick,
        state.group,
        state.age,
        state.step_event,
        state.energy_accounts,
        all_agents_act,
        first,
        last,
    )
    grow_grass(
        state.done,
        state.grass_energy,
        state.visible_energy,
        state.patch_cell,
        state.energy_accounts,
        rules.grass_gain,
        rules.max_grass,
        first,
        last,
    )
    move_agents(
        occupancy,
        rules,
        state.done,
        state.group,
        state.carcass,
        state.counters,
        state.energy_accounts,
        actions,
        acting_rows,
        n_acting,
        first,
        last,
    )
    kill_starved(
        population,
        occupancy,
        deaths,
        rules.size,
        rules.cell_erasure,
        rules.dead_prey_bitten,
        first,
        last,
    )


@allocation_free_kernel
def step_with_team_capture(
    state: SavannaState,
    rules: SavannaRules,
    events: EventBuffer,
    actions: Ints,
    acting_rows: RowIndices,
    n_acting: Ints,
    all_agents_act: bool,
    helpers: RowIndices,
    reach_stamps: Ints,
    first: int,
    last: int,
) -> None:
    """Run the first half of a step: metabolism, moves, team capture and removal of the dead.

    The two kernels that begin a step differ in one phase, so that a world compiles only the one it
    needs.

    Args:
        state: State of the batch, written.
        rules: Rules of the batch.
        events: Buffer, emptied and written.
        actions: `[W * N, 1]`.
        acting_rows: `[W, 2, N]`, rows of each species that move, in order.
        n_acting: `[W, 2]`, how many of them.
        all_agents_act: Whether these are all living agents.
        helpers: `[N]`, scratch.
        reach_stamps: `[(size + 2)**2 + 1]`, scratch that is kept between calls.
        first: First world.
        last: End of the range of worlds, exclusive.
    """
    population = get_alive_arrays(state)
    occupancy, deaths = get_occupancy(state), get_death_arrays(state)
    eating = get_eating_arrays(state, rules)
    lineage = get_lineage_arrays(state)
    predators = get_predator_arrays(state, rules)
    for start in range(first, last, WORLDS_PER_BLOCK):
        stop = min(start + WORLDS_PER_BLOCK, last)
        run_phases_before_predation(
            state,
            rules,
            events,
            population,
            occupancy,
            deaths,
            actions,
            acting_rows,
            n_acting,
            all_agents_act,
            start,
            stop,
        )
        run_team_capture(
            population,
            occupancy,
            deaths,
            eating,
            predators,
            rules,
            events,
            helpers,
            reach_stamps,
            start,
            stop,
        )
        remove_dead(
            population,
            occupancy,
            deaths,
            lineage,
            events,
            state.terminated,
            state.counters,
            state.energy_accounts,
            rules.size,
            rules.dead_prey_bitten,
            start,
            stop,
        )


@allocation_free_kernel
def step_with_solo_predation(
    state: SavannaState,
    rules: SavannaRules,
    events: EventBuffer,
    actions: Ints,
    acting_rows: RowIndices,
    n_acting: Ints,
    all_agents_act: bool,
    first: int,
    last: int,
) -> None:
    """Run the first half of a step: metabolism, moves, bites and removal of the dead.

    Args:
        state: State of the batch, written.
        rules: Rules of the batch.
        events: Buffer, emptied and written.
        actions: `[W * N, 1]`.
        acting_rows: `[W, 2, N]`, rows of each species that move, in order.
        n_acting: `[W, 2]`, how many of them.
        all_agents_act: Whether these are all living agents.
        first: First world.
        last: End of the range of worlds, exclusive.
    """
    population = get_alive_arrays(state)
    occupancy, deaths = get_occupancy(state), get_death_arrays(state)
    eating = get_eating_arrays(state, rules)
    lineage = get_lineage_arrays(state)
    for start in range(first, last, WORLDS_PER_BLOCK):
        stop = min(start + WORLDS_PER_BLOCK, last)
        run_phases_before_predation(
            state,
            rules,
            events,
            population,
            occupancy,
            deaths,
            actions,
            acting_rows,
            n_acting,
            all_agents_act,
            start,
            stop,
        )
        run_solo_predation(
            population,
            occupancy,
            deaths,
            eating,
            state.group,
            state.age,
            rules,
            events,
            start,
            stop,
        )
        remove_dead(
            population,
            occupancy,
            deaths,
            lineage,
            events,
            state.terminated,
            state.counters,
            state.energy_accounts,
            rules.size,
            rules.dead_prey_bitten,
            start,
            stop,
        )


@allocation_free_kernel
def step_births_and_end(
    state: SavannaState,
    rules: SavannaRules,
    events: EventBuffer,
    newborn_cells: Ints,
    first: int,
    last: int,
) -> int:
    """Run the second half of a step: births, lineage rewards and the end of the episode.

    It is a kernel of its own, so that it can be compiled in parallel with the first half.

    Args:
        state: State of the batch, written.
        rules: Rules of the batch.
        events: Buffer, appended to.
        newborn_cells: `[W, births]`, see `run_births`.
        first: First world.
        last: End of the range of worlds, exclusive.

    Returns:
        The highest number of uids that a world has used.
    """
    population = get_alive_arrays(state)
    lineage = get_lineage_arrays(state)
    max_uids = 0
    for start in range(first, last, WORLDS_PER_BLOCK):
        stop = min(start + WORLDS_PER_BLOCK, last)
        run_births(state, rules, events, newborn_cells, start, stop)
        pay_lineage_rewards(
            population,
            lineage,
            events,
            state.group,
            rules.lineage_coeff,
            rules.n_types,
            rules.symmetric_lineage,
            start,
            stop,
        )
        finish_step(
            population,
            state.tick,
            state.active,
            state.truncated,
            rules.max_steps,
            rules.zero_terminal,
            start,
            stop,
        )
        for w in range(start, stop):
            max_uids = max(max_uids, state.next_uid[w])
    return max_uids
