"""Find paths on an agent's known map, store them, and follow them step by step.

Searches are bounded and breadth-first (A* towards a goal). A path stays in the agent's memory until it
is walked. A failed search is remembered too, and not repeated for a while: late in a game most searches
fail, and each costs as much as fifty decisions.
"""

from __future__ import annotations

from kinfolk.core.jit import call_address_4, inline
from kinfolk.core.random import randint
from kinfolk.policies.scripted.cogsguard import columns as col
from kinfolk.policies.scripted.cogsguard.memory import (
    AgentMemory,
    grid_distance,
    is_free,
    is_occupied,
    move_offset,
)
from kinfolk.worlds.cogsguard import codes
from kinfolk.worlds.cogsguard.spec import SUCCEEDED_FACT

NO_MOVE = -1  # equal to the reason code NO_PATH, so behaviors return it as it is
WAIT = 0  # the move that stays
# Flags of a search. PREFER_SAFE: around enemy areas if there is such a way, else through them.
AVOID_AGENTS, AVOID_ENEMY, PREFER_SAFE = 1, 2, 4
TO_FRIENDLY = -1  # instead of a goal: the nearest cell of a friendly area
_MAX_STAMP = 1 << 30  # then stamps start again from 2
_OBSTACLE_RADIUS = 3  # cells: agents farther away are no obstacles
_PATH_BACK_OFF = 12  # ticks before a failed search is repeated
_MAX_BLOCKED = 3  # failed moves before stepping aside


@inline
def begin_search(memory: AgentMemory, agent: int, flags: int) -> int:
    """Start a search: take a new stamp and put the agent's cell into the queue.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        flags: With AVOID_AGENTS, cells of agents nearby are closed.

    Returns:
        The stamp. Cells with this stamp were reached by the search; those with the next number are
        closed.
    """
    scratch, last = memory.scratch, memory.scratch.shape[1] - 1
    stamp = int(scratch[col.STAMP, last]) + 2
    if stamp > _MAX_STAMP:
        scratch[col.STAMP, :] = 0
        stamp = 2
    scratch[col.STAMP, last] = stamp
    cell = int(memory.state[agent, col.CELL])
    if flags & AVOID_AGENTS != 0:
        for i in range(1, memory.nearby[agent, 0] + 1):
            other = int(memory.nearby[agent, i]) >> col.NEARBY_CELL
            if grid_distance(memory, cell, other) <= _OBSTACLE_RADIUS:
                scratch[col.STAMP, other] = stamp + 1
    scratch[col.STAMP, cell] = stamp
    scratch[col.CAME_FROM, cell] = 0
    scratch[col.QUEUE, 0] = cell
    return stamp


@inline
def store_path(memory: AgentMemory, agent: int, goal: int, end: int, last_move: int) -> int:
    """Store the path that a search found in the agent's memory; of a long one only the beginning.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        goal: The goal it was searched for.
        end: The last cell that the search reached.
        last_move: A further move from there, 0 for none.

    Returns:
        The length of the path in moves.
    """
    state, path, back = memory.state[agent], memory.path, memory.scratch
    length, cell = 0, end
    while back[col.CAME_FROM, cell] != 0:
        cell -= move_offset(memory, int(back[col.CAME_FROM, cell]))
        length += 1
    total = length + (1 if last_move > 0 else 0)
    if last_move > 0 and length < col.MAX_PATH_STEPS:
        path[agent, length] = last_move
    cell = end
    for step in range(length - 1, -1, -1):
        move = int(back[col.CAME_FROM, cell])
        if step < col.MAX_PATH_STEPS:
            path[agent, step] = move
        cell -= move_offset(memory, move)
    state[col.PATH_GOAL] = goal
    state[col.PATH_LENGTH] = min(total, col.MAX_PATH_STEPS)
    state[col.PATH_STEP] = 0
    state[col.PATH_FROM] = state[col.CELL]
    return int(total)


