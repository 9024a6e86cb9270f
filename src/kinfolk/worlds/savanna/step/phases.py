"""One step of an episode as a list of phases, and the kernels that run them.

Three kernels, so that a world compiles only the kind of predation it needs, and the two halves of
a step can be compiled in parallel.

A call runs some stages of a step, for one part of the agents. A small world runs all stages in one
call. In the stages `GROW` and `PAY` agents do not depend on each other, so threads can share the parts
of a large world; how they share the other stages, which follow the order of uids, see `parts`.
"""

from __future__ import annotations

import numpy as np

from kinfolk.core.arrays import Bools, Ints
from kinfolk.core.jit import allocation_free_kernel, inline_always
from kinfolk.worlds.savanna.codes import PREDATOR, PREY
from kinfolk.worlds.savanna.rules import SavannaRules
from kinfolk.worlds.savanna.state import EventBuffer, RowIndices, SavannaState
from kinfolk.worlds.savanna.step import metabolism
from kinfolk.worlds.savanna.step.births import NewbornValues, run_births
from kinfolk.worlds.savanna.step.context import (
    SavannaAgents,
    StepActions,
    StepPart,
    StepScratch,
    get_agent_arrays,
)
from kinfolk.worlds.savanna.step.donation import run_donations
from kinfolk.worlds.savanna.step.movement import move_agents
from kinfolk.worlds.savanna.step.predation import run_grazing, run_solo_predation
from kinfolk.worlds.savanna.step.rewards import (
    pay_energy_changes,
    pay_lineage_rewards,
    record_rewards,
)
from kinfolk.worlds.savanna.step.team_capture import mark_predator_reach, run_team_capture

# Bits of `StepPart.stages`. Stages of the first half of a step:
GROW, ACT = 1, 2
# and of the second:
BIRTHS, PAY, END = 4, 8, 16
WHOLE_STEP = StepPart(GROW | ACT | BIRTHS | PAY | END, 0, 1)

# A stage runs for as many worlds before the next one begins: their arrays stay in a cache of 1 MB, and
# the processor need not load the code of all stages again for every world.
WORLDS_PER_BLOCK = 16
_CHUNK = 4096  # actions that are looked at together


@inline_always
def are_valid_for_all(choices: Ints, actions: Ints) -> bool:
    """Return whether all actions, those of empty rows too, are in the range of every group.

    This takes a fraction of the time of looking at each agent, and is nearly always true.
    """
    fewest, largest, flat = choices[0, 0], np.uint64(0), actions.reshape(-1)
    for group in range(choices.shape[0]):
        for head in range(choices.shape[1]):
            fewest = min(fewest, choices[group, head])
    for start in range(0, flat.shape[0], _CHUNK):
        for i in range(start, min(start + _CHUNK, flat.shape[0])):
            largest = max(largest, np.uint64(flat[i]))  # a negative one is larger than any choice
        if largest >= np.uint64(fewest):
            return False
    return True


@allocation_free_kernel
def are_all_valid(choices: Ints, actions: Ints) -> bool:
    """Return whether all of some actions are in the range of every group."""
    return are_valid_for_all(choices, actions)


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
    if are_valid_for_all(choices, actions):
        return -1
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
    scratch: StepScratch,
    first: int,
    last: int,
    part: StepPart,
) -> None:
    """Run the first half of a step: metabolism, moves, team capture and removal of the dead.

    Args:
        state: State of the batch, written.
        rules: Rules of the batch.
        events: Buffer, emptied and written.
        moves: Actions, and the order of moves.
        scratch: Working memory.
        first: First world.
        last: End of the range of worlds, exclusive.
        part: Stages to run, and part of the agents.
    """
    agents = get_agent_arrays(state, rules)
    for block in range(first, last, WORLDS_PER_BLOCK):
        end = min(block + WORLDS_PER_BLOCK, last)
        if part.stages & GROW:
            for w in range(block, end):
                grow(state, agents, rules, events, w, moves, scratch, part, w - block)
        if part.stages & ACT:
            for w in range(block, end):
                if not state.done[w]:
                    move(agents, rules, events, w, moves, scratch.any_overaged[w - block])
            for w in range(block, end):
                if not state.done[w]:
                    mark_predator_reach(agents, rules, w, scratch.reach_stamps)
                    run_team_capture(agents, rules, events, w, moves.actions, scratch)
                    metabolism.remove_dead(agents, rules, state, events, w)


