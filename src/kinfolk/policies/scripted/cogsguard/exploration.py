"""Explore the map: walk to the best-ranked frontier; with none in reach, patrol.

A frontier is a free cell beside one that was never seen. A patrol revisits the junction that was seen
longest ago.
"""

from __future__ import annotations

from kinfolk.core.jit import inline
from kinfolk.core.random import randint
from kinfolk.policies.scripted.cogsguard import columns as col
from kinfolk.policies.scripted.cogsguard import pathfinding, primitives
from kinfolk.policies.scripted.cogsguard.memory import (
    AgentMemory,
    cell_of,
    grid_distance,
    is_free,
    move_offset,
)
from kinfolk.worlds.cogsguard import codes

# Modes of exploration: what is looked for. The numbers are kept in memory (FRONTIER_MODE).
ANYWHERE, RINGS, NEW_EXTRACTORS, NEW_JUNCTIONS, ENEMIES, BY_SECTOR = 0, 1, 2, 3, 5, 8
N_SECTORS = 8  # around the hub
SECTOR_TICKS = 150  # ticks that an agent spends on a sector
FRONTIER_SLACK = 12  # steps beyond the nearest frontier that a better one may lie
MAX_RANKED = 32  # frontiers compared in one search
_MAX_USEFUL_DISTANCE = 14  # cells from known objects; farther is not better
_NO_FRONTIER_TICKS = 25  # ticks before frontiers are searched again
_CROWDED_DISTANCE = 6  # cells within which a team-mate makes a frontier less attractive
_PATROL_TRIES = 8  # random cells tried as goal of a patrol


@inline
def choose_patrol_cell(memory: AgentMemory, agent: int) -> int:
    """Return the junction seen longest ago, else a random known free cell; 0 if there is none."""
    state = memory.state[agent]
    objects, clock = memory.objects[agent], state[col.CLOCK]
    best, oldest = 0, clock
    for entry in range(state[col.N_JUNCTIONS]):
        seen = objects[entry, col.LAST_SEEN]
        if seen < oldest and objects[entry, col.RETRY_AT] <= clock:
            best, oldest = objects[entry, col.OBJECT_CELL], seen
    if best > 0:
        return int(best)
    reach = memory.rules[col.STRIDE] // 2
    for i in range(_PATROL_TRIES):
        south = randint(state[col.RANDOM_KEY], 2 + 2 * i, reach) - reach // 2
        east = randint(state[col.RANDOM_KEY], 3 + 2 * i, reach) - reach // 2
        cell = cell_of(memory.rules, south, east)
        if 0 < cell < memory.cells.shape[1] and is_free(memory, agent, cell):
            return int(cell)
    return 0


@inline
def patrol(memory: AgentMemory, agent: int) -> int:
    """Return the move to the cell of the patrol; a goal that came into view is replaced."""
    state, objects = memory.state[agent], memory.objects[agent]
    goal = int(state[col.PATROL_CELL])
    number = int(memory.cells[agent, goal]) >> col.OBJECT_SHIFT if goal > 0 else 0
    in_view = number > 0 and objects[number - 1, col.LAST_SEEN] == state[col.CLOCK]
    if goal == 0 or in_view or goal == state[col.CELL]:
        goal = choose_patrol_cell(memory, agent)
        state[col.PATROL_CELL] = goal
    if goal == 0:
        return pathfinding.NO_MOVE
    move = primitives.move_to(memory, agent, goal, 0)
    if move == pathfinding.NO_MOVE:
        number = int(memory.cells[agent, goal]) >> col.OBJECT_SHIFT
        if number > 0:
            objects[number - 1, col.RETRY_AT] = state[col.CLOCK] + state[col.RETRY_DELAY]
        state[col.PATROL_CELL] = 0
        return pathfinding.sidestep(memory, agent)
    return move


@inline
def sector_of(south: int, east: int) -> int:
    """Return the sector, 0 to 7 in circular order, that contains a direction."""
    if abs(south) >= abs(east):
        half = 0 if south < 0 else 4
        return half + (1 if (east > 0) == (south < 0) else 0)
    half = 2 if east > 0 else 6
    return half + (1 if (south > 0) == (east > 0) else 0)


@inline
def search_center(memory: AgentMemory, agent: int) -> int:
    """Return the cell of the hub or, while it is unknown, of the agent's birth."""
    hub = int(memory.state[agent, col.HUB_CELL])
    return hub if hub > 0 else cell_of(memory.rules, 0, 0)


