"""Patrol: when all is known, go and see again what was not seen for long."""

from __future__ import annotations

from kinfolk.core.jit import inline
from kinfolk.core.keys import below
from kinfolk.policies.cogsguard.knowledge import A_WHILE, STRIDE
from kinfolk.policies.cogsguard.memory import (
    CELL,
    CLOCK,
    KEY,
    NEXT_JUNCTION,
    OBJECT_SHIFT,
    PATROL,
    RETRY,
    SEEN,
    WHERE,
    Mind,
    cell_of,
)
from kinfolk.policies.cogsguard.paths import sidestep
from kinfolk.policies.cogsguard.searches import CANNOT, is_free
from kinfolk.policies.cogsguard.tools import go

_TRIES = 8


@inline
def pick_patrol(m: Mind, at: int) -> int:
    """The junction seen longest ago, else some known free cell; 0 if nothing was found."""
    objects, clock = m.objects, m.notes[at, CLOCK]
    best, oldest = 0, clock
    for entry in range(m.notes[at, NEXT_JUNCTION]):
        if objects[at, entry, SEEN] < oldest and objects[at, entry, RETRY] <= clock:
            best, oldest = objects[at, entry, WHERE], objects[at, entry, SEEN]
    if best > 0:
        return int(best)
    reach = m.rules[STRIDE] // 2
    for i in range(_TRIES):
        south = below(m.notes[at, KEY], 2 + 2 * i, reach) - reach // 2
        east = below(m.notes[at, KEY], 3 + 2 * i, reach) - reach // 2
        cell = cell_of(m.rules, south, east)
        if 0 < cell < m.cells.shape[1] and is_free(m, at, cell):
            return int(cell)
    return 0


@inline
def patrol(m: Mind, at: int) -> int:
    """Walk to what was not seen for long; a goal that came into view makes place for another."""
    notes = m.notes
    goal = int(notes[at, PATROL])
    number = int(m.cells[at, goal]) >> OBJECT_SHIFT if goal > 0 else 0
    seen = number > 0 and m.objects[at, number - 1, SEEN] == notes[at, CLOCK]
    if goal == 0 or seen or goal == notes[at, CELL]:
        goal = pick_patrol(m, at)
        notes[at, PATROL] = goal
    if goal == 0:
        return CANNOT
    move = go(m, at, goal, 0)
    if move == CANNOT:
        number = int(m.cells[at, goal]) >> OBJECT_SHIFT
        if number > 0:
            m.objects[at, number - 1, RETRY] = notes[at, CLOCK] + m.rules[A_WHILE]
        notes[at, PATROL] = 0
        return sidestep(m, at)
    return move
