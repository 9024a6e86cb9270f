"""Ways on the known map: found once, remembered until walked.

A search that failed is remembered too, and not repeated for a while: late in a game most of them
fail, and each costs as much as fifty decisions.
"""

from __future__ import annotations

from kinfolk.core.hooks import call4
from kinfolk.core.jit import inline
from kinfolk.core.keys import below
from kinfolk.policies.cogsguard.knowledge import FIND_TOOL, MOVE_COST
from kinfolk.policies.cogsguard.memory import (
    BLOCKED,
    CELL,
    CLOCK,
    KEY,
    LOST_GOAL,
    LOST_UNTIL,
    NEAR_CELL,
    PATH_FROM,
    PATH_GOAL,
    PATH_LENGTH,
    PATH_STEP,
    Mind,
)
from kinfolk.policies.cogsguard.searches import AVOID_AGENTS, CANNOT, ahead, is_free
from kinfolk.worlds.cogsguard.codes import ENERGY
from kinfolk.worlds.cogsguard.layout import SUCCEEDED_FACT

WAIT = 0
_BACK_OFF = 12  # ticks before a search that failed is made again
_PATIENCE = 3  # moves that led nowhere before stepping aside


@inline
def is_taken(m: Mind, at: int, cell: int) -> bool:
    """Whether an agent stands on a cell now."""
    for i in range(1, m.near[at, 0] + 1):  # noqa: SIM110, kernels have no generators
        if m.near[at, i] >> NEAR_CELL == cell:
            return True
    return False


@inline
def way(m: Mind, at: int, goal: int, flags: int) -> int:
    """The way that `searches.find_way` finds, called by address."""
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