@inline
def sector_cost(memory: AgentMemory, agent: int, cell: int) -> int:
    """Return the cost of a cell by its angle from the agent's current sector and by team-mates there.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        cell: Number of the cell on the agent's map.
    """
    state = memory.state[agent]
    shift, last = memory.rules[col.SHIFT], memory.rules[col.STRIDE] - 1
    center = search_center(memory, agent)
    south, east = (cell >> shift) - (center >> shift), (cell & last) - (center & last)
    sector = sector_of(south, east)
    current = (state[col.UID] + state[col.CLOCK] // SECTOR_TICKS) % N_SECTORS
    turn = abs(sector - current)
    cost = 6 * min(turn, N_SECTORS - turn)
    for i in range(1, memory.nearby[agent, 0] + 1):
        other = int(memory.nearby[agent, i])
        is_friend = other >> col.NEARBY_OWNER & 3 == codes.OWN
        if is_friend and grid_distance(memory, other >> col.NEARBY_CELL, cell) <= _CROWDED_DISTANCE:
            cost += 8
    return int(cost)


@inline
def distance_to_known(memory: AgentMemory, agent: int, cell: int, first: int, count: int) -> int:
    """Return the distance to the nearest of some known objects, at most _MAX_USEFUL_DISTANCE.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        cell: The cell to start from.
        first: Index of the first object.
        count: Number of objects.
    """
    objects = memory.objects[agent]
    least = _MAX_USEFUL_DISTANCE
    for entry in range(first, first + count):
        if objects[entry, col.OBJECT_CELL] > 0:
            least = min(least, grid_distance(memory, cell, int(objects[entry, col.OBJECT_CELL])))
    return least


@inline
def frontier_cost(memory: AgentMemory, agent: int, cell: int, mode: int) -> int:
    """Return the cost of a frontier in steps, without the path to it.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        cell: Cell of the frontier.
        mode: What the agent looks for, one of the modes above such as ANYWHERE.
    """
    state = memory.state[agent]
    if mode == RINGS:
        return 3 * grid_distance(memory, cell, search_center(memory, agent))
    if mode == NEW_EXTRACTORS:
        first = memory.rules[col.MAX_JUNCTIONS]
        return -distance_to_known(memory, agent, cell, first, state[col.N_EXTRACTORS])
    if mode == NEW_JUNCTIONS:
        return -distance_to_known(memory, agent, cell, 0, state[col.N_JUNCTIONS])
    if mode == ENEMIES and state[col.ENEMY_CELL] > 0:
        return grid_distance(memory, cell, state[col.ENEMY_CELL])
    return sector_cost(memory, agent, cell)


@inline
def is_frontier(memory: AgentMemory, agent: int, cell: int) -> bool:
    """Return whether a cell is free and one beside it was never seen.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        cell: Number of the cell on the agent's map.
    """
    if not is_free(memory, agent, cell):
        return False
    for move in range(1, 5):  # noqa: SIM110, kernels have no generators
        if memory.cells[agent, cell + move_offset(memory, move)] == 0:
            return True
    return False


@inline
def find_frontier(memory: AgentMemory, agent: int, mode: int) -> int:
    """Find the best frontier among the nearest and store the path to it.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        mode: What the agent looks for, such as ANYWHERE; frontiers are ranked by it.

    Returns:
        The cell of the frontier, 0 if none can be reached.
    """
    cells, scratch = memory.cells, memory.scratch
    stamp, head, tail = pathfinding.begin_search(memory, agent, 0), 0, 1
    bound, level, level_end = memory.rules[col.MAX_SEARCH_CELLS], 0, 1
    best, least, ranked, limit = 0, 1 << 30, 0, 1 << 30
    while head < tail and head < bound and level <= limit and ranked < MAX_RANKED:
        cell = int(scratch[col.QUEUE, head])
        head, edge = head + 1, False
        for move in range(1, 5):
            to = cell + move_offset(memory, move)
            known = int(cells[agent, to])
            if known == 0:
                edge = True
            elif scratch[col.STAMP, to] < stamp and known & codes.KIND_MASK == codes.EMPTY:
                scratch[col.STAMP, to] = stamp
                scratch[col.CAME_FROM, to] = move
                scratch[col.QUEUE, tail] = to
                tail += 1
        if edge:
            cost = level + frontier_cost(memory, agent, cell, mode)
            ranked += 1
            limit = min(limit, level + FRONTIER_SLACK)
            if cost < least:
                best, least = cell, cost
        if head == level_end:
            level += 1
            level_end = tail
    if best > 0:
        pathfinding.store_path(memory, agent, best, best, 0)
    return int(best)


@inline
def is_explored(memory: AgentMemory, agent: int, goal: int) -> bool:
    """Return whether a frontier has nothing more to reveal.

    What lies behind a frontier comes into view with the first step towards it. Walking on for half a
    window reveals as much, and spares a search at every step.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        goal: Cell of the frontier.
    """
    distance = grid_distance(memory, memory.state[agent, col.CELL], goal)
    return distance <= memory.rules[col.RADIUS] // 2 and not is_frontier(memory, agent, goal)


def explore(memory: AgentMemory, agent: int, mode: int, _unused: int) -> int:
    """Return the move towards the best frontier; with none in reach, the move of a patrol.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        mode: What the agent looks for, one of the modes above such as ANYWHERE.
        _unused: Kernels that are called by address take four arguments.
    """
    state = memory.state[agent]
    goal = int(state[col.FRONTIER_CELL])
    if goal == 0 or state[col.FRONTIER_MODE] != mode or is_explored(memory, agent, goal):
        goal = 0
        unchanged = state[col.NO_FRONTIER_VERSION] == state[col.MAP_VERSION]
        if not unchanged and state[col.CLOCK] >= state[col.NO_FRONTIER_UNTIL]:
            goal = find_frontier(memory, agent, mode)
            if goal == 0:
                state[col.NO_FRONTIER_VERSION] = state[col.MAP_VERSION]
                state[col.NO_FRONTIER_UNTIL] = state[col.CLOCK] + _NO_FRONTIER_TICKS
        state[col.FRONTIER_CELL] = goal
        state[col.FRONTIER_MODE] = mode
    if goal > 0:
        move = primitives.move_to(memory, agent, goal, 0)
        if move != pathfinding.NO_MOVE:
            return move
        state[col.FRONTIER_CELL], state[col.PATH_GOAL] = 0, 0
        return pathfinding.sidestep(memory, agent)
    return patrol(memory, agent)


@inline
def has_no_frontier(memory: AgentMemory, agent: int) -> bool:
    """Return whether the last search found no frontier and it is too early to search again."""
    state = memory.state[agent]
    return bool(state[col.FRONTIER_CELL] == 0 and state[col.NO_FRONTIER_UNTIL] > state[col.CLOCK])
