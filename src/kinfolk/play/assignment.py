"""Kernels of the episode loop: assign agents to slots and accumulate their rewards.

Each tick one pass over all agent rows finds the live agents, assigns new ones to slots and lists
the rows of every slot; another adds up rewards. `memory_index` is the index of an agent row in the
batch, `world * rows + row`, by which policies index their memory.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from kinfolk.core.arrays import Bools, Floats, Ints
from kinfolk.core.jit import allocation_free_kernel, inline
from kinfolk.core.random import POLICY_STREAM, fold_in
from kinfolk.policies.base import AgentBatch
from kinfolk.worlds.base import AgentColumns

ObservationWords: TypeAlias = npt.NDArray[np.uint64]  # observation rows, eight bytes per item


class RowState(NamedTuple):
    """State of the agent that was assigned last to each row, `[worlds * rows]`; in snapshots."""

    uid: Ints  # -1: no agent yet
    slot: Ints  # index of the slot that plays it
    member: Ints  # of its policy's population
    key: Ints  # its random key
    n_steps: Ints  # number of its actions so far
    total_reward: Floats  # sum of its rewards so far


class SlotRows(NamedTuple):
    """The live agents of each slot, `[slots, worlds * rows]`; rewritten every tick."""

    n_rows: Ints  # [slots] number of live agents; entries behind it are undefined
    n_new: Ints  # [slots] number of agents that are new in this tick
    memory_index: Ints
    world: Ints
    row: Ints
    uid: Ints
    group: Ints
    member: Ints
    parents: Ints  # [slots, worlds * rows, 2] uids; -1: none
    parent_memory_index: Ints  # [slots, worlds * rows, 2]; -1 unless new and of the same slot
    key: Ints  # random key of the agent's action in this tick
    new_entries: Ints  # [slots, worlds * rows] entries of the new agents


_BATCH_COLUMNS = slice(2, 10)  # of `SlotRows`: the columns that `AgentBatch` has, in its order


class EpisodeTotals(NamedTuple):
    """Sums over the current episode of each world."""

    returns: Floats  # [worlds, slots] sum of rewards
    lives: Ints  # [worlds, slots] number of agents
    ticks_lived: Ints  # [worlds, slots] ticks that agents were alive
    group_lives: Ints  # [worlds, groups] number of agents
    group_ticks: Ints  # [worlds, groups] ticks that agents were alive


def empty_row_state(n_agents: int) -> RowState:
    """Return the state of `n_agents` rows without agents."""
    uid: Ints = np.full(n_agents, -1, dtype=np.int64)
    slot, member, key, n_steps = (np.zeros(n_agents, dtype=np.int64) for _ in range(4))
    return RowState(uid, slot, member, key, n_steps, np.zeros(n_agents, dtype=np.float64))


def empty_slot_rows(n_slots: int, n_agents: int) -> SlotRows:
    """Return lists with capacity for all agents in every slot; untouched pages cost nothing."""
    column, pairs, count = (n_slots, n_agents), (n_slots, n_agents, 2), (n_slots,)
    shapes = [count, count, *6 * [column], pairs, pairs, column, column]  # as the fields above
    return SlotRows(*(np.zeros(shape, dtype=np.int64) for shape in shapes))


def empty_totals(n_worlds: int, n_slots: int, n_groups: int) -> EpisodeTotals:
    """Return totals that are zero everywhere.

    Args:
        n_worlds: Size of the batch.
        n_slots: Number of slots.
        n_groups: Number of the world's groups.
    """
    by_slot, by_group = (n_worlds, n_slots), (n_worlds, n_groups)
    shapes = (by_slot, by_slot, by_group, by_group)
    return EpisodeTotals(np.zeros(by_slot), *(np.zeros(shape, np.int64) for shape in shapes))


@inline
def _start_agent(
    row_state: RowState, columns: AgentColumns, memory_index: int, assignments: Ints,
    map_index: Ints, members: Ints, episode_key: int, inherit_slot: bool,
) -> None:  # fmt: skip
    """Write slot, member and random key of a new agent into `row_state`.

    Args:
        row_state: Written at `memory_index`.
        columns: The world's columns, read.
        memory_index: Index of the agent's row in the batch.
        assignments: `[maps, groups, rows]` slots of new agents.
        map_index: `[worlds]` map of each world.
        members: `[worlds, rows]` members of populations.
        episode_key: Random key of the world's episode.
        inherit_slot: Whether the first parent's slot plays the agent.
    """
    world, row = divmod(memory_index, assignments.shape[2])
    slot = assignments[map_index[world], columns.group[memory_index], row]
    if inherit_slot and columns.parent_rows[memory_index, 0] >= 0:
        slot = row_state.slot[memory_index - row + columns.parent_rows[memory_index, 0]]
    row_state.uid[memory_index] = columns.uid[memory_index]
    row_state.slot[memory_index] = slot
    row_state.member[memory_index] = members[world, row]
    policy_key = fold_in(episode_key, POLICY_STREAM)
    row_state.key[memory_index] = fold_in(policy_key, columns.uid[memory_index])
    row_state.n_steps[memory_index] = 0
    row_state.total_reward[memory_index] = 0.0


@allocation_free_kernel
def assign_rows(
    row_state: RowState,
    slot_rows: SlotRows,
    totals: EpisodeTotals,
    columns: AgentColumns,
    living: Bools,
    idle: Bools,
    episode_keys: Ints,
    assignments: Ints,
    map_index: Ints,
    members: Ints,
    inherit_slot: bool,
) -> None:
    """Assign new agents to slots and list the live agents of each slot in the order of their rows.

    Args:
        row_state: Written for new agents; `n_steps` of live agents is incremented.
        slot_rows: Written completely.
        totals: `lives`, `ticks_lived`, `group_lives` and `group_ticks` are incremented.
        columns: The world's columns, read.
        living: `World.living`: a tick of a body that outlasts its agent is no tick of a life.
        idle: `[worlds]`, worlds to skip.
        episode_keys: `[worlds]`, random key of each world's episode.
        assignments: `[maps, groups, rows]`, slot of a new agent.
        map_index: `[worlds]`, map of each world.
        members: `[worlds, rows]`, member of its policy's population that plays a new agent.
        inherit_slot: Whether a newborn is played by its first parent's slot.
    """
    rows = assignments.shape[2]
    for slot in range(slot_rows.n_rows.shape[0]):
        slot_rows.n_rows[slot] = 0
        slot_rows.n_new[slot] = 0
    for world in range(idle.shape[0]):
        if idle[world]:
            continue
        key = episode_keys[world]
        for row in range(rows):
            index = world * rows + row
            if not columns.alive[index]:
                continue
            is_new = row_state.uid[index] != columns.uid[index]
            if is_new:
                _start_agent(
                    row_state, columns, index, assignments, map_index, members, key, inherit_slot
                )
            slot = row_state.slot[index]
            entry = slot_rows.n_rows[slot]
            slot_rows.n_rows[slot] = entry + 1
            if is_new:
                slot_rows.new_entries[slot, slot_rows.n_new[slot]] = entry
                slot_rows.n_new[slot] += 1
                totals.lives[world, slot] += 1
                totals.group_lives[world, columns.group[index]] += 1
            if living[index]:
                totals.ticks_lived[world, slot] += 1
                totals.group_ticks[world, columns.group[index]] += 1
            slot_rows.memory_index[slot, entry] = index
            slot_rows.world[slot, entry] = world
            slot_rows.row[slot, entry] = row
            slot_rows.uid[slot, entry] = columns.uid[index]
            slot_rows.group[slot, entry] = columns.group[index]
            slot_rows.member[slot, entry] = row_state.member[index]
            slot_rows.key[slot, entry] = fold_in(row_state.key[index], row_state.n_steps[index])
            row_state.n_steps[index] += 1
            for side in range(2):
                parent = columns.parent_rows[index, side]
                slot_rows.parents[slot, entry, side] = columns.parents[index, side]
                slot_rows.parent_memory_index[slot, entry, side] = -1
                if is_new and parent >= 0 and row_state.slot[index - row + parent] == slot:
                    slot_rows.parent_memory_index[slot, entry, side] = index - row + parent


@allocation_free_kernel
def accumulate_rewards(
    n_rows: Ints, indices: Ints, world: Ints, total_reward: Floats, returns: Floats, reward: Floats
) -> None:
    """Add the reward of every listed row to its agent and to the return of its slot.

    It takes single arrays because unpacking the named tuples would take longer than the sums.

    Args:
        n_rows: `[slots]`, number of listed rows.
        indices: `[slots, worlds * rows]`, their indices in the batch.
        world: `[slots, worlds * rows]`, their worlds.
        total_reward: `[worlds * rows]`, incremented.
        returns: `[worlds, slots]`, incremented.
        reward: `[worlds * rows]`, rewards of the last step.
    """
    for slot in range(n_rows.shape[0]):
        for i in range(n_rows[slot]):
            total_reward[indices[slot, i]] += reward[indices[slot, i]]
            returns[world[slot, i], slot] += reward[indices[slot, i]]


@allocation_free_kernel
def gather_observations(words: ObservationWords, memory_index: Ints, out: ObservationWords) -> None:
    """Copy the observations of a slot's rows out of those of the batch.

    Args:
        words: `[worlds * rows, words]`, observations of the batch.
        memory_index: `[n]`, rows to copy.
        out: `[n, words]`, written.
    """
    for i in range(memory_index.shape[0]):
        for word in range(words.shape[1]):
            out[i, word] = words[memory_index[i], word]


@allocation_free_kernel
def scatter_actions(actions: Ints, memory_index: Ints, slot_actions: Ints) -> None:
    """Copy the actions of a slot's rows into those of the batch.

    Args:
        actions: `[worlds * rows, heads]`, written at the rows of the slot.
        memory_index: `[n]`, rows of the slot.
        slot_actions: `[n, heads]`, their actions.
    """
    for i in range(memory_index.shape[0]):
        for head in range(actions.shape[1]):
            actions[memory_index[i], head] = slot_actions[i, head]


def get_slot_batch(slot_rows: SlotRows, slot: int) -> AgentBatch:
    """Return the live agents of a slot as views of the lists."""
    n = slot_rows.n_rows[slot]
    return AgentBatch(*(column[slot, :n] for column in slot_rows[_BATCH_COLUMNS]))