@inline
def is_traversable(memory: AgentMemory, agent: int, cell: int, flags: int) -> bool:
    """Return whether a search may cross a cell.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        cell: Number of the cell on the agent's map.
        flags: With AVOID_ENEMY, cells of enemy areas are closed.
    """
    known = int(memory.cells[agent, cell])
    if known == 0 or known & codes.KIND_MASK != codes.EMPTY:
        return False
    return flags & AVOID_ENEMY == 0 or known & codes.ENEMY_AREA == 0


@inline
def find_path_home(memory: AgentMemory, agent: int) -> int:
    """Find and store the shortest path to a friendly area; return its length or NO_MOVE."""
    scratch, bound = memory.scratch, memory.rules[col.MAX_SEARCH_CELLS]
    stamp, head, tail = begin_search(memory, agent, 0), 0, 1
    while head < tail and head < bound:
        cell = int(scratch[col.QUEUE, head])
        head += 1
        if int(memory.cells[agent, cell]) & codes.FRIENDLY_AREA != 0:
            return store_path(memory, agent, cell, cell, 0)
        for move in range(1, 5):
            to = cell + move_offset(memory, move)
            if scratch[col.STAMP, to] < stamp and is_traversable(memory, agent, to, 0):
                scratch[col.STAMP, to] = stamp
                scratch[col.CAME_FROM, to] = move
                scratch[col.QUEUE, tail] = to
                tail += 1
    return NO_MOVE


@inline
def refill_queue(memory: AgentMemory, queued: int, deferred: int) -> tuple[int, int]:
    """Move the deferred cells into the queue when it is empty: paths two steps longer.

    Args:
        memory: Memory of all agents; only its scratch is used.
        queued: Number of cells in the queue.
        deferred: Number of deferred cells.

    Returns:
        The new numbers of queued and deferred cells.
    """
    if queued > 0:
        return queued, deferred
    for i in range(deferred):
        memory.scratch[col.QUEUE, i] = memory.scratch[col.DEFERRED, i]
    return deferred, 0


def find_path(memory: AgentMemory, agent: int, goal: int, flags: int) -> int:
    """Find and store the shortest path to a goal.

    A* on a grid without a heap: a step away from the goal makes the path two steps longer than it
    could be, so such cells are deferred. On open ground it expands little more than the path itself.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        goal: A cell, which an object may occupy; or TO_FRIENDLY.
        flags: AVOID_AGENTS, AVOID_ENEMY or both.

    Returns:
        The length of the path, or NO_MOVE if there is none.
    """
    if goal == TO_FRIENDLY:
        return find_path_home(memory, agent)
    scratch, bound = memory.scratch, memory.rules[col.MAX_SEARCH_CELLS]
    stamp, queued, deferred = begin_search(memory, agent, flags), 1, 0
    scratch[col.COST, memory.state[agent, col.CELL]] = 0
    while queued + deferred > 0 and bound > 0:
        queued, deferred = refill_queue(memory, queued, deferred)
        queued, bound = queued - 1, bound - 1
        cell = int(scratch[col.QUEUE, queued])
        if scratch[col.STAMP, cell] > stamp:
            continue
        scratch[col.STAMP, cell] = stamp + 1
        distance, cost = grid_distance(memory, cell, goal), int(scratch[col.COST, cell]) + 1
        for move in range(1, 5):
            to = cell + move_offset(memory, move)
            if to == goal:
                return store_path(memory, agent, goal, cell, move)
            to_stamp = scratch[col.STAMP, to]
            if to_stamp > stamp or (to_stamp == stamp and scratch[col.COST, to] <= cost):
                continue
            if not is_traversable(memory, agent, to, flags):
                continue
            scratch[col.STAMP, to] = stamp
            scratch[col.COST, to] = cost
            scratch[col.CAME_FROM, to] = move
            if grid_distance(memory, to, goal) < distance:
                scratch[col.QUEUE, queued] = to
                queued += 1
            else:
                scratch[col.DEFERRED, deferred] = to
                deferred += 1
    return NO_MOVE


@inline
def call_find_path(memory: AgentMemory, agent: int, goal: int, flags: int) -> int:
    """Call `find_path` by its address, so that it is compiled once.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        goal: A cell or TO_FRIENDLY.
        flags: AVOID_AGENTS, AVOID_ENEMY or both.
    """
    return int(call_address_4(memory.rules[col.FIND_PATH_KERNEL], memory, agent, goal, flags))


