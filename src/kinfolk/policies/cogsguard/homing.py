"""The way home: where friendly area is near, and how to get there."""

from __future__ import annotations

from kinfolk.core.jit import inline
from kinfolk.policies.cogsguard.aims import depot_distance
from kinfolk.policies.cogsguard.knowledge import AREA_RADIUS
from kinfolk.policies.cogsguard.memory import (
    CELL,
    CLOCK,
    HOME_AT,
    HOME_CLOCK,
    HOME_FAR,
    HUB_AT,
    LOST_UNTIL,
    PATH_GOAL,
    Mind,
)
from kinfolk.policies.cogsguard.paths import WAIT, way
from kinfolk.policies.cogsguard.searches import CANNOT, TO_FRIENDLY
from kinfolk.policies.cogsguard.tools import go
from kinfolk.worlds.cogsguard.codes import FRIENDLY_AREA

_BACK_OFF = 12


@inline
def is_friendly(m: Mind, at: int, cell: int) -> bool:
    """Whether a cell was in a friendly area when it was seen last."""
    return int(m.cells[at, cell]) & FRIENDLY_AREA != 0


@inline
def home_distance(m: Mind, at: int) -> int:
    """Steps to the nearest friendly area, about; worked out once a tick."""
    notes = m.notes
    if notes[at, HOME_CLOCK] != notes[at, CLOCK]:
        notes[at, HOME_CLOCK] = notes[at, CLOCK]
        steps = 0
        if not is_friendly(m, at, notes[at, CELL]):
            steps = max(1, depot_distance(m, at, notes[at, CELL]) - m.rules[AREA_RADIUS])
        notes[at, HOME_FAR] = steps
    return int(notes[at, HOME_FAR])


def homewards(m: Mind, at: int, ask_distance: int, _unused: int) -> int:
    """The move to the nearest friendly cell, WAIT once there; or the distance, if that is asked."""
    notes = m.notes
    if ask_distance == 1:
        return home_distance(m, at)
    if is_friendly(m, at, notes[at, CELL]):
        return WAIT
    goal = int(notes[at, HOME_AT])
    if goal == 0 or not is_friendly(m, at, goal):
        goal = 0
        if notes[at, CLOCK] >= notes[at, LOST_UNTIL]:
            if way(m, at, TO_FRIENDLY, 0) == CANNOT:
                notes[at, LOST_UNTIL] = notes[at, CLOCK] + _BACK_OFF
            else:
                goal = int(notes[at, PATH_GOAL])
        notes[at, HOME_AT] = goal
    if goal == 0:
        hub = int(notes[at, HUB_AT])
        return go(m, at, hub, 0) if hub > 0 else CANNOT
    return go(m, at, goal, 0)
