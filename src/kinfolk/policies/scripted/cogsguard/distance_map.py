"""Breadth-first search over an agent's own map: the nearest landmark of each kind, and moves to it.

Results lie in the scratch: for every reached cell COST (steps) and CAME_FROM (bit mask of the first moves
of all shortest paths), and in DEFERRED the cell of the nearest landmark of each kind, 0 for none.
"""

from __future__ import annotations

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline
from kinfolk.policies.scripted.cogsguard import columns as col
from kinfolk.policies.scripted.cogsguard import exploration
from kinfolk.policies.scripted.cogsguard.memory import AgentMemory, move_offset
from kinfolk.policies.scripted.cogsguard.pathfinding import begin_search
from kinfolk.policies.scripted.cogsguard.primitives import (
    cargo_size,
    has_cargo_to_deposit,
    target_cell,
)
from kinfolk.policies.scripted.cogsguard.targets import DEPOT, MINE, abandon_target
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
FAR_AWAY = 1 << 20  # steps
# Columns of a trail, what is remembered of the last tick: the agent's cell and cargo, its last step, and
# its distance from the frontier, the miner's station and each of four targets.
LAST_CELL, LAST_CARGO, HEADING, STEPS_TO_FRONTIER, STEPS_TO_STATION, STEPS_TO_TARGET = range(6)
TRAIL_COLUMNS = STEPS_TO_TARGET + 4


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
def compute_distance_map(memory: AgentMemory, agent: int, trail: Ints) -> None:
    """Search all known cells in reach, nearest first, and record the landmarks.

    Also chooses the frontier to explore (FRONTIER_CELL) and the targets of scripted roles.

    Args:
        memory: Memory of all agents; targets and frontier of `agent` are updated.
        agent: The agent's row in memory.
        trail: The agent's trail, which is brought up to date.
    """
    state = memory.state[agent]
    cells, scratch, bound = memory.cells, memory.scratch, memory.rules[col.MAX_SEARCH_CELLS]
    stamp, head, tail = begin_search(memory, agent, 0), 0, 1
    scratch[col.COST, state[col.CELL]] = 0
    scratch[col.DEFERRED, : len(LANDMARKS)] = 0
    best, least, limit, ranked = 0, 1 << 30, 1 << 30, 0
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
        if edge and steps <= limit and ranked < exploration.MAX_RANKED:
            limit, ranked = min(limit, steps + exploration.FRONTIER_SLACK), ranked + 1
            cost = steps + exploration.frontier_cost(memory, agent, cell, exploration.ANYWHERE)
            if cost < least:
                best, least = cell, cost
    update_frontier(memory, agent, trail, best, stamp)
    update_targets(memory, agent, trail, stamp)


@inline
def steps_to(memory: AgentMemory, cell: int, stamp: int) -> int:
    """Return the steps to a cell, FAR_AWAY if the search did not reach it or there is none (0).

    Args:
        memory: Memory of all agents; only its scratch is used.
        cell: The cell.
        stamp: Stamp of the search.
    """
    if cell == 0 or memory.scratch[col.STAMP, cell] != stamp:
        return FAR_AWAY
    return int(memory.scratch[col.COST, cell])


@inline
def update_frontier(memory: AgentMemory, agent: int, trail: Ints, best: int, stamp: int) -> None:
    """Replace the frontier if it is explored, or if the agent's last step led away from it.

    Args:
        memory: Memory of all agents; the frontier of `agent` is updated.
        agent: The agent's row in memory.
        trail: The agent's trail; its steps to the frontier are updated.
        best: The best frontier from here, 0 for none.
        stamp: Stamp of the search.
    """
    state = memory.state[agent]
    current = int(state[col.FRONTIER_CELL])
    steps = steps_to(memory, current, stamp)
    is_left = steps > trail[STEPS_TO_FRONTIER]
    if steps == FAR_AWAY or is_left or exploration.is_explored(memory, agent, current):
        state[col.FRONTIER_CELL] = best
        steps = steps_to(memory, best, stamp)
    memory.scratch[col.DEFERRED, FRONTIER_LANDMARK] = state[col.FRONTIER_CELL]
    trail[STEPS_TO_FRONTIER] = steps


@inline
def update_targets(memory: AgentMemory, agent: int, trail: Ints, stamp: int) -> None:
    """Choose targets anew if the agent's last step led away from them, and record them.

    A script chooses a target when it begins to act on it. A net does not say what it is about to do,
    but a step away from a target tells that it was not going there. As in scripts, the extractor is
    kept with cargo on board and on the way to the miner's gear, the depot is chosen when the cargo is
    full and kept, and targets that cannot be reached are given up for a while.

    Args:
        memory: Memory of all agents; the targets of `agent` are updated.
        agent: The agent's row in memory.
        trail: The agent's trail, which is brought up to date.
        stamp: Stamp of the search.
    """
    state, cargo = memory.state[agent], cargo_size(memory, agent)
    station = int(memory.scratch[col.DEFERRED, STATION_LANDMARK + codes.MINER - 1])
    to_station = steps_to(memory, station, stamp)
    if cargo < trail[LAST_CARGO]:
        state[col.MINE_TARGET] = 0  # as a miner does after a deposit
    for purpose in range(4):
        goal = int(state[col.MINE_TARGET + purpose])
        is_left = steps_to(memory, goal, stamp) > trail[STEPS_TO_TARGET + purpose]
        if purpose == MINE:
            is_left = is_left and cargo == 0 and to_station >= trail[STEPS_TO_STATION]
        if is_left and purpose != DEPOT:
            state[col.MINE_TARGET + purpose] = 0
        if purpose != DEPOT or has_cargo_to_deposit(memory, agent):
            goal = target_cell(memory, agent, purpose)
        steps = steps_to(memory, goal, stamp)
        if goal > 0 and steps == FAR_AWAY:
            abandon_target(memory, agent, purpose, int(state[col.RETRY_DELAY]))
            goal = 0
        memory.scratch[col.DEFERRED, TARGET_LANDMARKS + purpose] = goal
        trail[STEPS_TO_TARGET + purpose] = steps
    trail[LAST_CARGO], trail[STEPS_TO_STATION] = cargo, to_station
