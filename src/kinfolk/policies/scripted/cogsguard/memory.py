"""The memory of an agent: a map of the cells it has seen, known objects, and its state.

An agent knows its position only relative to the cell it was born on. So that cell is the middle of its
map, which is large enough wherever it lies in the world.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline
from kinfolk.policies.base import Memory, MemoryField, MemoryLayout
from kinfolk.policies.scripted.cogsguard.parameters import (
    HEIGHT,
    MAP_HEIGHT,
    MAX_EXTRACTORS,
    MAX_JUNCTIONS,
    MOVE_OFFSETS,
    RADIUS,
    SHIFT,
    STRIDE,
    WIDTH,
)
from kinfolk.worlds.cogsguard.codes import EMPTY, ENEMY_AREA, FRIENDLY_AREA, KIND_MASK
from kinfolk.worlds.cogsguard.spec import EAST_FACT, N_FACTS, SOUTH_FACT

# A cell of the known map: the word of the window without agents, the flag KNOWN, and above these 16 bits
# the number of the object on it, from 1.
KNOWN = 1 << 14
WORD_MASK = 0xFFFF
OBJECT_SHIFT = 16

# Columns of a known object: junctions first, then extractors, up to as many as there can be. LAST_SEEN
# and LAST_CHANGED are ticks of the agent's own clock; PREVIOUS_OWNER is the owner before the last
# change; before RETRY_AT it is not tried again. An object that is gone has cell 0.
OBJECT_CELL, KIND, OWNER, LAST_SEEN, LAST_CHANGED, PREVIOUS_OWNER, RETRY_AT = range(7)
OBJECT_COLUMNS = 7

# An agent in view, one number: cell << 8 | owner << 6 | gear << 3 | vibe.
NEARBY_CELL, NEARBY_OWNER, NEARBY_GEAR = 8, 6, 3  # shifts
MAX_NEARBY = 24
MAX_PATH_STEPS = 96  # of a stored path; the rest of a longer one is searched again on the way

# Columns of the state: first the observed facts as integers (the last one, the elapsed share of the
# episode, as the tick of the game), then these. All cells are cell numbers, 0 for none.
TICK = N_FACTS - 1
(
    CLOCK,  # number of observations so far
    CELL,  # the agent's position
    RANDOM_KEY,  # of this tick
    UID,  # of the agent; its preferences follow from it
    EXTRACTOR_COUNTS,  # known usable extractors by element: four columns
) = range(N_FACTS, N_FACTS + 5)
JUNCTION_COUNTS = EXTRACTOR_COUNTS + 4  # known junctions by owner: four columns
(
    HUB_CELL,  # of the team's own buildings, 0 while unknown
    CHEST_CELL,
    STATION_CELL,  # by gear: four columns
) = range(JUNCTION_COUNTS + 4, JUNCTION_COUNTS + 7)
(
    N_JUNCTIONS,  # junctions found so far
    N_EXTRACTORS,  # extractors found so far, also those that are gone
    MAP_VERSION,  # rises when a path may have opened or closed
    LAST_FOUND,  # clock when an object was last found
    FRUITLESS_TICKS,  # ticks of searching for junctions since one was found
    ENEMY_CELL,  # cell of an enemy area that was seen last
    PATH_GOAL,  # of the stored path
    PATH_LENGTH,
    PATH_STEP,  # index of the next step
    PATH_FROM,  # cell from which the next step starts
    BLOCKED,  # failed moves in a row
    FAILED_GOAL,  # cell to which the last search found no path
    FAILED_UNTIL,  # clock before which that search is not repeated
    FRONTIER_CELL,  # cell to explore next
    FRONTIER_MODE,  # exploration mode in which it was chosen
    NO_FRONTIER_VERSION,  # map version on which no frontier could be reached
    NO_FRONTIER_UNTIL,  # clock before which frontiers are not searched again
    PATROL_CELL,  # goal of the patrol when the map is explored
    MINE_TARGET,  # cell of the chosen target, by purpose: four columns
    ALIGN_TARGET,
    SCRAMBLE_TARGET,
    DEPOT_TARGET,
    MINE_RETRY,  # clock before which no other target is chosen, by purpose: four columns
    ALIGN_RETRY,
    SCRAMBLE_RETRY,
    DEPOT_RETRY,
    TRAVEL_STEPS,  # steps outside friendly areas to the junction to align
    HOME_CLOCK,  # clock when HOME_DISTANCE was computed
    HOME_DISTANCE,  # approximate steps to the nearest friendly area
    HOME_CELL,  # friendly cell to which it returns
    SMART_ROLE,  # seeded role + 1 that a smart agent plays
    SMART_ROLE_UNTIL,  # clock before which it keeps that role
) = range(STATION_CELL + 4, STATION_CELL + 36)
STATE_COLUMNS = SMART_ROLE_UNTIL + 1


class AgentMemory(NamedTuple):
    """Everything that behaviors read: the memory of all agents, search scratch, and the rules.

    A behavior reads and writes only the row of its own agent. Kernels take such a memory and `agent`,
    the row of the agent.
    """

    cells: npt.NDArray[np.int32]  # [capacity, cells] the known map
    objects: npt.NDArray[np.int32]  # [capacity, objects, OBJECT_COLUMNS]
    state: Ints  # [capacity, STATE_COLUMNS]
    nearby: npt.NDArray[np.int32]  # [capacity, 1 + MAX_NEARBY] count, then agents in view
    path: npt.NDArray[np.int8]  # [capacity, MAX_PATH_STEPS] moves of the stored path
    scratch: npt.NDArray[np.int32]  # [5, cells + 1] of searches, shared by all agents
    rules: Ints  # the row of `parameters`


def agent_memory_layout(rules: Ints) -> MemoryLayout:
    """Return the memory fields of an agent, sized for the map of these rules."""
    cells = int(rules[STRIDE] * rules[MAP_HEIGHT])
    objects = int(rules[MAX_JUNCTIONS] + rules[MAX_EXTRACTORS])
    return {
        "cells": MemoryField((cells,), "int32"),
        "objects": MemoryField((max(objects, 1), OBJECT_COLUMNS), "int32"),
        "state": MemoryField((STATE_COLUMNS,), "int64"),
        "nearby": MemoryField((1 + MAX_NEARBY,), "int32"),
        "path": MemoryField((MAX_PATH_STEPS,), "int8"),
    }


def allocate_scratch(rules: Ints) -> npt.NDArray[np.int32]:
    """Return stamps, predecessors, queues and costs of a search; column -1 holds the current stamp.

    A queue has room for every cell to be reached from all four sides: the map is four times as
    large as the world.
    """
    return np.zeros((5, int(rules[STRIDE] * rules[MAP_HEIGHT]) + 1), dtype=np.int32)


def view_memory(memory: Memory, scratch: npt.NDArray[np.int32], rules: Ints) -> AgentMemory:
    """Return a policy's memory as kernels take it, without copying.

    Args:
        memory: Arrays by field name.
        scratch: What `allocate_scratch` returned.
        rules: The row of `parameters`.
    """
    return AgentMemory(
        memory["cells"],
        memory["objects"],
        memory["state"],
        memory["nearby"],
        memory["path"],
        scratch,
        rules,
    )


@inline
def cell_of(rules: Ints, south: int, east: int) -> int:
    """Return the number of a cell on the agent's map.

    Args:
        rules: The row of `parameters`.
        south: Steps south of the cell the agent was born on.
        east: Steps east of it.
    """
    return int(
        (south + rules[HEIGHT] + rules[RADIUS]) * rules[STRIDE]
        + east
        + rules[WIDTH]
        + rules[RADIUS]
    )


@inline
def grid_distance(memory: AgentMemory, a: int, b: int) -> int:
    """Return the Manhattan distance of two cells.

    Args:
        memory: Memory of all agents, for the layout of their maps.
        a: A cell.
        b: Another cell.
    """
    shift, last = memory.rules[SHIFT], memory.rules[STRIDE] - 1
    return int(abs((a >> shift) - (b >> shift)) + abs((a & last) - (b & last)))


@inline
def squared_distance(memory: AgentMemory, a: int, b: int) -> int:
    """Return the squared Euclidean distance of two cells.

    Args:
        memory: Memory of all agents, for the layout of their maps.
        a: A cell.
        b: Another cell.
    """
    shift, last = memory.rules[SHIFT], memory.rules[STRIDE] - 1
    y, x = (a >> shift) - (b >> shift), (a & last) - (b & last)
    return int(y * y + x * x)


@inline
def move_offset(memory: AgentMemory, move: int) -> int:
    """Return by how much a move changes the cell number."""
    return int(memory.rules[MOVE_OFFSETS + move])


@inline
def is_free(memory: AgentMemory, agent: int, cell: int) -> bool:
    """Return whether an agent knows a cell to be empty; agents on it do not count.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        cell: The cell.
    """
    known = int(memory.cells[agent, cell])
    return known != 0 and known & KIND_MASK == EMPTY


@inline
def is_occupied(memory: AgentMemory, agent: int, cell: int) -> bool:
    """Return whether another agent in view stands on a cell now.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        cell: The cell.
    """
    for i in range(1, memory.nearby[agent, 0] + 1):
        if memory.nearby[agent, i] >> NEARBY_CELL == cell:
            return True
    return False


@inline
def is_in_friendly_area(memory: AgentMemory, agent: int, cell: int) -> bool:
    """Return whether a cell was in a friendly area when it was last seen.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        cell: The cell.
    """
    return int(memory.cells[agent, cell]) & FRIENDLY_AREA != 0


@inline
def is_in_enemy_area(memory: AgentMemory, agent: int, cell: int) -> bool:
    """Return whether a cell was in an enemy area when it was last seen.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        cell: The cell.
    """
    return int(memory.cells[agent, cell]) & ENEMY_AREA != 0


@inline
def agent_cell(memory: AgentMemory, agent: int) -> int:
    """Return the cell that an agent stands on, from its observed facts."""
    return cell_of(memory.rules, memory.state[agent, SOUTH_FACT], memory.state[agent, EAST_FACT])