@allocation_free_kernel
def step_with_solo_predation(
    state: SavannaState,
    rules: SavannaRules,
    events: EventBuffer,
    moves: StepActions,
    scratch: StepScratch,
    first: int,
    last: int,
    part: StepPart,
) -> None:
    """Run the first half of a step: metabolism, moves, bites and removal of the dead.

    Args:
        state: State of the batch, written.
        rules: Rules of the batch.
        events: Buffer, emptied and written.
        moves: Actions, and the order of moves.
        scratch: Working memory.
        first: First world.
        last: End of the range of worlds, exclusive.
        part: Stages to run, and part of the agents.
    """
    agents = get_agent_arrays(state, rules)
    for block in range(first, last, WORLDS_PER_BLOCK):
        end = min(block + WORLDS_PER_BLOCK, last)
        if part.stages & GROW:
            for w in range(block, end):
                grow(state, agents, rules, events, w, moves, scratch, part, w - block)
        if part.stages & ACT:
            for w in range(block, end):
                if not state.done[w]:
                    move(agents, rules, events, w, moves, scratch.any_overaged[w - block])
            for w in range(block, end):
                if not state.done[w]:
                    run_grazing(agents, rules, events, w, part)
                    run_solo_predation(agents, rules, events, w)
                    metabolism.remove_dead(agents, rules, state, events, w)


@inline_always
def grow(
    state: SavannaState,
    agents: SavannaAgents,
    rules: SavannaRules,
    events: EventBuffer,
    w: int,
    moves: StepActions,
    scratch: StepScratch,
    part: StepPart,
    slot: int,
) -> None:
    """Free the rows of the dead, let agents lose energy and age, and let grass grow.

    Args:
        state: Writes free rows and grass.
        agents: Writes energies, ages, rewards, cells and accounts.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        moves: Reads whether all agents act.
        scratch: Writes `any_overaged`.
        part: Which agents and patches.
        slot: Index of the world in its block.
    """
    if part.number == 0:
        events.n_events[w] = 0
    if state.done[w]:
        return
    if part.number == 0:
        metabolism.free_dead_rows(state, w)
    scratch.any_overaged[slot + part.number] = metabolism.apply_metabolism(
        agents, rules, events, w, moves.all_act, part
    )
    metabolism.grow_grass(state, rules, w, part)


@inline_always
def move(
    agents: SavannaAgents,
    rules: SavannaRules,
    events: EventBuffer,
    w: int,
    moves: StepActions,
    any_overaged: bool,
) -> None:
    """Let agents die of age, move, starve and give, in that order.

    Args:
        agents: Written for moves, deaths and gifts.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        moves: Actions, and the order of moves.
        any_overaged: Whether some agents have reached their maximum age.
    """
    if any_overaged:
        metabolism.kill_overaged(agents, rules, w)
    move_agents(agents, rules, events, w, moves)
    metabolism.kill_starved(agents, rules, w)
    if rules.donates:
        run_donations(agents, rules, events, w)


@allocation_free_kernel
def step_births_and_end(
    state: SavannaState,
    rules: SavannaRules,
    events: EventBuffer,
    newborns: NewbornValues,
    first: int,
    last: int,
    part: StepPart,
) -> int:
    """Run the second half of a step: births, lineage rewards and the end of the episode.

    Args:
        state: State of the batch, written.
        rules: Rules of the batch.
        events: Buffer, appended to.
        newborns: See `NewbornValues`.
        first: First world.
        last: End of the range of worlds, exclusive.
        part: Stages to run, and part of the agents.

    Returns:
        The highest number of uids that a world has used.
    """
    max_uids = 0
    for block in range(first, last, WORLDS_PER_BLOCK):
        end = min(block + WORLDS_PER_BLOCK, last)
        if part.stages & BIRTHS:
            for w in range(block, end):
                if not state.done[w]:
                    run_births(state, rules, events, w, newborns)
        if part.stages & PAY:
            for w in range(block, end):
                if not state.done[w]:
                    pay_lineage_rewards(state, rules, events, w, part)
        if part.stages & END:
            for w in range(block, end):
                if not state.done[w]:
                    if rules.pays_energy:
                        pay_energy_changes(state, rules, w)
                    finish_step(state, rules, events, w)
        for w in range(block, end):
            max_uids = max(max_uids, state.next_uid[w])
    return max_uids


@inline_always
def finish_step(state: SavannaState, rules: SavannaRules, events: EventBuffer, w: int) -> None:
    """Advance the clock; end the episode when time is up or, unless it continues, a species is extinct.

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
    is_extinct = state.active[w, PREDATOR] <= 0 or state.active[w, PREY] <= 0
    if is_over or (is_extinct and not rules.extinction_continues):
        state.done[w] = True
        for species in range(2):
            for i in range(state.n_alive[w, species]):
                row = state.alive_rows[w, species, i]
                if rules.extinction_terminates and not is_over:
                    state.terminated[w, row] = True
                else:
                    state.truncated[w, row] = True
