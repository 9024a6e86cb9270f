"""One flood over an agent's own map: the nearest of each thing, and the moves that lead there."""

from __future__ import annotations

from kinfolk.core.jit import inline
from kinfolk.policies.cogsguard.atlas_columns import (
    AIM_THINGS,
    CHEST_THING,
    EXTRACTOR_THING,
    FRIENDLY_THING,
    FRONTIER_THING,
    HUB_THING,
    JUNCTION_THING,
    STATION_THING,
    THINGS,
)
from kinfolk.policies.cogsguard.exploring import ANYWHERE, SLACK, is_done, rank
from kinfolk.policies.cogsguard.knowledge import (
    SEARCH_BOUND,
)
from kinfolk.policies.cogsguard.memory import (
    CELL,
    FRONTIER,
    Mind,
)
from kinfolk.policies.cogsguard.searches import (
    BACK,
    COST,
    LATER,
    QUEUE,
    STAMP,
    ahead,
    begin_search,
)
from kinfolk.policies.cogsguard.tools import aim_at
from kinfolk.worlds.cogsguard.codes import (
    CHEST,
    EMPTY,
    EXTRACTOR,
    FRIENDLY_AREA,
    HUB,
    JUNCTION,
    KIND_MASK,
    OWN,
    OWNER_SHIFT,
    STATION,
    WALL,
)


@inline
def meet_thing(m: Mind, thing: int, cell: int) -> None:
    """Remember the cell of the nearest of its kind; one that was met before is nearer."""
    if m.scratch[LATER, thing] == 0:
        m.scratch[LATER, thing] = cell


@inline
def meet_object(m: Mind, known: int, cell: int) -> None:
    """An object was met on the flood."""
    kind, own = known & KIND_MASK, known >> OWNER_SHIFT & 3 == OWN
    if EXTRACTOR <= kind < HUB:
        meet_thing(m, EXTRACTOR_THING + kind - EXTRACTOR, cell)
    elif kind == JUNCTION:
        meet_thing(m, JUNCTION_THING + (known >> OWNER_SHIFT & 3), cell)
    elif own and kind == HUB:
        meet_thing(m, HUB_THING, cell)
    elif own and kind == CHEST:
        meet_thing(m, CHEST_THING, cell)
    elif own and STATION <= kind < JUNCTION:
        meet_thing(m, STATION_THING + kind - STATION, cell)


@inline
def reach(m: Mind, at: int, to: int, steps: int, moves: int, stamp: int, tail: int) -> int:
    """A cell beside one of the flood; returns where the queue ends now.

    A cell that is reached on several shortest ways keeps the first moves of all of them.
    """
    scratch, known = m.scratch, int(m.cells[at, to])
    if scratch[STAMP, to] >= stamp:
        if scratch[COST, to] == steps:
            scratch[BACK, to] |= moves
        return tail
    scratch[STAMP, to], scratch[COST, to], scratch[BACK, to] = stamp, steps, moves
    if known & KIND_MASK == EMPTY:
        scratch[QUEUE, tail] = to
        return tail + 1
    if known & KIND_MASK != WALL:
        meet_object(m, known, to)
    return tail


@inline
def flood(m: Mind, at: int) -> None:
    """Go over all known cells in reach, the nearest first, and remember what is met."""
    cells, scratch, bound = m.cells, m.scratch, m.rules[SEARCH_BOUND]
    stamp, head, tail = begin_search(m, at, 0), 0, 1
    scratch[COST, m.notes[at, CELL]] = 0
    scratch[LATER, : len(THINGS)] = 0
    best, least, limit = 0, 1 << 30, 1 << 30
    while head < tail and head < bound:
        cell = int(scratch[QUEUE, head])
        head += 1
        steps, edge = int(scratch[COST, cell]), False
        if int(cells[at, cell]) & FRIENDLY_AREA != 0:
            meet_thing(m, FRIENDLY_THING, cell)
        for move in range(1, 5):
            to = cell + ahead(m, move)
            if cells[at, to] == 0:
                edge = True
            else:
                moves = int(scratch[BACK, cell]) if steps > 0 else 1 << (move - 1)
                tail = reach(m, at, to, steps + 1, moves, stamp, tail)
        if edge and steps <= limit:
            limit = min(limit, steps + SLACK)
            cost = steps + rank(m, at, cell, ANYWHERE)
            if cost < least:
                best, least = cell, cost
    kept = int(m.notes[at, FRONTIER])
    if kept == 0 or scratch[STAMP, kept] != stamp or is_done(m, at, kept):
        m.notes[at, FRONTIER] = best  # else it goes on to where it was going
    scratch[LATER, FRONTIER_THING] = m.notes[at, FRONTIER]
    for what in range(4):
        cell = aim_at(m, at, what)
        reached = cell > 0 and scratch[STAMP, cell] == stamp
        scratch[LATER, AIM_THINGS + what] = cell if reached else 0
