"""Breadth-first search over an agent's own map: the nearest landmark of each kind, and moves to it.

Results lie in the scratch: for every reached cell COST (steps) and CAME_FROM (bit mask of the first moves
of all shortest paths), and in DEFERRED the cell of the nearest landmark of each kind, 0 for none.
"""

from __future__ import annotations

from kinfolk.core.jit import inline
from kinfolk.policies.scripted.cogsguard import columns as col
from kinfolk.policies.scripted.cogsguard import exploration
from kinfolk.policies.scripted.cogsguard.memory import AgentMemory, move_offset
from kinfolk.policies.scripted.cogsguard.pathfinding import begin_search
from kinfolk.policies.scripted.cogsguard.primitives import target_cell
from kinfolk.worlds.cogsguard import codes

# Kinds of landmarks, in the order of the columns.
LANDMARKS = (
    "hub",
    "chest",
    *(f"{gear}_station" for gear in codes.GEARS[1:]),
    *(f"{element}_extractor" for element in codes.ELEMENTS),
    *(f"junction_of_{owner}" for owner in codes.OWNERS),
    "friendly_area",
    "frontier",
    "extractor_to_mine",  # from here on: the targets that scripted roles would choose
    "junction_to_align",
    "junction_to_scramble",
    "depot",
)
HUB_LANDMARK, CHEST_LANDMARK, STATION_LANDMARK = 0, 1, 2  # indices of LANDMARKS; first of four
EXTRACTOR_LANDMARK, JUNCTION_LANDMARK = 6, 10  # each the first of four
FRIENDLY_LANDMARK, FRONTIER_LANDMARK, TARGET_LANDMARKS = 14, 15, 16


@inline
def record_nearest(memory: AgentMemory, landmark: int, cell: int) -> None:
    """Record a landmark unless a nearer one of its kind was reached before.

    Args:
        memory: Memory of all agents; only its scratch is used.
        landmark: Index of LANDMARKS.
        cell: Cell of the landmark.
    """
    if memory.scratch[col.DEFERRED, landmark] == 0:
        memory.scratch[col.DEFERRED, landmark] = cell


@inline
def record_object(memory: AgentMemory, known: int, cell: int) -> None:
    """Record an object that the search has reached, by its kind and owner.

    Args:
        memory: Memory of all agents; only its scratch is used.
        known: The known word of its cell.
        cell: Number of the cell on the agent's map.
    """
    kind, is_own = known & codes.KIND_MASK, known >> codes.OWNER_SHIFT & 3 == codes.OWN
    if codes.EXTRACTOR <= kind < codes.HUB:
        record_nearest(memory, EXTRACTOR_LANDMARK + kind - codes.EXTRACTOR, cell)
    elif kind == codes.JUNCTION:
        record_nearest(memory, JUNCTION_LANDMARK + (known >> codes.OWNER_SHIFT & 3), cell)
    elif is_own and kind == codes.HUB:
        record_nearest(memory, HUB_LANDMARK, cell)
    elif is_own and kind == codes.CHEST:
        record_nearest(memory, CHEST_LANDMARK, cell)
    elif is_own and codes.STATION <= kind < codes.JUNCTION:
        record_nearest(memory, STATION_LANDMARK + kind - codes.STATION, cell)


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
    if scratch[col.STAMP, to] >= stamp:
        if scratch[col.COST, to] == steps:
            scratch[col.CAME_FROM, to] |= moves
        return tail
    scratch[col.STAMP, to], scratch[col.COST, to], scratch[col.CAME_FROM, to] = stamp, steps, moves
    if known & codes.KIND_MASK == codes.EMPTY:
        scratch[col.QUEUE, tail] = to
        return tail + 1
    if known & codes.KIND_MASK != codes.WALL:
        record_object(memory, known, to)
    return tail


@inline
def compute_distance_map(memory: AgentMemory, agent: int) -> None:
    """Search all known cells in reach, nearest first, and record the landmarks.

    Also chooses the frontier to explore (FRONTIER_CELL) and the targets of scripted roles.
    """
    state = memory.state[agent]
    cells, scratch, bound = memory.cells, memory.scratch, memory.rules[col.MAX_SEARCH_CELLS]
    stamp, head, tail = begin_search(memory, agent, 0), 0, 1
    scratch[col.COST, state[col.CELL]] = 0
    scratch[col.DEFERRED, : len(LANDMARKS)] = 0
    best, least, limit = 0, 1 << 30, 1 << 30
    while head < tail and head < bound:
        cell = int(scratch[col.QUEUE, head])
        head += 1
        steps, edge = int(scratch[col.COST, cell]), False
        if int(cells[agent, cell]) & codes.FRIENDLY_AREA != 0:
            record_nearest(memory, FRIENDLY_LANDMARK, cell)
        for move in range(1, 5):
            to = cell + move_offset(memory, move)
            if cells[agent, to] == 0:
                edge = True
            else:
                moves = int(scratch[col.CAME_FROM, cell]) if steps > 0 else 1 << (move - 1)
                tail = visit_cell(memory, agent, to, steps + 1, moves, stamp, tail)
        if edge and steps <= limit:
            limit = min(limit, steps + exploration.FRONTIER_SLACK)
            cost = steps + exploration.frontier_cost(memory, agent, cell, exploration.ANYWHERE)
            if cost < least:
                best, least = cell, cost
    current = int(state[col.FRONTIER_CELL])
    if (
        current == 0
        or scratch[col.STAMP, current] != stamp
        or exploration.is_explored(memory, agent, current)
    ):
        state[col.FRONTIER_CELL] = best  # otherwise the frontier stays
    scratch[col.DEFERRED, FRONTIER_LANDMARK] = state[col.FRONTIER_CELL]
    for purpose in range(4):
        cell = target_cell(memory, agent, purpose)
        reached = cell > 0 and scratch[col.STAMP, cell] == stamp
        scratch[col.DEFERRED, TARGET_LANDMARKS + purpose] = cell if reached else 0
