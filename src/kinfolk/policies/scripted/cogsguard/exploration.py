"""Explore the map: walk to the best-ranked frontier; with none in reach, patrol.

A frontier is a free cell beside one that was never seen. A patrol revisits the junction that was seen
longest ago.
"""

from __future__ import annotations

from kinfolk.core.jit import inline
from kinfolk.core.random import randint
from kinfolk.policies.scripted.cogsguard.memory import (
    CELL,
    CLOCK,
    ENEMY_CELL,
    FRONTIER_CELL,
    FRONTIER_MODE,
    HUB_CELL,
    LAST_SEEN,
    MAP_VERSION,
    N_EXTRACTORS,
    N_JUNCTIONS,
    NEARBY_CELL,
    NEARBY_OWNER,
    NO_FRONTIER_UNTIL,
    NO_FRONTIER_VERSION,
    OBJECT_CELL,
    OBJECT_SHIFT,
    PATH_GOAL,
    PATROL_CELL,
    RANDOM_KEY,
    RETRY_AT,
    UID,
    AgentMemory,
    cell_of,
    grid_distance,
    is_free,
    move_offset,
)
from kinfolk.policies.scripted.cogsguard.parameters import (
    MAX_JUNCTIONS,
    MAX_SEARCH_CELLS,
    RADIUS,
    RETRY_DELAY,
    SHIFT,
    STRIDE,
)
from kinfolk.policies.scripted.cogsguard.pathfinding import (
    CAME_FROM,
    NO_MOVE,
    QUEUE,
    STAMP,
    begin_search,
    sidestep,
    store_path,
)
from kinfolk.policies.scripted.cogsguard.shared_kernels import move_to
from kinfolk.worlds.cogsguard.codes import EMPTY, KIND_MASK, OWN

# Modes of exploration: what is looked for. The numbers are kept in memory (FRONTIER_MODE).
ANYWHERE, RINGS, NEW_EXTRACTORS, NEW_JUNCTIONS, ENEMIES, BY_SECTOR = 0, 1, 2, 3, 5, 8
N_SECTORS = 8  # around the hub
SECTOR_TICKS = 150  # ticks that an agent spends on a sector
FRONTIER_SLACK = 12  # steps beyond the nearest frontier that a better one may lie
_MAX_RANKED = 32  # frontiers compared in one search
_MAX_USEFUL_DISTANCE = 14  # cells from known objects; farther is not better
_NO_FRONTIER_TICKS = 25  # ticks before frontiers are searched again
_CROWDED_DISTANCE = 6  # cells within which a team-mate makes a frontier less attractive
_PATROL_TRIES = 8  # random cells tried as goal of a patrol


@inline
def choose_patrol_cell(memory: AgentMemory, agent: int) -> int:
    """Return the junction seen longest ago, else a random known free cell; 0 if there is none."""
    objects, clock = memory.objects, memory.state[agent, CLOCK]
    best, oldest = 0, clock
    for entry in range(memory.state[agent, N_JUNCTIONS]):
        if objects[agent, entry, LAST_SEEN] < oldest and objects[agent, entry, RETRY_AT] <= clock:
            best, oldest = objects[agent, entry, OBJECT_CELL], objects[agent, entry, LAST_SEEN]
    if best > 0:
        return int(best)
    reach = memory.rules[STRIDE] // 2
    for i in range(_PATROL_TRIES):
        south = randint(memory.state[agent, RANDOM_KEY], 2 + 2 * i, reach) - reach // 2
        east = randint(memory.state[agent, RANDOM_KEY], 3 + 2 * i, reach) - reach // 2
        cell = cell_of(memory.rules, south, east)
        if 0 < cell < memory.cells.shape[1] and is_free(memory, agent, cell):
            return int(cell)
    return 0


@inline
def patrol(memory: AgentMemory, agent: int) -> int:
    """Return the move to the cell of the patrol; a goal that came into view is replaced."""
    state = memory.state
    goal = int(state[agent, PATROL_CELL])
    number = int(memory.cells[agent, goal]) >> OBJECT_SHIFT if goal > 0 else 0
    in_view = number > 0 and memory.objects[agent, number - 1, LAST_SEEN] == state[agent, CLOCK]
    if goal == 0 or in_view or goal == state[agent, CELL]:
        goal = choose_patrol_cell(memory, agent)
        state[agent, PATROL_CELL] = goal
    if goal == 0:
        return NO_MOVE
    move = move_to(memory, agent, goal, 0)
    if move == NO_MOVE:
        number = int(memory.cells[agent, goal]) >> OBJECT_SHIFT
        if number > 0:
            memory.objects[agent, number - 1, RETRY_AT] = (
                state[agent, CLOCK] + memory.rules[RETRY_DELAY]
            )
        state[agent, PATROL_CELL] = 0
        return sidestep(memory, agent)
    return move


@inline
def sector_of(south: int, east: int) -> int:
    """Return which of the eight sectors, counted around, a direction lies in."""
    if abs(south) >= abs(east):
        half = 0 if south < 0 else 4
        return half + (1 if (east > 0) == (south < 0) else 0)
    half = 2 if east > 0 else 6
    return half + (1 if (south > 0) == (east > 0) else 0)


@inline
def search_center(memory: AgentMemory, agent: int) -> int:
    """Return the cell of the hub or, while it is unknown, of the agent's birth."""
    hub = int(memory.state[agent, HUB_CELL])
    return hub if hub > 0 else cell_of(memory.rules, 0, 0)


