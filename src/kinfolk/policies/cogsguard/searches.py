"""Searches on the known map: bounded, breadth-first, written down in the agent's memory."""

from __future__ import annotations

from kinfolk.core.jit import inline
from kinfolk.policies.cogsguard.knowledge import AHEAD, SEARCH_BOUND
from kinfolk.policies.cogsguard.memory import (
    CELL,
    MOST_STEPS,
    NEAR_CELL,
    PATH_FROM,
    PATH_GOAL,
    PATH_LENGTH,
    PATH_STEP,
    Mind,
    apart,
)
from kinfolk.worlds.cogsguard.codes import EMPTY, ENEMY_AREA, FRIENDLY_AREA, KIND_MASK

CANNOT = -1
AVOID_AGENTS, AVOID_ENEMY = 1, 2  # flags of a search
TO_FRIENDLY = -1  # instead of a goal: the nearest cell of a friendly area
STAMP, BACK, QUEUE, LATER, COST = range(5)  # rows of the scratch
_MOST_STAMP = 1 << 30
_NEARBY = 3  # cells: agents farther away are no obstacles


@inline
def ahead(m: Mind, move: int) -> int:
    """How far in the numbering of cells a move leads."""
    return int(m.rules[AHEAD + move])


@inline
def is_free(m: Mind, at: int, cell: int) -> bool:
    """Whether a cell is known and nothing stands there; agents do not count."""
    known = int(m.cells[at, cell])
    return known != 0 and known & KIND_MASK == EMPTY


@inline
def begin_search(m: Mind, at: int, flags: int) -> int:
    """Take a fresh stamp and put the agent's cell first in the queue; returns the stamp.

    A cell with the stamp was met in this search; with the next number, it is done with.
    """
    scratch, last = m.scratch, m.scratch.shape[1] - 1
    stamp = int(scratch[STAMP, last]) + 2
    if stamp > _MOST_STAMP:
        scratch[STAMP, :] = 0
        stamp = 2
    scratch[STAMP, last] = stamp
    cell = int(m.notes[at, CELL])
    if flags & AVOID_AGENTS != 0:
        for i in range(1, m.near[at, 0] + 1):
            other = int(m.near[at, i]) >> NEAR_CELL
            if apart(m, cell, other) <= _NEARBY:
                scratch[STAMP, other] = stamp + 1
    scratch[STAMP, cell] = stamp
    scratch[BACK, cell] = 0
    scratch[QUEUE, 0] = cell
    return stamp


@inline
def keep_way(m: Mind, at: int, goal: int, end: int, last_move: int) -> int:
    """Write down the way that a search found, from the agent to `end` and one move on; its length.

    Of a long way only the beginning is kept.
    """
    notes, path, back = m.notes, m.path, m.scratch
    length, cell = 0, end
    while back[BACK, cell] != 0:
        cell -= ahead(m, int(back[BACK, cell]))
        length += 1
    total = length + (1 if last_move > 0 else 0)
    if last_move > 0 and length < MOST_STEPS:
        path[at, length] = last_move
    cell = end
    for step in range(length - 1, -1, -1):
        move = int(back[BACK, cell])
        if step < MOST_STEPS:
            path[at, step] = move
        cell -= ahead(m, move)
    notes[at, PATH_GOAL] = goal
    notes[at, PATH_LENGTH] = min(total, MOST_STEPS)
    notes[at, PATH_STEP] = 0
    notes[at, PATH_FROM] = notes[at, CELL]
    return int(total)


@inline
def may_enter(m: Mind, at: int, cell: int, flags: int) -> bool:
    """Whether a search may go over a cell."""
    known = int(m.cells[at, cell])
    if known == 0 or known & KIND_MASK != EMPTY:
        return False
    return flags & AVOID_ENEMY == 0 or known & ENEMY_AREA == 0


@inline
def find_friendly(m: Mind, at: int) -> int:
    """The shortest way to a friendly area, found breadth-first; its length or -1."""
    scratch, bound = m.scratch, m.rules[SEARCH_BOUND]
    stamp, head, tail = begin_search(m, at, 0), 0, 1
    while head < tail and head < bound:
        cell = int(scratch[QUEUE, head])
        head += 1
        if int(m.cells[at, cell]) & FRIENDLY_AREA != 0:
            return keep_way(m, at, cell, cell, 0)
        for move in range(1, 5):
            to = cell + ahead(m, move)
            if scratch[STAMP, to] < stamp and may_enter(m, at, to, 0):
                scratch[STAMP, to] = stamp
                scratch[BACK, to] = move
                scratch[QUEUE, tail] = to
                tail += 1
    return CANNOT


@inline
def next_to_search(m: Mind, now: int, later: int) -> tuple[int, int]:
    """When no cell is left on ways of the present length, those two steps longer come next."""
    if now > 0:
        return now, later
    for i in range(later):
        m.scratch[QUEUE, i] = m.scratch[LATER, i]
    return later, 0


def find_way(m: Mind, at: int, goal: int, flags: int) -> int:
    """The shortest way to `goal`, which may be an object, or to a friendly area; its length or -1.

    A breadth-first search that looks at cells towards the goal first: a step away from it makes
    the way two steps longer than it could be, so such cells wait (A* on a grid). On open ground
    it looks at little more than the way itself.
    """
    if goal == TO_FRIENDLY:
        return find_friendly(m, at)
    scratch, bound = m.scratch, m.rules[SEARCH_BOUND]
    stamp, now, later = begin_search(m, at, flags), 1, 0
    scratch[COST, m.notes[at, CELL]] = 0
    while now + later > 0 and bound > 0:
        now, later = next_to_search(m, now, later)
        now, bound = now - 1, bound - 1
        cell = int(scratch[QUEUE, now])
        if scratch[STAMP, cell] > stamp:
            continue
        scratch[STAMP, cell] = stamp + 1
        far, cost = apart(m, cell, goal), int(scratch[COST, cell]) + 1
        for move in range(1, 5):
            to = cell + ahead(m, move)
            if to == goal:
                return keep_way(m, at, goal, cell, move)
            met = scratch[STAMP, to]
            if met > stamp or (met == stamp and scratch[COST, to] <= cost):
                continue
            if not may_enter(m, at, to, flags):
                continue
            scratch[STAMP, to] = stamp
            scratch[COST, to] = cost
            scratch[BACK, to] = move
            if apart(m, to, goal) < far:
                scratch[QUEUE, now] = to
                now += 1
            else:
                scratch[LATER, later] = to
                later += 1
    return CANNOT
