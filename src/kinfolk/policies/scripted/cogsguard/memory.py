"""The memory of an agent: a map of the cells it has seen, known objects, its state, and the rules.

An agent knows its position only relative to the cell it was born on. So that cell is the middle of its
map, which is large enough wherever it lies in the world.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from pydantic import Field

from kinfolk.core.arrays import Ints
from kinfolk.core.errors import SettingsError
from kinfolk.core.jit import inline
from kinfolk.core.settings import Settings
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.base import Memory, MemoryField, MemoryLayout
from kinfolk.policies.scripted.cogsguard import columns as col
from kinfolk.worlds.cogsguard import codes
from kinfolk.worlds.cogsguard.spec import EAST_FACT, SOUTH_FACT

_UNKNOWN_DISTANCE = 1 << 30  # to a depot, while none is known


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
    rules: Ints  # [RULE_COLUMNS] what `parameter_row` returned


def agent_memory_layout(rules: Ints) -> MemoryLayout:
    """Return the memory fields of an agent, sized for the map of these rules."""
    cells = int(rules[col.STRIDE] * rules[col.MAP_HEIGHT])
    objects = int(rules[col.MAX_JUNCTIONS] + rules[col.MAX_EXTRACTORS])
    return {
        "cells": MemoryField((cells,), "int32"),
        "objects": MemoryField((max(objects, 1), col.OBJECT_COLUMNS), "int32"),
        "state": MemoryField((col.STATE_COLUMNS,), "int64"),
        "nearby": MemoryField((1 + col.MAX_NEARBY,), "int32"),
        "path": MemoryField((col.MAX_PATH_STEPS,), "int8"),
    }


def allocate_scratch(rules: Ints) -> npt.NDArray[np.int32]:
    """Return stamps, predecessors, queues and costs of a search; column -1 holds the current stamp.

    A queue has room for every cell to be reached from all four sides: the map is four times as
    large as the world.
    """
    return np.zeros((5, int(rules[col.STRIDE] * rules[col.MAP_HEIGHT]) + 1), dtype=np.int32)


def view_memory(memory: Memory, scratch: npt.NDArray[np.int32], rules: Ints) -> AgentMemory:
    """Return a policy's memory as kernels take it, without copying.

    Args:
        memory: Arrays by field name.
        scratch: What `allocate_scratch` returned.
        rules: What `parameter_row` returned.
    """
    arrays = {name: memory[name] for name in AgentMemory._fields[:-2]}
    return AgentMemory(**arrays, scratch=scratch, rules=rules)


@inline
def cell_of(rules: Ints, south: int, east: int) -> int:
    """Return the number of a cell on the agent's map.

    Args:
        rules: What `parameter_row` returned.
        south: Steps south of the cell the agent was born on.
        east: Steps east of it.
    """
    row = south + rules[col.HEIGHT] + rules[col.RADIUS]
    return int(row * rules[col.STRIDE] + east + rules[col.WIDTH] + rules[col.RADIUS])


@inline
def grid_distance(memory: AgentMemory, a: int, b: int) -> int:
    """Return the Manhattan distance of two cells.

    Args:
        memory: Memory of all agents, for the layout of their maps.
        a: Number of one cell.
        b: Number of the other cell.
    """
    shift, last = memory.rules[col.SHIFT], memory.rules[col.STRIDE] - 1
    return int(abs((a >> shift) - (b >> shift)) + abs((a & last) - (b & last)))


@inline
def squared_distance(memory: AgentMemory, a: int, b: int) -> int:
    """Return the squared Euclidean distance of two cells.

    Args:
        memory: Memory of all agents, for the layout of their maps.
        a: Number of one cell.
        b: Number of the other cell.
    """
    shift, last = memory.rules[col.SHIFT], memory.rules[col.STRIDE] - 1
    y, x = (a >> shift) - (b >> shift), (a & last) - (b & last)
    return int(y * y + x * x)


@inline
def move_offset(memory: AgentMemory, move: int) -> int:
    """Return by how much a move changes the cell number."""
    return int(memory.rules[col.MOVE_OFFSETS + move])


@inline
def is_free(memory: AgentMemory, agent: int, cell: int) -> bool:
    """Return whether an agent knows a cell to be empty; agents on it do not count.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        cell: Number of the cell on the agent's map.
    """
    known = int(memory.cells[agent, cell])
    return known != 0 and known & codes.KIND_MASK == codes.EMPTY


@inline
def is_occupied(memory: AgentMemory, agent: int, cell: int) -> bool:
    """Return whether another agent in view stands on a cell now.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        cell: Number of the cell on the agent's map.
    """
    for i in range(1, memory.nearby[agent, 0] + 1):
        if memory.nearby[agent, i] >> col.NEARBY_CELL == cell:
            return True
    return False


@inline
def is_in_friendly_area(memory: AgentMemory, agent: int, cell: int) -> bool:
    """Return whether a cell was in a friendly area when it was last seen.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        cell: Number of the cell on the agent's map.
    """
    return int(memory.cells[agent, cell]) & codes.FRIENDLY_AREA != 0


@inline
def is_in_enemy_area(memory: AgentMemory, agent: int, cell: int) -> bool:
    """Return whether a cell was in an enemy area when it was last seen.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        cell: Number of the cell on the agent's map.
    """
    return int(memory.cells[agent, cell]) & codes.ENEMY_AREA != 0


@inline
def agent_cell(memory: AgentMemory, agent: int) -> int:
    """Return the cell that an agent stands on, from its observed facts."""
    state = memory.state[agent]
    return cell_of(memory.rules, state[SOUTH_FACT], state[EAST_FACT])


@inline
def depot_distance(memory: AgentMemory, agent: int, cell: int) -> int:
    """Return the distance from a cell to the nearest known hub or own junction.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        cell: Number of the cell on the agent's map.
    """
    state, objects = memory.state[agent], memory.objects[agent]
    hub, least = int(state[col.HUB_CELL]), _UNKNOWN_DISTANCE
    if hub > 0:
        least = grid_distance(memory, cell, hub)
    for entry in range(state[col.N_JUNCTIONS]):
        if objects[entry, col.OWNER] == codes.OWN:
            least = min(least, grid_distance(memory, cell, int(objects[entry, col.OBJECT_CELL])))
    return least


class BehaviorParams(Settings):
    """Parameters of the behaviors; each field is a setting of every policy that runs them.

    All but the last are defaults, which an agent's role may replace (`RoleDef.parameters`).

    Attributes:
        hearts_wanted: Hearts that an agent collects before it uses them.
        extractors_wanted: Extractors per element that a scout looks for.
        retry_delay: Ticks before a target that could not be reached is tried again.
        home_margin: Ticks of hp to spare on the path home.
        commit_distance: Cells from a goal within which nothing interrupts a behavior.
        store_reserve: Amount of each element that a scout's gear must leave in the store.
        recent_ticks: Ticks during which a scrambled junction is preferred.
        cargo_percent: Share of the cargo limit from which on a miner brings its cargo home.
        gears_in_reserve: Sets of gear that the store must still pay for after a heart is made for
            an agent without gear.
        rival_cost: Steps by which a junction seems farther if a team-mate is closer to it.
        scarce_bonus: Steps by which an extractor of the scarcest element seems nearer.
        max_search_cells: The most cells that a path search expands.
    """

    hearts_wanted: int = Field(default=2, ge=1, le=10)
    extractors_wanted: int = Field(default=3, ge=1, le=100)
    retry_delay: int = Field(default=60, ge=1, le=10_000)
    home_margin: int = Field(default=5, ge=0, le=1000)
    commit_distance: int = Field(default=3, ge=0, le=100)
    store_reserve: int = Field(default=3, ge=0, le=10_000)
    recent_ticks: int = Field(default=100, ge=0, le=10_000)
    cargo_percent: int = Field(default=100, ge=1, le=100)
    gears_in_reserve: int = Field(default=3, ge=0, le=100)
    rival_cost: int = Field(default=30, ge=0, le=1000)
    scarce_bonus: int = Field(default=16, ge=0, le=1000)
    max_search_cells: int = Field(default=8000, ge=16, le=1_000_000)


def parameter_row(spec: WorldSpec, params: BehaviorParams) -> Ints:
    """Return the rules and the tuning as one row, with the kernel addresses still zero.

    Raises:
        SettingsError: The world is not CogsGuard.
    """
    rules = dict(spec.rules)
    missing = [name for name in col.RULE_NAMES if name not in rules]
    if missing or [field.name for field in spec.groups[0].fields] != ["window", "facts"]:
        raise SettingsError(f"This policy plays cogsguard; {spec.world} has other observations.")
    row = np.zeros(col.RULE_COLUMNS, dtype=np.int64)
    row[: len(col.RULE_NAMES)] = [rules[name] for name in col.RULE_NAMES]
    if rules["free_moves"]:
        row[col.MOVE_COST] = 0
    row[col.SHIFT] = int(2 * (row[col.WIDTH] + row[col.RADIUS])).bit_length()
    row[col.STRIDE] = 1 << int(row[col.SHIFT])
    row[col.MAP_HEIGHT] = 2 * (row[col.HEIGHT] + row[col.RADIUS]) + 1
    row[col.MOVE_OFFSETS : col.MOVE_OFFSETS + 5] = [0, -row[col.STRIDE], row[col.STRIDE], -1, 1]
    row[col.FACTS_OFFSET] = spec.groups[0].offsets["facts"]
    row[col.MAX_SEARCH_CELLS] = params.max_search_cells
    return row


def write_parameters(state: Ints, agents: Ints, params: BehaviorParams) -> None:
    """Write the parameters of the game's behaviors into the state of new agents.

    Args:
        state: `[capacity, STATE_COLUMNS]`, written.
        agents: Rows of the new agents.
        params: Their parameters.
    """
    values = list(params.model_dump().values())[: col.N_GAME_PARAMETERS]
    state[agents, col.HEARTS_WANTED : col.HEARTS_WANTED + col.N_GAME_PARAMETERS] = values
