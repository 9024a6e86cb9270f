"""Find paths on an agent's known map, remember them, and follow them step by step.

Searches are bounded and breadth-first (A* towards a goal). A path is stored in the agent's memory until
it is walked. A search that failed is remembered too, and not repeated for a while: late in a game most
of them fail, and each costs as much as fifty decisions.
"""

from __future__ import annotations

from kinfolk.core.function_table import call_address_4
from kinfolk.core.jit import inline
from kinfolk.core.random import randint
from kinfolk.policies.scripted.cogsguard.memory import (
    BLOCKED,
    CELL,
    CLOCK,
    FAILED_GOAL,
    FAILED_UNTIL,
    MAX_PATH_STEPS,
    NEARBY_CELL,
    PATH_FROM,
    PATH_GOAL,
    PATH_LENGTH,
    PATH_STEP,
    RANDOM_KEY,
    AgentMemory,
    grid_distance,
)
from kinfolk.policies.scripted.cogsguard.parameters import (
    FIND_PATH_KERNEL,
    MAX_SEARCH_CELLS,
    MOVE_COST,
    MOVE_OFFSETS,
)
from kinfolk.worlds.cogsguard.codes import EMPTY, ENEMY_AREA, ENERGY, FRIENDLY_AREA, KIND_MASK
from kinfolk.worlds.cogsguard.spec import SUCCEEDED_FACT

NO_MOVE = -1

AVOID_AGENTS, AVOID_ENEMY = 1, 2  # flags of a search

TO_FRIENDLY = -1  # instead of a goal: the nearest cell of a friendly area

STAMP, CAME_FROM, QUEUE, DEFERRED, COST = range(5)  # rows of the scratch

_MAX_STAMP = 1 << 30

_OBSTACLE_RADIUS = 3  # cells: agents farther away are no obstacles


@inline
def move_offset(memory: AgentMemory, move: int) -> int:
    """How far in the numbering of cells a move leads."""
    return int(memory.rules[MOVE_OFFSETS + move])


@inline
def is_free(memory: AgentMemory, agent: int, cell: int) -> bool:
    """Whether a cell is known and nothing stands there; agents do not count."""
    known = int(memory.cells[agent, cell])
    return known != 0 and known & KIND_MASK == EMPTY


@inline
def begin_search(memory: AgentMemory, agent: int, flags: int) -> int:
    """Take a fresh stamp and put the agent's cell first in the queue; returns the stamp.

    A cell with the stamp was met in this search; with the next number, it is done with.
    """
    scratch, last = memory.scratch, memory.scratch.shape[1] - 1
    stamp = int(scratch[STAMP, last]) + 2
    if stamp > _MAX_STAMP:
        scratch[STAMP, :] = 0
        stamp = 2
    scratch[STAMP, last] = stamp
    cell = int(memory.state[agent, CELL])
    if flags & AVOID_AGENTS != 0:
        for i in range(1, memory.nearby[agent, 0] + 1):
            other = int(memory.nearby[agent, i]) >> NEARBY_CELL
            if grid_distance(memory, cell, other) <= _OBSTACLE_RADIUS:
                scratch[STAMP, other] = stamp + 1
    scratch[STAMP, cell] = stamp
    scratch[CAME_FROM, cell] = 0
    scratch[QUEUE, 0] = cell
    return stamp


@inline
def store_path(memory: AgentMemory, agent: int, goal: int, end: int, last_move: int) -> int:
    """Write down the way that a search found, from the agent to `end` and one move on; its length.

    Of a long way only the beginning is kept.
    """
    notes, path, back = memory.state, memory.path, memory.scratch
    length, cell = 0, end
    while back[CAME_FROM, cell] != 0:
        cell -= move_offset(memory, int(back[CAME_FROM, cell]))
        length += 1
    total = length + (1 if last_move > 0 else 0)
    if last_move > 0 and length < MAX_PATH_STEPS:
        path[agent, length] = last_move
    cell = end
    for step in range(length - 1, -1, -1):
        move = int(back[CAME_FROM, cell])
        if step < MAX_PATH_STEPS:
            path[agent, step] = move
        cell -= move_offset(memory, move)
    notes[agent, PATH_GOAL] = goal
    notes[agent, PATH_LENGTH] = min(total, MAX_PATH_STEPS)
    notes[agent, PATH_STEP] = 0
    notes[agent, PATH_FROM] = notes[agent, CELL]
    return int(total)