@inline
def sector_cost(memory: AgentMemory, agent: int, cell: int) -> int:
    """Return the cost of a cell by its angle from the agent's current sector and by team-mates there.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        cell: The cell.
    """
    shift, last = memory.rules[SHIFT], memory.rules[STRIDE] - 1
    center = search_center(memory, agent)
    south, east = (cell >> shift) - (center >> shift), (cell & last) - (center & last)
    sector = sector_of(south, east)
    current = (memory.state[agent, UID] + memory.state[agent, CLOCK] // SECTOR_TICKS) % N_SECTORS
    turn = abs(sector - current)
    cost = 6 * min(turn, N_SECTORS - turn)
    for i in range(1, memory.nearby[agent, 0] + 1):
        friend = memory.nearby[agent, i] >> NEARBY_OWNER & 3 == OWN
        if (
            friend
            and grid_distance(memory, int(memory.nearby[agent, i]) >> NEARBY_CELL, cell)
            <= _CROWDED_DISTANCE
        ):
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
    least = _MAX_USEFUL_DISTANCE
    for entry in range(first, first + count):
        if memory.objects[agent, entry, OBJECT_CELL] > 0:
            least = min(
                least, grid_distance(memory, cell, int(memory.objects[agent, entry, OBJECT_CELL]))
            )
    return least


@inline
def frontier_cost(memory: AgentMemory, agent: int, cell: int, mode: int) -> int:
    """Return the cost of a frontier in steps, without the path to it.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        cell: The frontier.
        mode: Mode of exploration.
    """
    state = memory.state
    if mode == RINGS:
        return 3 * grid_distance(memory, cell, search_center(memory, agent))
    if mode == NEW_EXTRACTORS:
        return -distance_to_known(
            memory, agent, cell, memory.rules[MAX_JUNCTIONS], state[agent, N_EXTRACTORS]
        )
    if mode == NEW_JUNCTIONS:
        return -distance_to_known(memory, agent, cell, 0, state[agent, N_JUNCTIONS])
    if mode == ENEMIES and state[agent, ENEMY_CELL] > 0:
        return grid_distance(memory, cell, state[agent, ENEMY_CELL])
    return sector_cost(memory, agent, cell)


@inline
def is_frontier(memory: AgentMemory, agent: int, cell: int) -> bool:
    """Return whether a cell is free and one beside it was never seen.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        cell: The cell.
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
        mode: Mode of exploration, by which frontiers are ranked.

    Returns:
        The cell of the frontier, 0 if none can be reached.
    """
    cells, scratch = memory.cells, memory.scratch
    stamp, head, tail = begin_search(memory, agent, 0), 0, 1
    level, level_end = 0, 1
    best, least, ranked, limit = 0, 1 << 30, 0, 1 << 30
    bound = memory.rules[MAX_SEARCH_CELLS]
    while head < tail and head < bound and level <= limit and ranked < _MAX_RANKED:
        cell = int(scratch[QUEUE, head])
        head += 1
        edge = False
        for move in range(1, 5):
            to = cell + move_offset(memory, move)
            known = int(cells[agent, to])
            if known == 0:
                edge = True
            elif scratch[STAMP, to] < stamp and known & KIND_MASK == EMPTY:
                scratch[STAMP, to] = stamp
                scratch[CAME_FROM, to] = move
                scratch[QUEUE, tail] = to
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
        store_path(memory, agent, best, best, 0)
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
    near = grid_distance(memory, memory.state[agent, CELL], goal) <= memory.rules[RADIUS] // 2
    return near and not is_frontier(memory, agent, goal)


def explore(memory: AgentMemory, agent: int, mode: int, _unused: int) -> int:
    """Return the move towards the best frontier; with none in reach, the move of a patrol.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        mode: Mode of exploration.
        _unused: Kernels that are called by address take four arguments.
    """
    state = memory.state
    goal = int(state[agent, FRONTIER_CELL])
    if goal == 0 or state[agent, FRONTIER_MODE] != mode or is_explored(memory, agent, goal):
        goal = 0
        unchanged = state[agent, NO_FRONTIER_VERSION] == state[agent, MAP_VERSION]
        if not unchanged and state[agent, CLOCK] >= state[agent, NO_FRONTIER_UNTIL]:
            goal = find_frontier(memory, agent, mode)
            if goal == 0:
                state[agent, NO_FRONTIER_VERSION] = state[agent, MAP_VERSION]
                state[agent, NO_FRONTIER_UNTIL] = state[agent, CLOCK] + _NO_FRONTIER_TICKS
        state[agent, FRONTIER_CELL] = goal
        state[agent, FRONTIER_MODE] = mode
    if goal > 0:
        move = move_to(memory, agent, goal, 0)
        if move != NO_MOVE:
            return move
        state[agent, FRONTIER_CELL], state[agent, PATH_GOAL] = 0, 0
        return sidestep(memory, agent)
    return patrol(memory, agent)


@inline
def has_no_frontier(memory: AgentMemory, agent: int) -> bool:
    """Return whether the last search found no frontier and is not yet to be repeated."""
    return bool(
        memory.state[agent, FRONTIER_CELL] == 0
        and memory.state[agent, NO_FRONTIER_UNTIL] > memory.state[agent, CLOCK]
    )