@inline
def sidestep(memory: AgentMemory, agent: int) -> int:
    """Return a random move to a free neighbouring cell, or WAIT if there is none."""
    state = memory.state[agent]
    first = randint(state[col.RANDOM_KEY], 0, 4)
    for i in range(4):
        move = 1 + (first + i) % 4
        to = state[col.CELL] + move_offset(memory, move)
        if is_free(memory, agent, to) and not is_occupied(memory, agent, to):
            state[col.PATH_GOAL] = 0
            return int(move)
    return WAIT


@inline
def has_path(memory: AgentMemory, agent: int, goal: int) -> bool:
    """Return whether the stored path still leads from here to the goal; advances its step.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        goal: A cell, which an object may occupy; or TO_FRIENDLY.
    """
    state = memory.state[agent]
    if state[col.PATH_GOAL] != goal:
        return False
    step, cell = state[col.PATH_STEP], state[col.CELL]
    if cell != state[col.PATH_FROM]:
        if cell != state[col.PATH_FROM] + move_offset(memory, int(memory.path[agent, step])):
            return False
        step += 1
        state[col.PATH_STEP], state[col.PATH_FROM], state[col.BLOCKED] = step, cell, 0
    if step >= state[col.PATH_LENGTH]:
        return False
    to = cell + move_offset(memory, int(memory.path[agent, step]))
    return bool(to == goal or is_free(memory, agent, to))


@inline
def ensure_path(memory: AgentMemory, agent: int, goal: int, flags: int) -> bool:
    """Return whether there is a path: the stored one, or one that is searched now.

    A search that failed is not repeated before FAILED_UNTIL.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        goal: A cell, which an object may occupy; or TO_FRIENDLY.
        flags: Any of AVOID_AGENTS, AVOID_ENEMY and PREFER_SAFE.
    """
    state = memory.state[agent]
    if has_path(memory, agent, goal):
        return True
    if state[col.FAILED_GOAL] == goal and state[col.CLOCK] < state[col.FAILED_UNTIL]:
        return False
    is_choosy = flags & PREFER_SAFE != 0
    if is_choosy and call_find_path(memory, agent, goal, flags | AVOID_ENEMY) != NO_MOVE:
        return True
    if call_find_path(memory, agent, goal, flags) == NO_MOVE:
        state[col.FAILED_GOAL] = goal
        state[col.FAILED_UNTIL] = state[col.CLOCK] + _PATH_BACK_OFF
        state[col.PATH_GOAL] = 0
        return False
    return True


def step_towards(memory: AgentMemory, agent: int, goal: int, flags: int) -> int:
    """Return the move towards a goal, at last into it; WAIT for energy; NO_MOVE without a path.

    With an agent in the way it searches a path around it, and steps aside now and then.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        goal: A cell, which an object may occupy: moving into it uses the object.
        flags: AVOID_AGENTS, AVOID_ENEMY or both.
    """
    state = memory.state[agent]
    if goal == state[col.CELL]:
        return WAIT
    if not ensure_path(memory, agent, goal, flags):
        return NO_MOVE
    if state[codes.ENERGY] < memory.rules[col.MOVE_COST]:
        return WAIT
    move = int(memory.path[agent, state[col.PATH_STEP]])
    to = state[col.CELL] + move_offset(memory, move)
    if to == goal and not is_free(memory, agent, to):
        return move  # a bump
    if state[SUCCEEDED_FACT] == 0:
        state[col.BLOCKED] += 1
    if is_occupied(memory, agent, to):
        state[col.BLOCKED] += 1
        if state[col.BLOCKED] == 1:
            return WAIT  # the other agent may be about to leave
        if state[col.BLOCKED] > _MAX_BLOCKED and randint(state[col.RANDOM_KEY], 1, 2) == 0:
            return sidestep(memory, agent)
        if call_find_path(memory, agent, goal, flags | AVOID_AGENTS) == NO_MOVE:
            return sidestep(memory, agent)
        move = int(memory.path[agent, 0])
    return move