@inline
def is_traversable(memory: AgentMemory, agent: int, cell: int, flags: int) -> bool:
    """Whether a search may go over a cell."""
    known = int(memory.cells[agent, cell])
    if known == 0 or known & KIND_MASK != EMPTY:
        return False
    return flags & AVOID_ENEMY == 0 or known & ENEMY_AREA == 0


@inline
def find_path_home(memory: AgentMemory, agent: int) -> int:
    """The shortest way to a friendly area, found breadth-first; its length or -1."""
    scratch, bound = memory.scratch, memory.rules[MAX_SEARCH_CELLS]
    stamp, head, tail = begin_search(memory, agent, 0), 0, 1
    while head < tail and head < bound:
        cell = int(scratch[QUEUE, head])
        head += 1
        if int(memory.cells[agent, cell]) & FRIENDLY_AREA != 0:
            return store_path(memory, agent, cell, cell, 0)
        for move in range(1, 5):
            to = cell + move_offset(memory, move)
            if scratch[STAMP, to] < stamp and is_traversable(memory, agent, to, 0):
                scratch[STAMP, to] = stamp
                scratch[CAME_FROM, to] = move
                scratch[QUEUE, tail] = to
                tail += 1
    return NO_MOVE


@inline
def refill_queue(memory: AgentMemory, now: int, later: int) -> tuple[int, int]:
    """When no cell is left on ways of the present length, those two steps longer come next."""
    if now > 0:
        return now, later
    for i in range(later):
        memory.scratch[QUEUE, i] = memory.scratch[DEFERRED, i]
    return later, 0


def find_path(memory: AgentMemory, agent: int, goal: int, flags: int) -> int:
    """The shortest way to `goal`, which may be an object, or to a friendly area; its length or -1.

    A breadth-first search that looks at cells towards the goal first: a step away from it makes
    the way two steps longer than it could be, so such cells wait (A* on a grid). On open ground
    it looks at little more than the way itself.
    """
    if goal == TO_FRIENDLY:
        return find_path_home(memory, agent)
    scratch, bound = memory.scratch, memory.rules[MAX_SEARCH_CELLS]
    stamp, now, later = begin_search(memory, agent, flags), 1, 0
    scratch[COST, memory.state[agent, CELL]] = 0
    while now + later > 0 and bound > 0:
        now, later = refill_queue(memory, now, later)
        now, bound = now - 1, bound - 1
        cell = int(scratch[QUEUE, now])
        if scratch[STAMP, cell] > stamp:
            continue
        scratch[STAMP, cell] = stamp + 1
        far, cost = grid_distance(memory, cell, goal), int(scratch[COST, cell]) + 1
        for move in range(1, 5):
            to = cell + move_offset(memory, move)
            if to == goal:
                return store_path(memory, agent, goal, cell, move)
            met = scratch[STAMP, to]
            if met > stamp or (met == stamp and scratch[COST, to] <= cost):
                continue
            if not is_traversable(memory, agent, to, flags):
                continue
            scratch[STAMP, to] = stamp
            scratch[COST, to] = cost
            scratch[CAME_FROM, to] = move
            if grid_distance(memory, to, goal) < far:
                scratch[QUEUE, now] = to
                now += 1
            else:
                scratch[DEFERRED, later] = to
                later += 1
    return NO_MOVE


WAIT = 0

_PATH_BACK_OFF = 12  # ticks before a search that failed is made again

_MAX_BLOCKED = 3  # moves that led nowhere before stepping aside


