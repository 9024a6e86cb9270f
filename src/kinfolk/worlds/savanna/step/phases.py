"""One step of an episode as a list of phases, and the kernels that run them.

Three kernels, so that a world compiles only the kind of predation it needs, and the two halves of
a step can be compiled in parallel.
"""

from __future__ import annotations

from kinfolk.core.arrays import Bools, Ints
from kinfolk.core.jit import allocation_free_kernel, inline_always
from kinfolk.lineage.kernels import compute_lineage_reward, update_descendant_change
from kinfolk.worlds.savanna.codes import LINEAGE_REWARD, PREDATOR, PREY, REWARD
from kinfolk.worlds.savanna.rules import SavannaRules
from kinfolk.worlds.savanna.state import EventBuffer, RowIndices, SavannaState, record_event
from kinfolk.worlds.savanna.step import metabolism
from kinfolk.worlds.savanna.step.births import NewbornValues, run_births
from kinfolk.worlds.savanna.step.context import (
    CaptureScratch,
    StepActions,
    get_agent_arrays,
)
from kinfolk.worlds.savanna.step.donation import run_donations
from kinfolk.worlds.savanna.step.movement import move_agents
from kinfolk.worlds.savanna.step.predation import run_solo_predation
from kinfolk.worlds.savanna.step.team_capture import run_team_capture


@allocation_free_kernel
def find_invalid_action(
    done: Bools, n_alive: Ints, alive_rows: RowIndices, group: Ints, choices: Ints, actions: Ints
) -> int:
    """Return the first batch row of a living agent whose action is out of range, -1 if none.

    Args:
        done: `[W]`, worlds that are skipped.
        n_alive: `[W, 2]`, entries of `alive_rows`.
        alive_rows: `[W, 2, N]`, rows of the living.
        group: `[W, N]`, group of each agent.
        choices: `[groups, heads]`, number of actions.
        actions: `[W * N, heads]`.
    """
    rows = alive_rows.shape[2]
    for w in range(alive_rows.shape[0]):
        if done[w]:
            continue
        for species in range(2):
            for i in range(n_alive[w, species]):
                row = alive_rows[w, species, i]
                for head in range(actions.shape[1]):
                    action = actions[w * rows + row, head]
                    if action < 0 or action >= choices[group[w, row], head]:
                        return int(w * rows + row)
    return -1


@allocation_free_kernel
def step_with_team_capture(
    state: SavannaState,
    rules: SavannaRules,
    events: EventBuffer,
    moves: StepActions,
    scratch: CaptureScratch,
    first: int,
    last: int,
) -> None:
    """Run the first half of a step: metabolism, moves, team capture and removal of the dead.

    Args:
        state: State of the batch, written.
        rules: Rules of the batch.
        events: Buffer, emptied and written.
        moves: Actions, and the order of moves.
        scratch: Working memory of the calling thread.
        first: First world.
        last: End of the range of worlds, exclusive.
    """
    agents = get_agent_arrays(state, rules)
    for w in range(first, last):
        events.n_events[w] = 0
        if not state.done[w]:
            metabolism.free_dead_rows(state, w)
            metabolism.apply_metabolism(agents, rules, events, w, state.tick[w], moves.all_act)
            metabolism.grow_grass(state, rules, w)
            move_agents(agents, rules, events, w, moves)
            metabolism.kill_starved(agents, rules, w)
            if rules.donates:
                run_donations(agents, rules, events, w)
            run_team_capture(agents, rules, events, w, moves.actions, scratch)
            metabolism.remove_dead(agents, rules, state, events, w)


@allocation_free_kernel
def step_with_solo_predation(
    state: SavannaState,
    rules: SavannaRules,
    events: EventBuffer,
    moves: StepActions,
    first: int,
    last: int,
) -> None:
    """Run the first half of a step: metabolism, moves, bites and removal of the dead.

    Args:
        state: State of the batch, written.
        rules: Rules of the batch.
        events: Buffer, emptied and written.
        moves: Actions, and the order of moves.
        first: First world.
        last: End of the range of worlds, exclusive.
    """
    agents = get_agent_arrays(state, rules)
    for w in range(first, last):
        events.n_events[w] = 0
        if not state.done[w]:
            metabolism.free_dead_rows(state, w)
            metabolism.apply_metabolism(agents, rules, events, w, state.tick[w], moves.all_act)
            metabolism.grow_grass(state, rules, w)
            move_agents(agents, rules, events, w, moves)
            metabolism.kill_starved(agents, rules, w)
            if rules.donates:
                run_donations(agents, rules, events, w)
            run_solo_predation(agents, rules, events, w)
            metabolism.remove_dead(agents, rules, state, events, w)


