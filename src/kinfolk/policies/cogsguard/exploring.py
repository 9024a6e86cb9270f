"""Where to look next: the frontiers of the known map, ranked by what is looked for.

A frontier is a free cell beside one that was never seen. When none can be reached, an agent
patrols: it goes to see again the junction it saw longest ago.
"""

from __future__ import annotations

from kinfolk.core.jit import inline
from kinfolk.policies.cogsguard.knowledge import (
    MOST_JUNCTIONS,
    RADIUS,
    SEARCH_BOUND,
    SHIFT,
    STRIDE,
)
from kinfolk.policies.cogsguard.memory import (
    CELL,
    CLOCK,
    CLOSED_UNTIL,
    CLOSED_VERSION,
    ENEMY_AT,
    FRONTIER,
    FRONTIER_MODE,
    HUB_AT,
    LIFE,
    NEAR_CELL,
    NEAR_OWNER,
    NEXT_EXTRACTOR,
    NEXT_JUNCTION,
    PATH_GOAL,
    VERSION,
    WHERE,
    Mind,
    apart,
    cell_of,
)
from kinfolk.policies.cogsguard.paths import sidestep
from kinfolk.policies.cogsguard.patrolling import patrol
from kinfolk.policies.cogsguard.searches import (
    BACK,
    CANNOT,
    QUEUE,
    STAMP,
    ahead,
    begin_search,
    is_free,
    keep_way,
)
from kinfolk.policies.cogsguard.tools import go
from kinfolk.worlds.cogsguard.codes import EMPTY, KIND_MASK, OWN

ANYWHERE, RINGS, NEW_EXTRACTORS, NEW_JUNCTIONS, SECTORS, ENEMIES = range(6)  # what is looked for
SLACK = 12  # steps beyond the nearest frontier that a better one may lie
_MOST_RANKED = 32  # frontiers compared in one search
_FAR_ENOUGH = 14  # cells from known ones; farther is not better
_CLOSED = 25  # ticks before frontiers are looked for again
SECTORS = 8
TURN = 150  # ticks spent on a sector
_CROWDED = 6  # cells


@inline
def sector_of(south: int, east: int) -> int:
    """Which of eight sectors a direction lies in, counted around."""
    if abs(south) >= abs(east):
        half = 0 if south < 0 else 4
        return half + (1 if (east > 0) == (south < 0) else 0)
    half = 2 if east > 0 else 6
    return half + (1 if (south > 0) == (east > 0) else 0)


@inline
def middle(m: Mind, at: int) -> int:
    """The hub, or while it is unknown the cell the agent was born on."""
    hub = int(m.notes[at, HUB_AT])
    return hub if hub > 0 else cell_of(m.rules, 0, 0)


