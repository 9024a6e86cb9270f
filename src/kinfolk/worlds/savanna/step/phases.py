"""One step of an episode, as a list of phases."""

from __future__ import annotations

from kinfolk.core.arrays import Bools, Ints
from kinfolk.core.jit import allocation_free_kernel
from kinfolk.worlds.savanna.events import EventBuffer
from kinfolk.worlds.savanna.rules import SavannaRules
from kinfolk.worlds.savanna.state import RowIndices, SavannaState
from kinfolk.worlds.savanna.step.births import run_births
from kinfolk.worlds.savanna.step.deaths import LineageArrays, remove_dead
from kinfolk.worlds.savanna.step.eating import get_eating_arrays
from kinfolk.worlds.savanna.step.episode_end import finish_step, pay_lineage_rewards
from kinfolk.worlds.savanna.step.metabolism import (
    AliveArrays,
    DeathArrays,
    apply_metabolism,
    free_dead_rows,
    grow_grass,
    kill_starved,
)
from kinfolk.worlds.savanna.step.movement import move_agents
from kinfolk.worlds.savanna.step.occupancy import get_occupancy
from kinfolk.worlds.savanna.step.predation import run_solo_predation
from kinfolk.worlds.savanna.step.team_capture import PredatorArrays, run_team_capture

# Worlds that go through a phase together: few enough to stay in the cache of one core.
WORLDS_PER_BLOCK = 4


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
    """The living move and eat, with team capture; the dead are buried.

    The two kernels that begin a step differ in one line. Who needs only one compiles only that.
    """
    h = AliveArrays(
        state.done,
        state.n_alive,
        state.alive_rows,
        state.ended_rows,
        state.n_ended,
        state.uid,
        state.reward,
    )
    g, e, t = (
        get_occupancy(state),
        DeathArrays(state.carcass, state.death_cause, state.active),
        get_eating_arrays(state, rules),
    )
    kin = LineageArrays(
        state.parent, state.living, state.live_descendants, state.prev_live_descendants
    )
    p = PredatorArrays(
        state.step_event, state.age, state.uid, state.group, state.counters, rules.juvenile_age
    )
    for a in range(first, last, WORLDS_PER_BLOCK):
        b = min(a + WORLDS_PER_BLOCK, last)
        free_dead_rows(h, events, state.terminated, state.free_rows, state.n_free, a, b)
        apply_metabolism(
            h,
            g,
            e,
            rules,
            events,
            state.tick,
            state.group,
            state.age,
            state.step_event,
            state.energy_accounts,
            all_agents_act,
            a,
            b,
        )
        grow_grass(
            state.done,
            state.grass_energy,
            state.visible_energy,
            state.patch_cell,
            state.energy_accounts,
            rules.grass_gain,
            rules.max_grass,
            a,
            b,
        )
        move_agents(
            g,
            rules,
            state.done,
            state.group,
            state.carcass,
            state.counters,
            state.energy_accounts,
            actions,
            acting_rows,
            n_acting,
            a,
            b,
        )
        kill_starved(h, g, e, rules.size, rules.cell_erasure, rules.dead_prey_bitten, a, b)
        run_team_capture(h, g, e, t, p, rules, events, helpers, reach_stamps, a, b)
        remove_dead(
            h,
            g,
            e,
            kin,
            events,
            state.terminated,
            state.counters,
            state.energy_accounts,
            rules.size,
            rules.dead_prey_bitten,
            a,
            b,
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
    """The living move and eat, with bites on one's own cell; the dead are buried."""
    h = AliveArrays(
        state.done,
        state.n_alive,
        state.alive_rows,
        state.ended_rows,
        state.n_ended,
        state.uid,
        state.reward,
    )
    g, e, t = (
        get_occupancy(state),
        DeathArrays(state.carcass, state.death_cause, state.active),
        get_eating_arrays(state, rules),
    )
    kin = LineageArrays(
        state.parent, state.living, state.live_descendants, state.prev_live_descendants
    )
    for a in range(first, last, WORLDS_PER_BLOCK):
        b = min(a + WORLDS_PER_BLOCK, last)
        free_dead_rows(h, events, state.terminated, state.free_rows, state.n_free, a, b)
        apply_metabolism(
            h,
            g,
            e,
            rules,
            events,
            state.tick,
            state.group,
            state.age,
            state.step_event,
            state.energy_accounts,
            all_agents_act,
            a,
            b,
        )
        grow_grass(
            state.done,
            state.grass_energy,
            state.visible_energy,
            state.patch_cell,
            state.energy_accounts,
            rules.grass_gain,
            rules.max_grass,
            a,
            b,
        )
        move_agents(
            g,
            rules,
            state.done,
            state.group,
            state.carcass,
            state.counters,
            state.energy_accounts,
            actions,
            acting_rows,
            n_acting,
            a,
            b,
        )
        kill_starved(h, g, e, rules.size, rules.cell_erasure, rules.dead_prey_bitten, a, b)
        run_solo_predation(h, g, e, t, state.group, state.age, rules, events, a, b)
        remove_dead(
            h,
            g,
            e,
            kin,
            events,
            state.terminated,
            state.counters,
            state.energy_accounts,
            rules.size,
            rules.dead_prey_bitten,
            a,
            b,
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
    """The rest of the step: births, what kin pay, endings; returns the most uids a world used.

    A kernel of its own, so that it can compile beside the one before it.
    """
    h = AliveArrays(
        state.done,
        state.n_alive,
        state.alive_rows,
        state.ended_rows,
        state.n_ended,
        state.uid,
        state.reward,
    )
    kin = LineageArrays(
        state.parent, state.living, state.live_descendants, state.prev_live_descendants
    )
    most = 0
    for a in range(first, last, WORLDS_PER_BLOCK):
        b = min(a + WORLDS_PER_BLOCK, last)
        run_births(state, rules, events, newborn_cells, a, b)
        pay_lineage_rewards(
            h,
            kin,
            events,
            state.group,
            rules.lineage_coeff,
            rules.n_types,
            rules.symmetric_lineage,
            a,
            b,
        )
        finish_step(
            h, state.tick, state.active, state.truncated, rules.max_steps, rules.zero_terminal, a, b
        )
        for w in range(a, b):
            most = max(most, state.next_uid[w])
    return most


@allocation_free_kernel
def find_invalid_action(
    done: Bools, n_alive: Ints, alive_rows: RowIndices, group: Ints, choices: Ints, actions: Ints
) -> int:
    """The first place of a living agent whose action is out of range, -1 if all are good."""
    rows = alive_rows.shape[2]
    for w in range(alive_rows.shape[0]):
        if done[w]:
            continue
        for k in range(2):
            for i in range(n_alive[w, k]):
                row = alive_rows[w, k, i]
                action = actions[w * rows + row, 0]
                if action < 0 or action >= choices[group[w, row]]:
                    return int(w * rows + row)
    return -1