@allocation_free_kernel
def step_births_and_end(
    state: SavannaState,
    rules: SavannaRules,
    events: EventBuffer,
    newborns: NewbornValues,
    first: int,
    last: int,
) -> int:
    """Run the second half of a step: births, lineage rewards and the end of the episode.

    Args:
        state: State of the batch, written.
        rules: Rules of the batch.
        events: Buffer, appended to.
        newborns: See `NewbornValues`.
        first: First world.
        last: End of the range of worlds, exclusive.

    Returns:
        The highest number of uids that a world has used.
    """
    max_uids = 0
    for w in range(first, last):
        if not state.done[w]:
            run_births(state, rules, events, w, newborns)
            pay_lineage_rewards(state, rules, events, w)
            if rules.pays_energy:
                pay_energy_changes(state, rules, w)
            finish_step(state, rules, events, w)
        max_uids = max(max_uids, state.next_uid[w])
    return max_uids


@inline_always
def pay_lineage_rewards(
    state: SavannaState, rules: SavannaRules, events: EventBuffer, w: int
) -> None:
    """Reward all living agents, carcasses too, for the change in their live descendants.

    Args:
        state: Writes `reward` and `prev_live_descendants`.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
    """
    descendants, previous = state.live_descendants, state.prev_live_descendants
    for species in range(2):
        for i in range(state.n_alive[w, species]):
            row = state.alive_rows[w, species, i]
            uid = state.uid[w, row]
            change = update_descendant_change(descendants, previous, w, uid)
            if change != 0:
                kind = 2 * species + state.group[w, row] - species * rules.n_types
                coefficient = rules.lineage_coeff[kind]
                reward = compute_lineage_reward(coefficient, change, rules.symmetric_lineage)
                state.reward[w, row] += reward
                record_event(events, w, LINEAGE_REWARD, uid, -1, reward)


@inline_always
def pay_energy_changes(state: SavannaState, rules: SavannaRules, w: int) -> None:
    """Reward all agents for the change of their energy in this step; the dead have none left.

    Args:
        state: Writes `reward`.
        rules: Rules of the batch.
        w: World.
    """
    for species in range(2):
        for i in range(state.n_alive[w, species]):
            row = state.alive_rows[w, species, i]
            kind = 2 * species + state.group[w, row] - species * rules.n_types
            change = state.energy[w, row] - state.energy_before[w, row]
            state.reward[w, row] += rules.energy_reward[kind] * change
    for i in range(state.n_ended[w]):
        row = state.ended_rows[w, i]
        species = PREDATOR if state.group[w, row] < rules.n_types else PREY
        kind = 2 * species + state.group[w, row] - species * rules.n_types
        state.reward[w, row] -= rules.energy_reward[kind] * state.energy_before[w, row]


@inline_always
def record_rewards(state: SavannaState, events: EventBuffer, w: int) -> None:
    """Record the rewards of this step that are not 0.

    Args:
        state: Reads rewards.
        events: Buffer, appended to.
        w: World.
    """
    for species in range(2):
        for i in range(state.n_alive[w, species]):
            row = state.alive_rows[w, species, i]
            if state.reward[w, row] != 0.0:
                record_event(events, w, REWARD, state.uid[w, row], -1, state.reward[w, row])
    for i in range(state.n_ended[w]):
        row = state.ended_rows[w, i]
        if state.reward[w, row] != 0.0:
            record_event(events, w, REWARD, state.uid[w, row], -1, state.reward[w, row])


@inline_always
def finish_step(state: SavannaState, rules: SavannaRules, events: EventBuffer, w: int) -> None:
    """Advance the clock; end the episode when a species is extinct or time is up.

    Args:
        state: Writes `tick`, `done`, flags and, with `zero_terminal`, `reward`.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
    """
    if rules.zero_terminal:
        for i in range(state.n_ended[w]):
            state.reward[w, state.ended_rows[w, i]] = 0.0
    if events.entries.shape[1] > 0:
        record_rewards(state, events, w)
    state.tick[w] += 1
    is_over = state.tick[w] >= rules.max_steps
    extinct = state.active[w, PREDATOR] <= 0 or state.active[w, PREY] <= 0
    if extinct or is_over:
        state.done[w] = True
        for species in range(2):
            for i in range(state.n_alive[w, species]):
                row = state.alive_rows[w, species, i]
                if rules.extinction_terminates and not is_over:
                    state.terminated[w, row] = True
                else:
                    state.truncated[w, row] = True
