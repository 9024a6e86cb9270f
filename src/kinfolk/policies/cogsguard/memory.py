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
from kinfolk.policies.base import Cell, Memory, MemoryLayout
from kinfolk.policies.cogsguard.knowledge import (
    HEIGHT,
    LINES,
    MOST_EXTRACTORS,
    MOST_JUNCTIONS,
    RADIUS,
    SHIFT,
    STRIDE,
    WIDTH,
)
from kinfolk.worlds.cogsguard.layout import EAST_FACT, FACTS_COUNT, SOUTH_FACT

# A cell of the known map: the word of the window without agents, KNOWN, and above these 16 bits
# the number of the object there, from 1.
KNOWN = 1 << 14
WORD = 0xFFFF
OBJECT_SHIFT = 16

# An object: junctions first, then extractors, up to as many as there can be. SEEN and CHANGED
# are ticks of the agent's own clock; FORMER is the owner before the last change; until RETRY it
# is not worth another try. An object that is gone has cell 0.
WHERE, KIND, OWNER, SEEN, CHANGED, FORMER, RETRY = range(7)
OBJECT_COLUMNS = 7

# An agent nearby, one number: cell << 8 | owner << 6 | gear << 3 | vibe.
NEAR_CELL, NEAR_OWNER, NEAR_GEAR = 8, 6, 3
MOST_NEAR = 24
MOST_STEPS = 96  # of a way that is remembered; a longer one is looked for again on the way

# Notes: first the facts as they were observed, whole (the last, the share of the episode that is
# gone, as the tick of the game), then these.
TICK = FACTS_COUNT - 1
(
    CLOCK,  # how often the agent has looked
    CELL,  # where it stands
    KEY,  # of this tick's chance
    LIFE,  # a number drawn at birth: its habits
    EXTRACTORS,  # usable ones known, by element: four columns
) = range(FACTS_COUNT, FACTS_COUNT + 5)
JUNCTIONS = EXTRACTORS + 4  # known, by owner: four columns
(
    HUB_AT,  # cells of the team's own buildings, 0 while unknown
    CHEST_AT,
    STATION_AT,  # by gear: four columns
) = range(JUNCTIONS + 4, JUNCTIONS + 7)
(
    NEXT_JUNCTION,  # how many junctions were ever found
    NEXT_EXTRACTOR,
    VERSION,  # of the map: rises when a way may have opened or closed
    FOUND,  # clock when an object was last found
    LOOKED,  # ticks spent looking for junctions since one was found
    ENEMY_AT,  # a cell of the enemy area that was seen last, 0 for none
    PATH_GOAL,  # of the remembered way, 0 for none
    PATH_LENGTH,
    PATH_STEP,  # the step that is due
    PATH_FROM,  # the cell from which that step is made
    BLOCKED,  # moves in a row that led nowhere
    LOST_GOAL,  # the last search found no way to this cell
    LOST_UNTIL,  # and is not repeated before this clock
    FRONTIER,  # the cell to explore next, 0 for none
    FRONTIER_MODE,
    CLOSED_VERSION,  # of the map on which no frontier could be reached
    CLOSED_UNTIL,
    PATROL,  # the cell it walks to when all is known
    MINE_AIM,  # chosen object + 1, 0 for none
    ALIGN_AIM,
    SCRAMBLE_AIM,
    DEPOT_AIM,
    MINE_RETRY,  # clock before which no other is looked for
    ALIGN_RETRY,
    SCRAMBLE_RETRY,
    DEPOT_RETRY,
    NEED,  # influence that the way to the chosen junction takes
    HOME_CLOCK,  # when HOME_FAR was worked out
    HOME_FAR,  # steps to the nearest friendly area, about
    HOME_AT,  # the friendly cell it goes home to, 0 for none
    CALLING,  # the seeded role that a smart agent plays
    CALLING_UNTIL,
) = range(STATION_AT + 4, STATION_AT + 36)
NOTES = CALLING_UNTIL + 1


class Mind(NamedTuple):
    """All that behaviours get: the memory of every place, scratch, and the rules.

    Behaviours read and write the row of their own place only.
    """

    cells: npt.NDArray[np.int32]  # [capacity, cells]
    objects: npt.NDArray[np.int32]  # [capacity, objects, OBJECT_COLUMNS]
    notes: Ints  # [capacity, NOTES]
    near: npt.NDArray[np.int32]  # [capacity, 1 + MOST_NEAR]: how many, then agents in view
    path: npt.NDArray[np.int8]  # [capacity, MOST_STEPS] moves
    scratch: npt.NDArray[np.int32]  # [5, cells + 1]: of searches; nothing is kept there
    rules: Ints


def mind_layout(rules: Ints) -> MemoryLayout:
    """The arrays of a mind that `play` keeps."""
    cells = int(rules[STRIDE] * rules[LINES])
    objects = int(rules[MOST_JUNCTIONS] + rules[MOST_EXTRACTORS])
    return {
        "cells": Cell((cells,), "int32"),
        "objects": Cell((max(objects, 1), OBJECT_COLUMNS), "int32"),
        "notes": Cell((NOTES,), "int64"),
        "near": Cell((1 + MOST_NEAR,), "int32"),
        "path": Cell((MOST_STEPS,), "int8"),
    }


def scratch_for(rules: Ints) -> npt.NDArray[np.int32]:
    """Stamps, ways back, queues and costs of a search; the last column holds the stamp in use.

    A queue has room for a cell to be met from all four sides: the map is four times the world.
    """
    return np.zeros((5, int(rules[STRIDE] * rules[LINES]) + 1), dtype=np.int32)


def mind_of(memory: Memory, scratch: npt.NDArray[np.int32], rules: Ints) -> Mind:
    """The memory of all places as kernels get it: the same arrays."""
    return Mind(
        memory["cells"],
        memory["objects"],
        memory["notes"],
        memory["near"],
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
def apart(m: Mind, a: int, b: int) -> int:
    """Steps between two cells if nothing is in the way."""
    shift, last = m.rules[SHIFT], m.rules[STRIDE] - 1
    return int(abs((a >> shift) - (b >> shift)) + abs((a & last) - (b & last)))


@inline
def position(m: Mind, at: int) -> int:
    """The cell that an agent stands on, from its facts."""
    return cell_of(m.rules, m.notes[at, SOUTH_FACT], m.notes[at, EAST_FACT])
