"""Ways on the known map: shortest, found breadth-first, bounded, and remembered.

A search writes the way into the agent's memory. A search that failed is remembered too, and not
repeated for a while: late in a game most of them fail, and each costs as much as fifty decisions.
"""

from __future__ import annotations

from kinfolk.core.hooks import call4
from kinfolk.core.jit import inline
from kinfolk.core.keys import below
from kinfolk.policies.cogsguard.knowledge import AHEAD, FIND_TOOL, MOVE_COST, SEARCH_BOUND
from kinfolk.policies.cogsguard.memory import (
    BLOCKED,
    CELL,
    CLOCK,
    KEY,
    LOST_GOAL,
    LOST_UNTIL,
    MOST_STEPS,
    NEAR_CELL,
    PATH_FROM,
    PATH_GOAL,
    PATH_LENGTH,
    PATH_STEP,
    PATH_VERSION,
    VERSION,
    Mind,
    apart,
)
from kinfolk.worlds.cogsguard.codes import EMPTY, ENEMY_AREA, ENERGY, FRIENDLY_AREA, KIND_MASK
from kinfolk.worlds.cogsguard.layout import SUCCEEDED_FACT

CANNOT = -1
WAIT = 0
AVOID_AGENTS, AVOID_ENEMY = 1, 2  # flags of a search
TO_FRIENDLY = -1  # instead of a goal: the nearest cell of a friendly area
_STAMP, _BACK, _QUEUE, _LATER, _COST = range(5)  # rows of the scratch
_MOST_STAMP = 1 << 30
_NEARBY = 3  # cells: agents farther away are no obstacles
_BACK_OFF = 12  # ticks before a search that failed is made again
_PATIENCE = 3  # moves that led nowhere before stepping aside


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
def is_taken(m: Mind, at: int, cell: int) -> bool:
    """Whether an agent stands on a cell now."""
    for i in range(1, m.near[at, 0] + 1):  # noqa: SIM110, kernels have no generators
        if m.near[at, i] >> NEAR_CELL == cell:
            return True
    return False


@inline
def begin_search(m: Mind, at: int, flags: int) -> int:
    """Take a fresh stamp and put the agent's cell first in the queue; returns the stamp.

    A cell with the stamp was met in this search; with the next number, it is done with.
    """
    scratch, last = m.scratch, m.scratch.shape[1] - 1
    stamp = int(scratch[_STAMP, last]) + 2
    if stamp > _MOST_STAMP:
        scratch[_STAMP, :] = 0
        stamp = 2
    scratch[_STAMP, last] = stamp
    cell = int(m.notes[at, CELL])
    if flags & AVOID_AGENTS != 0:
        for i in range(1, m.near[at, 0] + 1):
            other = int(m.near[at, i]) >> NEAR_CELL
            if apart(m, cell, other) <= _NEARBY:
                scratch[_STAMP, other] = stamp + 1
    scratch[_STAMP, cell] = stamp
    scratch[_BACK, cell] = 0
    scratch[_QUEUE, 0] = cell
    return stamp


@inline
def keep_way(m: Mind, at: int, goal: int, end: int, last_move: int) -> int:
    """Write down the way that a search found, from the agent to `end` and one move on; its length.

    Of a long way only the beginning is kept.
    """
    notes, path, back = m.notes, m.path, m.scratch
    length, cell = 0, end
    while back[_BACK, cell] != 0:
        cell -= ahead(m, int(back[_BACK, cell]))
        length += 1
    total = length + (1 if last_move > 0 else 0)
    if last_move > 0 and length < MOST_STEPS:
        path[at, length] = last_move
    cell = end
    for step in range(length - 1, -1, -1):
        move = int(back[_BACK, cell])
        if step < MOST_STEPS:
            path[at, step] = move
        cell -= ahead(m, move)
    notes[at, PATH_GOAL] = goal
    notes[at, PATH_LENGTH] = min(total, MOST_STEPS)
    notes[at, PATH_STEP] = 0
    notes[at, PATH_FROM] = notes[at, CELL]
    notes[at, PATH_VERSION] = notes[at, VERSION]
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
        cell = int(scratch[_QUEUE, head])
        head += 1
        if int(m.cells[at, cell]) & FRIENDLY_AREA != 0:
            return keep_way(m, at, cell, cell, 0)
        for move in range(1, 5):
            to = cell + ahead(m, move)
            if scratch[_STAMP, to] < stamp and may_enter(m, at, to, 0):
                scratch[_STAMP, to] = stamp
                scratch[_BACK, to] = move
                scratch[_QUEUE, tail] = to
                tail += 1
    return CANNOT


