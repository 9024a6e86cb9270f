"""Kernels that all behaviors share, called by address so that each is compiled once.

Also the return to the nearest friendly area, which is one of them.
"""

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
    is_in_friendly_area,
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
from kinfolk.worlds.cogsguard.codes import GEAR

ALREADY_WORN = -2  # result of `fetch_gear`: the agent wears it
_HOME_BACK_OFF = 12  # ticks before a failed search for a path home is repeated


@inline
def move_to(memory: AgentMemory, agent: int, goal: int, flags: int) -> int:
    """Return the move towards a cell, at last into it; see `pathfinding.step_towards`.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        goal: The cell.
        flags: AVOID_AGENTS, AVOID_ENEMY or both.
    """
    return int(call_address_4(memory.rules[STEP_KERNEL], memory, agent, goal, flags))


@inline
def explore_move(memory: AgentMemory, agent: int, mode: int) -> int:
    """Return the move that explores; see `exploration.explore`.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        mode: What is looked for, such as `exploration.ANYWHERE`.
    """
    return int(call_address_4(memory.rules[EXPLORE_KERNEL], memory, agent, mode, 0))


@inline
def target_cell(memory: AgentMemory, agent: int, purpose: int) -> int:
    """Return the cell of the agent's target, 0 for none; see `targets.choose_target`.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        purpose: MINE, ALIGN, SCRAMBLE or DEPOT.
    """
    return int(call_address_4(memory.rules[TARGET_KERNEL], memory, agent, purpose, 0))


@inline
def go_home(memory: AgentMemory, agent: int) -> int:
    """Return the move to the nearest friendly area; see `return_home`."""
    return int(call_address_4(memory.rules[HOME_KERNEL], memory, agent, 0, 0))


@inline
def steps_home(memory: AgentMemory, agent: int) -> int:
    """Return the approximate steps to the nearest friendly area; see `home_distance`."""
    return int(call_address_4(memory.rules[HOME_KERNEL], memory, agent, 1, 0))


@inline
def fetch_gear(memory: AgentMemory, agent: int, gear: int, reserve: int) -> int:
    """Return the move towards gear, ALREADY_WORN, or -1 if it cannot be obtained.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        gear: Gear code.
        reserve: Amount of each element that must be left in the store.
    """
    if memory.state[agent, GEAR] == gear:
        return ALREADY_WORN
    if not can_obtain_gear(memory, agent, gear, reserve):
        return -1
    return move_to(memory, agent, memory.state[agent, STATION_CELL + gear - 1], 0)


@inline
def distance_to(memory: AgentMemory, agent: int, cell: int) -> int:
    """Return the Manhattan distance from the agent to a cell.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        cell: The cell.
    """
    return grid_distance(memory, memory.state[agent, CELL], cell)


@inline
def home_distance(memory: AgentMemory, agent: int) -> int:
    """Return the approximate steps to the nearest friendly area, computed once per tick."""
    state = memory.state
    if state[agent, HOME_CLOCK] != state[agent, CLOCK]:
        state[agent, HOME_CLOCK] = state[agent, CLOCK]
        steps = 0
        if not is_in_friendly_area(memory, agent, state[agent, CELL]):
            steps = max(
                1, depot_distance(memory, agent, state[agent, CELL]) - memory.rules[AREA_RADIUS]
            )
        state[agent, HOME_DISTANCE] = steps
    return int(state[agent, HOME_DISTANCE])


def return_home(memory: AgentMemory, agent: int, ask_distance: int, _unused: int) -> int:
    """Return the move to the nearest friendly cell, WAIT once there; or the distance to it.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        ask_distance: 1 to return `home_distance` instead of a move.
        _unused: Kernels that are called by address take four arguments.
    """
    state = memory.state
    if ask_distance == 1:
        return home_distance(memory, agent)
    if is_in_friendly_area(memory, agent, state[agent, CELL]):
        return WAIT
    goal = int(state[agent, HOME_CELL])
    if goal == 0 or not is_in_friendly_area(memory, agent, goal):
        goal = 0
        if state[agent, CLOCK] >= state[agent, FAILED_UNTIL]:
            if call_find_path(memory, agent, TO_FRIENDLY, 0) == NO_MOVE:
                state[agent, FAILED_UNTIL] = state[agent, CLOCK] + _HOME_BACK_OFF
            else:
                goal = int(state[agent, PATH_GOAL])
        state[agent, HOME_CELL] = goal
    if goal == 0:
        hub = int(state[agent, HUB_CELL])
        return move_to(memory, agent, hub, 0) if hub > 0 else NO_MOVE
    return move_to(memory, agent, goal, 0)
