"""What an agent remembers: its own map of what it has seen, and notes to itself.

An agent knows where it is only relative to the cell it was born on. So that cell is the middle of
its map, which is large enough wherever it lies in the world.
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
    RADIUS,
    SHIFT,
    STRIDE,
    WIDTH,
)
from kinfolk.worlds.cogsguard.spec import EAST_FACT, N_FACTS, SOUTH_FACT

# A cell of the known map: the word of the window without agents, KNOWN, and above these 16 bits
# the number of the object there, from 1.
KNOWN = 1 << 14
WORD_MASK = 0xFFFF
OBJECT_SHIFT = 16

# An object: junctions first, then extractors, up to as many as there can be. SEEN and CHANGED
# are ticks of the agent's own clock; FORMER is the owner before the last change; until RETRY it
# is not worth another try. An object that is gone has cell 0.
OBJECT_CELL, KIND, OWNER, LAST_SEEN, LAST_CHANGED, PREVIOUS_OWNER, RETRY_AT = range(7)
OBJECT_COLUMNS = 7

# An agent nearby, one number: cell << 8 | owner << 6 | gear << 3 | vibe.
NEARBY_CELL, NEARBY_OWNER, NEARBY_GEAR = 8, 6, 3
MAX_NEARBY = 24
MAX_PATH_STEPS = 96  # of a way that is remembered; a longer one is looked for again on the way

# Notes: first the facts as they were observed, whole (the last, the share of the episode that is
# gone, as the tick of the game), then these.
TICK = N_FACTS - 1
(
    CLOCK,  # how often the agent has looked
    CELL,  # where it stands
    RANDOM_KEY,  # of this tick's chance
    UID,  # a number drawn at birth: its habits
    EXTRACTOR_COUNTS,  # usable ones known, by element: four columns
) = range(N_FACTS, N_FACTS + 5)
JUNCTION_COUNTS = EXTRACTOR_COUNTS + 4  # known, by owner: four columns
(
    HUB_CELL,  # cells of the team's own buildings, 0 while unknown
    CHEST_CELL,
    STATION_CELL,  # by gear: four columns
) = range(JUNCTION_COUNTS + 4, JUNCTION_COUNTS + 7)
(
    N_JUNCTIONS,  # how many junctions were ever found
    N_EXTRACTORS,
    MAP_VERSION,  # of the map: rises when a way may have opened or closed
    LAST_FOUND,  # clock when an object was last found
    FRUITLESS_TICKS,  # ticks spent looking for junctions since one was found
    ENEMY_CELL,  # a cell of the enemy area that was seen last, 0 for none
    PATH_GOAL,  # of the remembered way, 0 for none
    PATH_LENGTH,
    PATH_STEP,  # the step that is due
    PATH_FROM,  # the cell from which that step is made
    BLOCKED,  # moves in a row that led nowhere
    FAILED_GOAL,  # the last search found no way to this cell
    FAILED_UNTIL,  # and is not repeated before this clock
    FRONTIER_CELL,  # the cell to explore next, 0 for none
    FRONTIER_MODE,
    NO_FRONTIER_VERSION,  # of the map on which no frontier could be reached
    NO_FRONTIER_UNTIL,
    PATROL_CELL,  # the cell it walks to when all is known
    MINE_TARGET,  # chosen object + 1, 0 for none
    ALIGN_TARGET,
    SCRAMBLE_TARGET,
    DEPOT_TARGET,
    MINE_RETRY,  # clock before which no other is looked for
    ALIGN_RETRY,
    SCRAMBLE_RETRY,
    DEPOT_RETRY,
    TRAVEL_STEPS,  # influence that the way to the chosen junction takes
    HOME_CLOCK,  # when HOME_FAR was worked out
    HOME_DISTANCE,  # steps to the nearest friendly area, about
    HOME_CELL,  # the friendly cell it goes home to, 0 for none
    SMART_ROLE,  # the seeded role that a smart agent plays
    SMART_ROLE_UNTIL,
) = range(STATION_CELL + 4, STATION_CELL + 36)
STATE_COLUMNS = SMART_ROLE_UNTIL + 1


class AgentMemory(NamedTuple):
    """All that behaviours get: the memory of every place, scratch, and the rules.

    Behaviours read and write the row of their own place only.
    """

    cells: npt.NDArray[np.int32]  # [capacity, cells]
    objects: npt.NDArray[np.int32]  # [capacity, objects, OBJECT_COLUMNS]
    state: Ints  # [capacity, NOTES]
    nearby: npt.NDArray[np.int32]  # [capacity, 1 + MOST_NEAR]: how many, then agents in view
    path: npt.NDArray[np.int8]  # [capacity, MOST_STEPS] moves
    scratch: npt.NDArray[np.int32]  # [5, cells + 1]: of searches; nothing is kept there
    rules: Ints


def agent_memory_layout(rules: Ints) -> MemoryLayout:
    """The arrays of a mind that `play` keeps."""
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
    """Stamps, ways back, queues and costs of a search; the last column holds the stamp in use.

    A queue has room for a cell to be met from all four sides: the map is four times the world.
    """
    return np.zeros((5, int(rules[STRIDE] * rules[MAP_HEIGHT]) + 1), dtype=np.int32)


def view_memory(memory: Memory, scratch: npt.NDArray[np.int32], rules: Ints) -> AgentMemory:
    """The memory of all places as kernels get it: the same arrays."""
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
    """The number of the cell so far from the one the agent was born on."""
    return int(
        (south + rules[HEIGHT] + rules[RADIUS]) * rules[STRIDE]
        + east
        + rules[WIDTH]
        + rules[RADIUS]
    )


@inline
def grid_distance(memory: AgentMemory, a: int, b: int) -> int:
    """Steps between two cells if nothing is in the way."""
    shift, last = memory.rules[SHIFT], memory.rules[STRIDE] - 1
    return int(abs((a >> shift) - (b >> shift)) + abs((a & last) - (b & last)))


@inline
def agent_cell(memory: AgentMemory, agent: int) -> int:
    """The cell that an agent stands on, from its facts."""
    return cell_of(memory.rules, memory.state[agent, SOUTH_FACT], memory.state[agent, EAST_FACT])