@inline
def is_occupied(memory: AgentMemory, agent: int, cell: int) -> bool:
    """Whether an agent stands on a cell now."""
    for i in range(1, memory.nearby[agent, 0] + 1):
        if memory.nearby[agent, i] >> NEARBY_CELL == cell:
            return True
    return False


@inline
def call_find_path(memory: AgentMemory, agent: int, goal: int, flags: int) -> int:
    """The way that `searches.find_way` finds, called by address."""
    return int(call_address_4(memory.rules[FIND_PATH_KERNEL], memory, agent, goal, flags))


@inline
def sidestep(memory: AgentMemory, agent: int) -> int:
    """A move to some free cell beside, drawn from the key; waiting if there is none."""
    first = randint(memory.state[agent, RANDOM_KEY], 0, 4)
    for i in range(4):
        move = 1 + (first + i) % 4
        to = memory.state[agent, CELL] + move_offset(memory, move)
        if is_free(memory, agent, to) and not is_occupied(memory, agent, to):
            memory.state[agent, PATH_GOAL] = 0
            return int(move)
    return WAIT


@inline
def has_path(memory: AgentMemory, agent: int, goal: int) -> bool:
    """Whether the remembered way still leads from here to the goal; keeps count of its steps."""
    notes = memory.state
    if notes[agent, PATH_GOAL] != goal:
        return False
    step, cell = notes[agent, PATH_STEP], notes[agent, CELL]
    if cell != notes[agent, PATH_FROM]:
        if cell != notes[agent, PATH_FROM] + move_offset(memory, int(memory.path[agent, step])):
            return False
        step += 1
        notes[agent, PATH_STEP], notes[agent, PATH_FROM], notes[agent, BLOCKED] = step, cell, 0
    if step >= notes[agent, PATH_LENGTH]:
        return False
    to = cell + move_offset(memory, int(memory.path[agent, step]))
    return bool(to == goal or is_free(memory, agent, to))


@inline
def ensure_path(memory: AgentMemory, agent: int, goal: int, flags: int) -> bool:
    """Whether there is a way: the remembered one, or one that is searched now, if that may be."""
    notes = memory.state
    if has_path(memory, agent, goal):
        return True
    if notes[agent, FAILED_GOAL] == goal and notes[agent, CLOCK] < notes[agent, FAILED_UNTIL]:
        return False
    if call_find_path(memory, agent, goal, flags) == NO_MOVE:
        notes[agent, FAILED_GOAL] = goal
        notes[agent, FAILED_UNTIL] = notes[agent, CLOCK] + _PATH_BACK_OFF
        notes[agent, PATH_GOAL] = 0
        return False
    return True


def step_towards(memory: AgentMemory, agent: int, goal: int, flags: int) -> int:
    """The move that leads to `goal`, at last into it; WAIT for energy; CANNOT if there is no way.

    With an agent in the way it looks for a way around, and steps aside now and then.
    """
    notes = memory.state
    if goal == notes[agent, CELL]:
        return WAIT
    if not ensure_path(memory, agent, goal, flags):
        return NO_MOVE
    if notes[agent, ENERGY] < memory.rules[MOVE_COST]:
        return WAIT
    move = int(memory.path[agent, notes[agent, PATH_STEP]])
    to = notes[agent, CELL] + move_offset(memory, move)
    if to == goal and not is_free(memory, agent, to):
        return move  # a bump
    if notes[agent, SUCCEEDED_FACT] == 0:
        notes[agent, BLOCKED] += 1
    if is_occupied(memory, agent, to):
        notes[agent, BLOCKED] += 1
        if notes[agent, BLOCKED] == 1:
            return WAIT  # the other one may be about to leave
        if notes[agent, BLOCKED] > _MAX_BLOCKED and randint(notes[agent, RANDOM_KEY], 1, 2) == 0:
            return sidestep(memory, agent)
        if call_find_path(memory, agent, goal, flags | AVOID_AGENTS) == NO_MOVE:
            return sidestep(memory, agent)
        move = int(memory.path[agent, 0])
    return move
