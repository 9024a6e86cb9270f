"""Who sits where: the compiled half of the loop.

Each tick one pass over all places finds the living, seats the lives that are new, and lists the
rows of every slot; another adds up what they earned.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from kinfolk.core.arrays import Bools, Floats, Ints
from kinfolk.core.jit import inline, kernel
from kinfolk.core.keys import POLICY_BRANCH, fold
from kinfolk.policies.base import Rows
from kinfolk.worlds.base import Columns

Words: TypeAlias = npt.NDArray[np.uint64]  # rows of bytes, eight at a time


class Seats(NamedTuple):
    """What the loop knows of every place; part of its snapshot."""

    uid: Ints  # the life that was begun here
    slot: Ints
    member: Ints
    key: Ints  # of the life
    age: Ints  # how often the life was asked
    earned: Floats  # by the life


class Lists(NamedTuple):
    """The rows of each slot, `[slots, places]`; scratch, made anew every tick."""

    asked: Ints  # how many rows it has
    fresh: Ints  # how many lives start now
    place: Ints
    world: Ints
    row: Ints
    uid: Ints
    group: Ints
    member: Ints
    parents: Ints
    parent_places: Ints
    key: Ints
    fresh_at: Ints  # which entries of the list start now


class Tally(NamedTuple):
    """What was earned in the episode that each world is playing."""

    returns: Floats  # [W, slots]
    lives: Ints  # [W, slots] begun
    ticks_lived: Ints  # [W, slots]
    group_lives: Ints  # [W, groups] begun
    group_ticks: Ints  # [W, groups] lived


def empty_seats(places: int) -> Seats:
    """Nobody sits anywhere."""
    nobody: Ints = np.full(places, -1, dtype=np.int64)
    slot, member, key, age = (np.zeros(places, dtype=np.int64) for _ in range(4))
    return Seats(nobody, slot, member, key, age, np.zeros(places, dtype=np.float64))


def empty_lists(slots: int, places: int) -> Lists:
    """Room for every place in every slot; pages nobody touches cost nothing."""

    def ints(*tail: int) -> Ints:
        return np.zeros((slots, *tail), dtype=np.int64)

    return Lists(
        asked=ints(),
        fresh=ints(),
        place=ints(places),
        world=ints(places),
        row=ints(places),
        uid=ints(places),
        group=ints(places),
        member=ints(places),
        parents=ints(places, 2),
        parent_places=ints(places, 2),
        key=ints(places),
        fresh_at=ints(places),
    )


def empty_tally(worlds: int, slots: int, groups: int) -> Tally:
    """Nothing earned yet."""
    lives, ticks = (np.zeros((worlds, slots), dtype=np.int64) for _ in range(2))
    group_lives, group_ticks = (np.zeros((worlds, groups), dtype=np.int64) for _ in range(2))
    returns = np.zeros((worlds, slots), dtype=np.float64)
    return Tally(returns, lives, ticks, group_lives, group_ticks)


@inline
def _begin(
    seats: Seats, columns: Columns, place: int, world: int, row: int, table: Ints, members: Ints,
    episode: int, inherit: bool,
) -> None:  # fmt: skip
    """Give a new life its slot, its member and its key."""
    slot = table[columns.group[place], row]
    if inherit and columns.parent_rows[place, 0] >= 0:
        slot = seats.slot[place - row + columns.parent_rows[place, 0]]
    seats.uid[place] = columns.uid[place]
    seats.slot[place] = slot
    seats.member[place] = members[world, row]
    seats.key[place] = fold(fold(episode, POLICY_BRANCH), columns.uid[place])
    seats.age[place] = 0
    seats.earned[place] = 0.0


@kernel
def seat_rows(
    seats: Seats,
    lists: Lists,
    tally: Tally,
    columns: Columns,
    done: Bools,
    episodes: Ints,
    table: Ints,
    members: Ints,
    inherit: bool,
) -> None:
    """Seat new lives and list the living of each slot, in place order; count their ticks."""
    rows = table.shape[1]
    lists.asked[:] = 0
    lists.fresh[:] = 0
    for world in range(done.shape[0]):
        if done[world]:
            continue
        for row in range(rows):
            place = world * rows + row
            if not columns.alive[place]:
                continue
            is_new = seats.uid[place] != columns.uid[place]
            if is_new:
                _begin(seats, columns, place, world, row, table, members, episodes[world], inherit)
            slot = seats.slot[place]
            at = lists.asked[slot]
            lists.asked[slot] = at + 1
            if is_new:
                lists.fresh_at[slot, lists.fresh[slot]] = at
                lists.fresh[slot] += 1
                tally.lives[world, slot] += 1
                tally.group_lives[world, columns.group[place]] += 1
            tally.ticks_lived[world, slot] += 1
            tally.group_ticks[world, columns.group[place]] += 1
            lists.place[slot, at] = place
            lists.world[slot, at] = world
            lists.row[slot, at] = row
            lists.uid[slot, at] = columns.uid[place]
            lists.group[slot, at] = columns.group[place]
            lists.member[slot, at] = seats.member[place]
            lists.key[slot, at] = fold(seats.key[place], seats.age[place])
            seats.age[place] += 1
            for side in range(2):
                parent = columns.parent_rows[place, side]
                lists.parents[slot, at, side] = columns.parents[place, side]
                lists.parent_places[slot, at, side] = -1
                if is_new and parent >= 0 and seats.slot[place - row + parent] == slot:
                    lists.parent_places[slot, at, side] = place - row + parent


@kernel
def count_rewards(
    asked: Ints, place: Ints, world: Ints, earned: Floats, returns: Floats, reward: Floats
) -> None:
    """Add what every listed row earned to its life, its slot and its world.

    It gets only the arrays it needs: handing over all that is known takes longer than counting.
    """
    for slot in range(asked.shape[0]):
        for i in range(asked[slot]):
            earned[place[slot, i]] += reward[place[slot, i]]
            returns[world[slot, i], slot] += reward[place[slot, i]]


@kernel
def gather_rows(words: Words, place: Ints, out: Words) -> None:
    """Copy the observations of some places, word by word."""
    for i in range(place.shape[0]):
        for word in range(words.shape[1]):
            out[i, word] = words[place[i], word]


@kernel
def scatter_actions(actions: Ints, place: Ints, answer: Ints) -> None:
    """Put the answers of a slot where its rows are."""
    for i in range(place.shape[0]):
        for head in range(actions.shape[1]):
            actions[place[i], head] = answer[i, head]


def rows_of(lists: Lists, slot: int) -> Rows:
    """The rows of a slot, as views."""
    n = lists.asked[slot]
    return Rows(
        lists.place[slot, :n],
        lists.world[slot, :n],
        lists.row[slot, :n],
        lists.uid[slot, :n],
        lists.group[slot, :n],
        lists.member[slot, :n],
        lists.parents[slot, :n],
        lists.parent_places[slot, :n],
    )