@inline
def sector_cost(m: Mind, at: int, cell: int) -> int:
    """How far a cell is from the agent's present sector, and whether others search there."""
    shift, last, centre = m.rules[SHIFT], m.rules[STRIDE] - 1, middle(m, at)
    south, east = (cell >> shift) - (centre >> shift), (cell & last) - (centre & last)
    sector = sector_of(south, east)
    own = (m.notes[at, LIFE] + m.notes[at, CLOCK] // TURN) % SECTORS
    turn = abs(sector - own)
    cost = 6 * min(turn, SECTORS - turn)
    for i in range(1, m.near[at, 0] + 1):
        friend = m.near[at, i] >> NEAR_OWNER & 3 == OWN
        if friend and apart(m, int(m.near[at, i]) >> NEAR_CELL, cell) <= _CROWDED:
            cost += 8
    return int(cost)


@inline
def nearest_known(m: Mind, at: int, cell: int, first: int, count: int) -> int:
    """Steps to the nearest of some known objects, no more than matter."""
    least = _FAR_ENOUGH
    for entry in range(first, first + count):
        if m.objects[at, entry, WHERE] > 0:
            least = min(least, apart(m, cell, int(m.objects[at, entry, WHERE])))
    return least


@inline
def rank(m: Mind, at: int, cell: int, mode: int) -> int:
    """What counts against a frontier, in steps; the way there comes on top."""
    notes = m.notes
    if mode == RINGS:
        return 3 * apart(m, cell, middle(m, at))
    if mode == NEW_EXTRACTORS:
        return -nearest_known(m, at, cell, m.rules[MOST_JUNCTIONS], notes[at, NEXT_EXTRACTOR])
    if mode == NEW_JUNCTIONS:
        return -nearest_known(m, at, cell, 0, notes[at, NEXT_JUNCTION])
    if mode == ENEMIES and notes[at, ENEMY_AT] > 0:
        return apart(m, cell, notes[at, ENEMY_AT])
    return sector_cost(m, at, cell)


@inline
def is_frontier(m: Mind, at: int, cell: int) -> bool:
    """Whether something beside a free cell was never seen."""
    if not is_free(m, at, cell):
        return False
    for move in range(1, 5):  # noqa: SIM110, kernels have no generators
        if m.cells[at, cell + ahead(m, move)] == 0:
            return True
    return False


@inline
def find_frontier(m: Mind, at: int, mode: int) -> int:
    """The best frontier among the nearest; the way there is written down. 0 if there is none."""
    cells, scratch = m.cells, m.scratch
    stamp, head, tail = begin_search(m, at, 0), 0, 1
    level, level_end = 0, 1
    best, least, ranked, limit = 0, 1 << 30, 0, 1 << 30
    bound = m.rules[SEARCH_BOUND]
    while head < tail and head < bound and level <= limit and ranked < _MOST_RANKED:
        cell = int(scratch[QUEUE, head])
        head += 1
        edge = False
        for move in range(1, 5):
            to = cell + ahead(m, move)
            known = int(cells[at, to])
            if known == 0:
                edge = True
            elif scratch[STAMP, to] < stamp and known & KIND_MASK == EMPTY:
                scratch[STAMP, to] = stamp
                scratch[BACK, to] = move
                scratch[QUEUE, tail] = to
                tail += 1
        if edge:
            cost = level + rank(m, at, cell, mode)
            ranked += 1
            limit = min(limit, level + SLACK)
            if cost < least:
                best, least = cell, cost
        if head == level_end:
            level += 1
            level_end = tail
    if best > 0:
        keep_way(m, at, best, best, 0)
    return int(best)


@inline
def is_done(m: Mind, at: int, goal: int) -> bool:
    """Whether a goal has nothing more to show.

    What lies behind a frontier comes into view with the first step towards it. Going on for half
    a window shows as much, and spares a search at every step.
    """
    near = apart(m, m.notes[at, CELL], goal) <= m.rules[RADIUS] // 2
    return near and not is_frontier(m, at, goal)


def explore(m: Mind, at: int, mode: int, _unused: int) -> int:
    """The move towards the frontier that fits `mode`; with none in reach, patrol."""
    notes = m.notes
    goal = int(notes[at, FRONTIER])
    if goal == 0 or notes[at, FRONTIER_MODE] != mode or is_done(m, at, goal):
        goal = 0
        closed = notes[at, CLOSED_VERSION] == notes[at, VERSION]
        if not closed and notes[at, CLOCK] >= notes[at, CLOSED_UNTIL]:
            goal = find_frontier(m, at, mode)
            if goal == 0:
                notes[at, CLOSED_VERSION] = notes[at, VERSION]
                notes[at, CLOSED_UNTIL] = notes[at, CLOCK] + _CLOSED
        notes[at, FRONTIER] = goal
        notes[at, FRONTIER_MODE] = mode
    if goal > 0:
        move = go(m, at, goal, 0)
        if move != CANNOT:
            return move
        notes[at, FRONTIER], notes[at, PATH_GOAL] = 0, 0
        return sidestep(m, at)
    return patrol(m, at)


@inline
def is_closed(m: Mind, at: int) -> bool:
    """Whether the last search for a frontier found none, and nothing has changed since."""
    return bool(m.notes[at, FRONTIER] == 0 and m.notes[at, CLOSED_UNTIL] > m.notes[at, CLOCK])