@inline
def next_to_search(m: Mind, now: int, later: int) -> tuple[int, int]:
    """When no cell is left on ways of the present length, those two steps longer come next."""
    if now > 0:
        return now, later
    for i in range(later):
        m.scratch[_QUEUE, i] = m.scratch[_LATER, i]
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
    scratch[_COST, m.notes[at, CELL]] = 0
    while now + later > 0 and bound > 0:
        now, later = next_to_search(m, now, later)
        now, bound = now - 1, bound - 1
        cell = int(scratch[_QUEUE, now])
        if scratch[_STAMP, cell] > stamp:
            continue
        scratch[_STAMP, cell] = stamp + 1
        far, cost = apart(m, cell, goal), int(scratch[_COST, cell]) + 1
        for move in range(1, 5):
            to = cell + ahead(m, move)
            if to == goal:
                return keep_way(m, at, goal, cell, move)
            met = scratch[_STAMP, to]
            if met > stamp or (met == stamp and scratch[_COST, to] <= cost):
                continue
            if not may_enter(m, at, to, flags):
                continue
            scratch[_STAMP, to] = stamp
            scratch[_COST, to] = cost
            scratch[_BACK, to] = move
            if apart(m, to, goal) < far:
                scratch[_QUEUE, now] = to
                now += 1
            else:
                scratch[_LATER, later] = to
                later += 1
    return CANNOT


@inline
def way(m: Mind, at: int, goal: int, flags: int) -> int:
    """`find_way`, called by address."""
    return int(call4(m.rules[FIND_TOOL], m, at, goal, flags))


@inline
def sidestep(m: Mind, at: int) -> int:
    """A move to some free cell beside, drawn from the key; waiting if there is none."""
    first = below(m.notes[at, KEY], 0, 4)
    for i in range(4):
        move = 1 + (first + i) % 4
        to = m.notes[at, CELL] + ahead(m, move)
        if is_free(m, at, to) and not is_taken(m, at, to):
            m.notes[at, PATH_GOAL] = 0
            return int(move)
    return WAIT


@inline
def has_way(m: Mind, at: int, goal: int) -> bool:
    """Whether the remembered way still leads from here to the goal; keeps count of its steps."""
    notes = m.notes
    if notes[at, PATH_GOAL] != goal:
        return False
    step, cell = notes[at, PATH_STEP], notes[at, CELL]
    if cell != notes[at, PATH_FROM]:
        if cell != notes[at, PATH_FROM] + ahead(m, int(m.path[at, step])):
            return False
        step += 1
        notes[at, PATH_STEP], notes[at, PATH_FROM], notes[at, BLOCKED] = step, cell, 0
    if step >= notes[at, PATH_LENGTH]:
        return False
    to = cell + ahead(m, int(m.path[at, step]))
    return bool(to == goal or is_free(m, at, to))


@inline
def way_to(m: Mind, at: int, goal: int, flags: int) -> bool:
    """Whether there is a way: the remembered one, or one that is searched now, if that may be."""
    notes = m.notes
    if has_way(m, at, goal):
        return True
    if notes[at, LOST_GOAL] == goal and notes[at, CLOCK] < notes[at, LOST_UNTIL]:
        return False
    if way(m, at, goal, flags) == CANNOT:
        notes[at, LOST_GOAL] = goal
        notes[at, LOST_UNTIL] = notes[at, CLOCK] + _BACK_OFF
        notes[at, PATH_GOAL] = 0
        return False
    return True


def walk(m: Mind, at: int, goal: int, flags: int) -> int:
    """The move that leads to `goal`, at last into it; WAIT for energy; CANNOT if there is no way.

    With an agent in the way it looks for a way around, and steps aside now and then.
    """
    notes = m.notes
    if goal == notes[at, CELL]:
        return WAIT
    if not way_to(m, at, goal, flags):
        return CANNOT
    if notes[at, ENERGY] < m.rules[MOVE_COST]:
        return WAIT
    move = int(m.path[at, notes[at, PATH_STEP]])
    to = notes[at, CELL] + ahead(m, move)
    if to == goal and not is_free(m, at, to):
        return move  # a bump
    if notes[at, SUCCEEDED_FACT] == 0:
        notes[at, BLOCKED] += 1
    if is_taken(m, at, to):
        notes[at, BLOCKED] += 1
        if notes[at, BLOCKED] == 1:
            return WAIT  # the other one may be about to leave
        if notes[at, BLOCKED] > _PATIENCE and below(notes[at, KEY], 1, 2) == 0:
            return sidestep(m, at)
        if way(m, at, goal, flags | AVOID_AGENTS) == CANNOT:
            return sidestep(m, at)
        move = int(m.path[at, 0])
    return move
