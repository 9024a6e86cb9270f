"""Who sits where: the compiled half of the loop.

Each tick one pass over all places finds the living, seats the lives that are new, and lists the
rows of every slot; another adds up what they earned.
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

ObservationWords: TypeAlias = npt.NDArray[np.uint64]  # rows of bytes, eight at a time


class RowState(NamedTuple):
    """What the loop knows of every place; part of its snapshot."""

    uid: Ints  # the life that was begun here
    slot: Ints
    member: Ints
    key: Ints  # of the life
    n_steps: Ints  # how often the life was asked
    total_reward: Floats  # by the life


class SlotRows(NamedTuple):
    """The rows of each slot, `[slots, places]`; scratch, made anew every tick."""

    n_rows: Ints  # how many rows it has
    n_new: Ints  # how many lives start now
    memory_index: Ints
    world: Ints
    row: Ints
    uid: Ints
    group: Ints
    member: Ints
    parents: Ints
    parent_memory_index: Ints
    key: Ints
    new_entries: Ints  # which entries of the list start now


class EpisodeTotals(NamedTuple):
    """What was earned in the episode that each world is playing."""

    returns: Floats  # [W, slots]
    lives: Ints  # [W, slots] begun
    ticks_lived: Ints  # [W, slots]
    group_lives: Ints  # [W, groups] begun
    group_ticks: Ints  # [W, groups] lived


def empty_row_state(n_agents: int) -> RowState:
    """Nobody sits anywhere."""
    nobody: Ints = np.full(n_agents, -1, dtype=np.int64)
    slot, member, key, age = (np.zeros(n_agents, dtype=np.int64) for _ in range(4))
    return RowState(nobody, slot, member, key, age, np.zeros(n_agents, dtype=np.float64))


def empty_slot_rows(n_slots: int, n_agents: int) -> SlotRows:
    """Room for every place in every slot; pages nobody touches cost nothing."""

    def ints(*tail: int) -> Ints:
        return np.zeros((n_slots, *tail), dtype=np.int64)

    return SlotRows(
        n_rows=ints(),
        n_new=ints(),
        memory_index=ints(n_agents),
        world=ints(n_agents),
        row=ints(n_agents),
        uid=ints(n_agents),
        group=ints(n_agents),
        member=ints(n_agents),
        parents=ints(n_agents, 2),
        parent_memory_index=ints(n_agents, 2),
        key=ints(n_agents),
        new_entries=ints(n_agents),
    )


def empty_totals(n_worlds: int, n_slots: int, n_groups: int) -> EpisodeTotals:
    """Nothing earned yet."""
    lives, ticks = (np.zeros((n_worlds, n_slots), dtype=np.int64) for _ in range(2))
    group_lives, group_ticks = (np.zeros((n_worlds, n_groups), dtype=np.int64) for _ in range(2))
    returns = np.zeros((n_worlds, n_slots), dtype=np.float64)
    return EpisodeTotals(returns, lives, ticks, group_lives, group_ticks)


@inline
def _start_agent(
    row_state: RowState, columns: AgentColumns, memory_index: int, world: int, row: int, assignment: Ints, members: Ints,
    episode_key: int, inherit_slot: bool,
) -> None:  # fmt: skip
    """Give a new life its slot, its member and its key."""
    slot = assignment[columns.group[memory_index], row]
    if inherit_slot and columns.parent_rows[memory_index, 0] >= 0:
        slot = row_state.slot[memory_index - row + columns.parent_rows[memory_index, 0]]
    row_state.uid[memory_index] = columns.uid[memory_index]
    row_state.slot[memory_index] = slot
    row_state.member[memory_index] = members[world, row]
    row_state.key[memory_index] = fold_in(
        fold_in(episode_key, POLICY_STREAM), columns.uid[memory_index]
    )
    row_state.n_steps[memory_index] = 0
    row_state.total_reward[memory_index] = 0.0


@allocation_free_kernel
def assign_rows(
    row_state: RowState,
    slot_rows: SlotRows,
    totals: EpisodeTotals,
    columns: AgentColumns,
    idle: Bools,
    episode_keys: Ints,
    assignment: Ints,
    members: Ints,
    inherit_slot: bool,
) -> None:
    """Seat new lives and list the living of each slot, in place order; count their ticks."""
    rows = assignment.shape[1]
    for slot in range(slot_rows.n_rows.shape[0]):
        slot_rows.n_rows[slot] = 0
        slot_rows.n_new[slot] = 0
    for world in range(idle.shape[0]):
        if idle[world]:
            continue
        for row in range(rows):
            place = world * rows + row
            if not columns.alive[place]:
                continue
            is_new = row_state.uid[place] != columns.uid[place]
            if is_new:
                _start_agent(
                    row_state,
                    columns,
                    place,
                    world,
                    row,
                    assignment,
                    members,
                    episode_keys[world],
                    inherit_slot,
                )
            slot = row_state.slot[place]
            at = slot_rows.n_rows[slot]
            slot_rows.n_rows[slot] = at + 1
            if is_new:
                slot_rows.new_entries[slot, slot_rows.n_new[slot]] = at
                slot_rows.n_new[slot] += 1
                totals.lives[world, slot] += 1
                totals.group_lives[world, columns.group[place]] += 1
            totals.ticks_lived[world, slot] += 1
            totals.group_ticks[world, columns.group[place]] += 1
            slot_rows.memory_index[slot, at] = place
            slot_rows.world[slot, at] = world
            slot_rows.row[slot, at] = row
            slot_rows.uid[slot, at] = columns.uid[place]
            slot_rows.group[slot, at] = columns.group[place]
            slot_rows.member[slot, at] = row_state.member[place]
            slot_rows.key[slot, at] = fold_in(row_state.key[place], row_state.n_steps[place])
            row_state.n_steps[place] += 1
            for side in range(2):
                parent = columns.parent_rows[place, side]
                slot_rows.parents[slot, at, side] = columns.parents[place, side]
                slot_rows.parent_memory_index[slot, at, side] = -1
                if is_new and parent >= 0 and row_state.slot[place - row + parent] == slot:
                    slot_rows.parent_memory_index[slot, at, side] = place - row + parent


@allocation_free_kernel
def accumulate_rewards(
    n_rows: Ints,
    memory_index: Ints,
    world: Ints,
    total_reward: Floats,
    returns: Floats,
    reward: Floats,
) -> None:
    """Add what every listed row earned to its life, its slot and its world.

    It gets only the arrays it needs: handing over all that is known takes longer than counting.
    """
    for slot in range(n_rows.shape[0]):
        for i in range(n_rows[slot]):
            total_reward[memory_index[slot, i]] += reward[memory_index[slot, i]]
            returns[world[slot, i], slot] += reward[memory_index[slot, i]]


@allocation_free_kernel
def gather_observations(words: ObservationWords, memory_index: Ints, out: ObservationWords) -> None:
    """Copy the observations of some places, word by word."""
    for i in range(memory_index.shape[0]):
        for word in range(words.shape[1]):
            out[i, word] = words[memory_index[i], word]


@allocation_free_kernel
def scatter_actions(actions: Ints, memory_index: Ints, slot_actions: Ints) -> None:
    """Put the answers of a slot where its rows are."""
    for i in range(memory_index.shape[0]):
        for head in range(actions.shape[1]):
            actions[memory_index[i], head] = slot_actions[i, head]


def get_slot_batch(slot_rows: SlotRows, slot: int) -> AgentBatch:
    """The rows of a slot, as views."""
    n = slot_rows.n_rows[slot]
    return AgentBatch(
        slot_rows.memory_index[slot, :n],
        slot_rows.world[slot, :n],
        slot_rows.row[slot, :n],
        slot_rows.uid[slot, :n],
        slot_rows.group[slot, :n],
        slot_rows.member[slot, :n],
        slot_rows.parents[slot, :n],
        slot_rows.parent_memory_index[slot, :n],
    )
