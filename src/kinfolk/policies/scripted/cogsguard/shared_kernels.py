"""Kernels that all behaviors share, called by address so that each is compiled once; and the return home."""

from __future__ import annotations

from kinfolk.core.function_table import call_address_4
from kinfolk.core.jit import inline
from kinfolk.policies.scripted.cogsguard.memory import (
    CELL,
    CLOCK,
    FAILED_UNTIL,
    HOME_CELL,
    HOME_CLOCK,
    HOME_DISTANCE,
    HUB_CELL,
    PATH_GOAL,
    STATION_CELL,
    AgentMemory,
    grid_distance,
)
from kinfolk.policies.scripted.cogsguard.parameters import (
    AREA_RADIUS,
    EXPLORE_KERNEL,
    HOME_KERNEL,
    STEP_KERNEL,
    TARGET_KERNEL,
)
from kinfolk.policies.scripted.cogsguard.pathfinding import (
    NO_MOVE,
    TO_FRIENDLY,
    WAIT,
    call_find_path,
)
from kinfolk.policies.scripted.cogsguard.requirements import can_obtain_gear
from kinfolk.policies.scripted.cogsguard.targets import depot_distance
from kinfolk.worlds.cogsguard.codes import FRIENDLY_AREA, GEAR

ALREADY_WORN = -2  # of `fetch`: the agent wears it


@inline
def move_to(memory: AgentMemory, agent: int, goal: int, flags: int) -> int:
    """The move that leads to a cell, into it at last; see `paths.walk`."""
    return int(call_address_4(memory.rules[STEP_KERNEL], memory, agent, goal, flags))


@inline
def explore_move(memory: AgentMemory, agent: int, mode: int) -> int:
    """The move that explores; see `exploring.explore`."""
    return int(call_address_4(memory.rules[EXPLORE_KERNEL], memory, agent, mode, 0))


@inline
def target_cell(memory: AgentMemory, agent: int, purpose: int) -> int:
    """The cell of what to go for, 0 if there is nothing; see `aims.aim`."""
    return int(call_address_4(memory.rules[TARGET_KERNEL], memory, agent, purpose, 0))


@inline
def go_home(memory: AgentMemory, agent: int) -> int:
    """The move to the nearest friendly area; see `homing.homewards`."""
    return int(call_address_4(memory.rules[HOME_KERNEL], memory, agent, 0, 0))


@inline
def steps_home(memory: AgentMemory, agent: int) -> int:
    """Steps to the nearest friendly area, about; see `homing.homewards`."""
    return int(call_address_4(memory.rules[HOME_KERNEL], memory, agent, 1, 0))


@inline
def fetch_gear(memory: AgentMemory, agent: int, gear: int, reserve: int) -> int:
    """The move that gets gear: WORN if it is on, -1 if it cannot be had."""
    if memory.state[agent, GEAR] == gear:
        return ALREADY_WORN
    if not can_obtain_gear(memory, agent, gear, reserve):
        return -1
    return move_to(memory, agent, memory.state[agent, STATION_CELL + gear - 1], 0)


@inline
def distance_to(memory: AgentMemory, agent: int, cell: int) -> int:
    """Steps from the agent to a cell if nothing is in the way."""
    return grid_distance(memory, memory.state[agent, CELL], cell)


_HOME_BACK_OFF = 12


@inline
def is_in_friendly_area(memory: AgentMemory, agent: int, cell: int) -> bool:
    """Whether a cell was in a friendly area when it was seen last."""
    return int(memory.cells[agent, cell]) & FRIENDLY_AREA != 0


@inline
def home_distance(memory: AgentMemory, agent: int) -> int:
    """Steps to the nearest friendly area, about; worked out once a tick."""
    notes = memory.state
    if notes[agent, HOME_CLOCK] != notes[agent, CLOCK]:
        notes[agent, HOME_CLOCK] = notes[agent, CLOCK]
        steps = 0
        if not is_in_friendly_area(memory, agent, notes[agent, CELL]):
            steps = max(
                1, depot_distance(memory, agent, notes[agent, CELL]) - memory.rules[AREA_RADIUS]
            )
        notes[agent, HOME_DISTANCE] = steps
    return int(notes[agent, HOME_DISTANCE])


def return_home(memory: AgentMemory, agent: int, ask_distance: int, _unused: int) -> int:
    """The move to the nearest friendly cell, WAIT once there; or the distance, if that is asked."""
    notes = memory.state
    if ask_distance == 1:
        return home_distance(memory, agent)
    if is_in_friendly_area(memory, agent, notes[agent, CELL]):
        return WAIT
    goal = int(notes[agent, HOME_CELL])
    if goal == 0 or not is_in_friendly_area(memory, agent, goal):
        goal = 0
        if notes[agent, CLOCK] >= notes[agent, FAILED_UNTIL]:
            if call_find_path(memory, agent, TO_FRIENDLY, 0) == NO_MOVE:
                notes[agent, FAILED_UNTIL] = notes[agent, CLOCK] + _HOME_BACK_OFF
            else:
                goal = int(notes[agent, PATH_GOAL])
        notes[agent, HOME_CELL] = goal
    if goal == 0:
        hub = int(notes[agent, HUB_CELL])
        return move_to(memory, agent, hub, 0) if hub > 0 else NO_MOVE
    return move_to(memory, agent, goal, 0)
