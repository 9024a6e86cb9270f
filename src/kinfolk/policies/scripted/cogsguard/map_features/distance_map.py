"""Breadth-first search over an agent's own map: the nearest landmark of each kind, and moves to it.

Results lie in the scratch: for every reached cell COST (steps) and CAME_FROM (bit mask of the first moves
of all shortest paths), and in DEFERRED the cell of the nearest landmark of each kind, 0 for none.
"""

from __future__ import annotations

from kinfolk.core.jit import inline
from kinfolk.policies.scripted.cogsguard.exploration import (
    ANYWHERE,
    FRONTIER_SLACK,
    frontier_cost,
    is_explored,
)
from kinfolk.policies.scripted.cogsguard.map_features.columns import (
    CHEST_LANDMARK,
    EXTRACTOR_LANDMARK,
    FRIENDLY_LANDMARK,
    FRONTIER_LANDMARK,
    HUB_LANDMARK,
    JUNCTION_LANDMARK,
    LANDMARKS,
    STATION_LANDMARK,
    TARGET_LANDMARKS,
)
from kinfolk.policies.scripted.cogsguard.memory import (
    CELL,
    FRONTIER_CELL,
    AgentMemory,
    move_offset,
)
from kinfolk.policies.scripted.cogsguard.parameters import MAX_SEARCH_CELLS
from kinfolk.policies.scripted.cogsguard.pathfinding import (
    CAME_FROM,
    COST,
    DEFERRED,
    QUEUE,
    STAMP,
    begin_search,
)
from kinfolk.policies.scripted.cogsguard.shared_kernels import target_cell
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
def record_nearest(memory: AgentMemory, landmark: int, cell: int) -> None:
    """Record a landmark unless a nearer one of its kind was reached before.

    Args:
        memory: Memory of all agents; only its scratch is used.
        landmark: Index of LANDMARKS.
        cell: Cell of the landmark.
    """
    if memory.scratch[DEFERRED, landmark] == 0:
        memory.scratch[DEFERRED, landmark] = cell


@inline
def record_object(memory: AgentMemory, known: int, cell: int) -> None:
    """Record an object that the search has reached, by its kind and owner.

    Args:
        memory: Memory of all agents; only its scratch is used.
        known: The known word of its cell.
        cell: The cell.
    """
    kind, is_own = known & KIND_MASK, known >> OWNER_SHIFT & 3 == OWN
    if EXTRACTOR <= kind < HUB:
        record_nearest(memory, EXTRACTOR_LANDMARK + kind - EXTRACTOR, cell)
    elif kind == JUNCTION:
        record_nearest(memory, JUNCTION_LANDMARK + (known >> OWNER_SHIFT & 3), cell)
    elif is_own and kind == HUB:
        record_nearest(memory, HUB_LANDMARK, cell)
    elif is_own and kind == CHEST:
        record_nearest(memory, CHEST_LANDMARK, cell)
    elif is_own and STATION <= kind < JUNCTION:
        record_nearest(memory, STATION_LANDMARK + kind - STATION, cell)


@inline
def visit_cell(
    memory: AgentMemory, agent: int, to: int, steps: int, moves: int, stamp: int, tail: int
) -> int:
    """Reach a cell from a neighbour: record its distance and first moves, and enqueue it if free.

    A cell that is reached on several shortest paths keeps the first moves of all of them.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        to: The cell.
        steps: Its distance by this path.
        moves: Bit mask of the first moves of this path.
        stamp: Stamp of the search.
        tail: End of the queue.

    Returns:
        The new end of the queue.
    """
    scratch, known = memory.scratch, int(memory.cells[agent, to])
    if scratch[STAMP, to] >= stamp:
        if scratch[COST, to] == steps:
            scratch[CAME_FROM, to] |= moves
        return tail
    scratch[STAMP, to], scratch[COST, to], scratch[CAME_FROM, to] = stamp, steps, moves
    if known & KIND_MASK == EMPTY:
        scratch[QUEUE, tail] = to
        return tail + 1
    if known & KIND_MASK != WALL:
        record_object(memory, known, to)
    return tail


@inline
def compute_distance_map(memory: AgentMemory, agent: int) -> None:
    """Search all known cells in reach, nearest first, and record the landmarks.

    Also chooses the frontier to explore (FRONTIER_CELL) and the targets of scripted roles.
    """
    cells, scratch, bound = memory.cells, memory.scratch, memory.rules[MAX_SEARCH_CELLS]
    stamp, head, tail = begin_search(memory, agent, 0), 0, 1
    scratch[COST, memory.state[agent, CELL]] = 0
    scratch[DEFERRED, : len(LANDMARKS)] = 0
    best, least, limit = 0, 1 << 30, 1 << 30
    while head < tail and head < bound:
        cell = int(scratch[QUEUE, head])
        head += 1
        steps, edge = int(scratch[COST, cell]), False
        if int(cells[agent, cell]) & FRIENDLY_AREA != 0:
            record_nearest(memory, FRIENDLY_LANDMARK, cell)
        for move in range(1, 5):
            to = cell + move_offset(memory, move)
            if cells[agent, to] == 0:
                edge = True
            else:
                moves = int(scratch[CAME_FROM, cell]) if steps > 0 else 1 << (move - 1)
                tail = visit_cell(memory, agent, to, steps + 1, moves, stamp, tail)
        if edge and steps <= limit:
            limit = min(limit, steps + FRONTIER_SLACK)
            cost = steps + frontier_cost(memory, agent, cell, ANYWHERE)
            if cost < least:
                best, least = cell, cost
    current = int(memory.state[agent, FRONTIER_CELL])
    if current == 0 or scratch[STAMP, current] != stamp or is_explored(memory, agent, current):
        memory.state[agent, FRONTIER_CELL] = best  # otherwise the frontier stays
    scratch[DEFERRED, FRONTIER_LANDMARK] = memory.state[agent, FRONTIER_CELL]
    for purpose in range(4):
        cell = target_cell(memory, agent, purpose)
        reached = cell > 0 and scratch[STAMP, cell] == stamp
        scratch[DEFERRED, TARGET_LANDMARKS + purpose] = cell if reached else 0
