"""Building blocks of behaviors: limits by gear, prices, the duration of travel, and moves to goals.

Searches and choices of targets are kernels of their own, called by address, so that each is compiled
once and not for every behavior.
"""

from __future__ import annotations

from kinfolk.core.jit import call_address_4, inline
from kinfolk.policies.scripted.cogsguard import columns as col
from kinfolk.policies.scripted.cogsguard import pathfinding
from kinfolk.policies.scripted.cogsguard.memory import (
    AgentMemory,
    depot_distance,
    grid_distance,
    is_in_enemy_area,
    is_in_friendly_area,
    squared_distance,
)
from kinfolk.roles.execution import HOLD
from kinfolk.worlds.cogsguard import codes
from kinfolk.worlds.cogsguard.spec import STORE_FACT

ALREADY_WORN = -2  # result of `fetch_gear`: the agent wears it
_NEVER = 1 << 20  # ticks
_HOME_BACK_OFF = 12  # ticks before a failed search for a path home is repeated


@inline
def hp_limit(memory: AgentMemory, gear: int) -> int:
    """Return the most hp that an agent with this gear can have."""
    limit = memory.rules[col.HP_LIMIT]
    if gear == codes.SCOUT:
        limit = max(limit, memory.rules[col.HP_SCOUT])
    elif gear == codes.SCRAMBLER:
        limit = max(limit, memory.rules[col.HP_SCRAMBLER])
    return int(limit)


@inline
def energy_limit(memory: AgentMemory, gear: int) -> int:
    """Return the most energy that an agent with this gear can have."""
    scout = memory.rules[col.ENERGY_SCOUT] if gear == codes.SCOUT else 0
    return int(max(memory.rules[col.ENERGY_LIMIT], scout))


@inline
def influence_limit(memory: AgentMemory, gear: int) -> int:
    """Return the most influence that an agent with this gear can have."""
    aligner = memory.rules[col.INFLUENCE_ALIGNER] if gear == codes.ALIGNER else 0
    return int(max(memory.rules[col.INFLUENCE_LIMIT], aligner))


@inline
def cargo_limit(memory: AgentMemory, gear: int) -> int:
    """Return the most elements that an agent with this gear can carry."""
    miner = memory.rules[col.CARGO_MINER] if gear == codes.MINER else 0
    return int(max(memory.rules[col.CARGO_LIMIT], miner))


@inline
def cargo_size(memory: AgentMemory, agent: int) -> int:
    """Return the number of elements that an agent carries."""
    state, first = memory.state[agent], codes.FIRST_CARGO
    return int(state[first] + state[first + 1] + state[first + 2] + state[first + 3])


@inline
def is_cargo_full(memory: AgentMemory, agent: int) -> bool:
    """Return whether an agent carries as many elements as its gear allows."""
    return cargo_size(memory, agent) >= cargo_limit(memory, memory.state[agent, codes.GEAR])


@inline
def has_cargo_to_deposit(memory: AgentMemory, agent: int) -> bool:
    """Return whether an agent carries `cargo_percent` of what its gear allows."""
    limit = cargo_limit(memory, memory.state[agent, codes.GEAR])
    return bool(cargo_size(memory, agent) * 100 >= limit * memory.state[agent, col.CARGO_PERCENT])


@inline
def can_afford_gear(memory: AgentMemory, agent: int, gear: int, reserve: int) -> bool:
    """Return whether the team's store can pay for gear.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        gear: Gear code.
        reserve: Amount of each element that must be left.
    """
    for element in range(4):
        main = element == gear - 1
        price = memory.rules[col.GEAR_PRICE_MAIN] if main else memory.rules[col.GEAR_PRICE_OTHER]
        if memory.state[agent, STORE_FACT + element] < price + reserve:
            return False
    return True


@inline
def can_obtain_gear(memory: AgentMemory, agent: int, gear: int, reserve: int) -> bool:
    """Return whether an agent wears gear, or knows its station and the store can pay.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        gear: Gear code.
        reserve: Amount of each element that must be left.
    """
    state = memory.state[agent]
    if state[codes.GEAR] == gear:
        return True
    knows_station = state[col.STATION_CELL + gear - 1] > 0
    return bool(knows_station and can_afford_gear(memory, agent, gear, reserve))


@inline
def can_afford_heart(memory: AgentMemory, agent: int) -> bool:
    """Return whether the store has a heart, or the elements for one.

    A heart is useless without gear: for an agent that has none yet, enough must be left for it and
    for others like it. The hub of edition F replaces its last heart as long as the store can pay.
    """
    state = memory.state[agent]
    least = state[STORE_FACT]
    for element in range(1, 4):
        least = min(least, state[STORE_FACT + element])
    hearts, price = state[STORE_FACT + codes.STORE_HEARTS], memory.rules[col.HEART_PRICE]
    is_last = hearts == 1 and memory.rules[col.EDITION_A] == 0
    if hearts > 0 and not (is_last and least >= price):
        return True
    reserve = 0
    if state[codes.GEAR] != codes.ALIGNER and state[codes.GEAR] != codes.SCRAMBLER:
        reserve = state[col.GEARS_IN_RESERVE] * memory.rules[col.GEAR_PRICE_MAIN]
    return bool(least >= price + reserve)


@inline
def is_store_full(memory: AgentMemory, agent: int) -> bool:
    """Return whether the team's store has no room for elements, which share its limit."""
    state, total = memory.state[agent], 0
    for element in range(4):
        total += state[STORE_FACT + element]
    return bool(total >= memory.rules[col.STORE_CAP])


@inline
def solar_energy(memory: AgentMemory, agent: int) -> int:
    """Return the solar energy of the next tick, which differs by day and night."""
    rules = memory.rules
    hour = (memory.state[agent, col.TICK] + 1) % rules[col.DAY_PERIOD]
    is_day = hour < rules[col.DAY_LENGTH]
    return int(rules[col.SOLAR_DAY] if is_day else rules[col.SOLAR_NIGHT])


@inline
def travel_ticks(memory: AgentMemory, agent: int, steps: int, energy: int) -> int:
    """Return the ticks that steps outside friendly areas take, including waiting for solar energy.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        steps: Number of steps.
        energy: Energy at the start.
    """
    missing = memory.rules[col.MOVE_COST] * steps - energy
    if missing <= 0:
        return int(steps)
    gain = solar_energy(memory, agent)
    if gain == 0:
        return _NEVER
    return int(max(steps, (missing + gain - 1) // gain + 1))


@inline
def enemy_damage(memory: AgentMemory, agent: int, steps: int) -> int:
    """Return the hp that enemy areas take on a path that leads out of them, as far as is known.

    In edition F every enemy junction around the agent counts, in A one.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        steps: Steps of the path.
    """
    state, radius = memory.state[agent], memory.rules[col.AREA_RADIUS]
    if not is_in_enemy_area(memory, agent, state[col.CELL]):
        return 0
    sources = 0
    for entry in range(state[col.N_JUNCTIONS]):
        cell = int(memory.objects[agent, entry, col.OBJECT_CELL])
        is_enemy = memory.objects[agent, entry, col.OWNER] >= codes.CLIPS
        if is_enemy and squared_distance(memory, state[col.CELL], cell) <= radius**2:
            sources += 1
    if memory.rules[col.EDITION_A] == 1:
        sources = 1
    ticks = travel_ticks(memory, agent, min(steps, radius), state[codes.ENERGY])
    return int(max(1, sources) * memory.rules[col.HP_ENEMY_AREA] * ticks)


@inline
def move_to(memory: AgentMemory, agent: int, goal: int, flags: int) -> int:
    """Return the move towards a cell, at last into it; see `pathfinding.step_towards`.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        goal: The cell.
        flags: AVOID_AGENTS, AVOID_ENEMY or both.
    """
    return int(call_address_4(memory.rules[col.STEP_KERNEL], memory, agent, goal, flags))


@inline
def explore_move(memory: AgentMemory, agent: int, mode: int) -> int:
    """Return the move that explores; see `exploration.explore`.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        mode: What is looked for, such as `exploration.ANYWHERE`.
    """
    return int(call_address_4(memory.rules[col.EXPLORE_KERNEL], memory, agent, mode, 0))


@inline
def target_cell(memory: AgentMemory, agent: int, purpose: int) -> int:
    """Return the cell of the agent's target, 0 for none; see `targets.choose_target`.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        purpose: MINE, ALIGN, SCRAMBLE or DEPOT.
    """
    return int(call_address_4(memory.rules[col.TARGET_KERNEL], memory, agent, purpose, 0))


@inline
def go_home(memory: AgentMemory, agent: int) -> int:
    """Return the move to the nearest friendly area; see `return_home`."""
    return int(call_address_4(memory.rules[col.HOME_KERNEL], memory, agent, 0, 0))


@inline
def steps_home(memory: AgentMemory, agent: int) -> int:
    """Return the approximate steps to the nearest friendly area; see `home_distance`."""
    return int(call_address_4(memory.rules[col.HOME_KERNEL], memory, agent, 1, 0))


@inline
def fetch_gear(memory: AgentMemory, agent: int, gear: int, reserve: int) -> int:
    """Return the move towards gear, ALREADY_WORN if the agent wears it, or -1 if it cannot get it.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        gear: Gear code.
        reserve: Amount of each element that must be left in the store.
    """
    state = memory.state[agent]
    if state[codes.GEAR] == gear:
        return ALREADY_WORN
    if not can_obtain_gear(memory, agent, gear, reserve):
        return -1
    return move_to(memory, agent, state[col.STATION_CELL + gear - 1], 0)


@inline
def distance_to(memory: AgentMemory, agent: int, cell: int) -> int:
    """Return the Manhattan distance from the agent to a cell.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        cell: Number of the cell on the agent's map.
    """
    return grid_distance(memory, memory.state[agent, col.CELL], cell)


@inline
def home_distance(memory: AgentMemory, agent: int) -> int:
    """Return the approximate steps to the nearest friendly area, computed once per tick."""
    state = memory.state[agent]
    if state[col.HOME_CLOCK] != state[col.CLOCK]:
        state[col.HOME_CLOCK] = state[col.CLOCK]
        steps = 0
        if not is_in_friendly_area(memory, agent, state[col.CELL]):
            to_depot = depot_distance(memory, agent, state[col.CELL])
            steps = max(1, to_depot - memory.rules[col.AREA_RADIUS])
        state[col.HOME_DISTANCE] = steps
    return int(state[col.HOME_DISTANCE])


def return_home(memory: AgentMemory, agent: int, ask_distance: int, _unused: int) -> int:
    """Return the move to the nearest friendly cell, WAIT once there; or the distance to it.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        ask_distance: 1 to return `home_distance` instead of a move.
        _unused: Kernels that are called by address take four arguments.
    """
    state = memory.state[agent]
    if ask_distance == 1:
        return home_distance(memory, agent)
    if is_in_friendly_area(memory, agent, state[col.CELL]):
        return pathfinding.WAIT
    goal = int(state[col.HOME_CELL])
    if goal == 0 or not is_in_friendly_area(memory, agent, goal):
        goal = 0
        if state[col.CLOCK] >= state[col.FAILED_UNTIL]:
            length = pathfinding.call_find_path(memory, agent, pathfinding.TO_FRIENDLY, 0)
            if length == pathfinding.NO_MOVE:
                state[col.FAILED_UNTIL] = state[col.CLOCK] + _HOME_BACK_OFF
            else:
                goal = int(state[col.PATH_GOAL])
        state[col.HOME_CELL] = goal
    if goal == 0:
        hub = int(state[col.HUB_CELL])
        return move_to(memory, agent, hub, 0) if hub > 0 else pathfinding.NO_MOVE
    return move_to(memory, agent, goal, 0)


@inline
def hold_near_goal(memory: AgentMemory, agent: int, move: int, distance: int) -> int:
    """Return a move, marked as not to be interrupted if the goal is near.

    A reason code is returned unchanged.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory, for its commit distance.
        move: The move, or a reason code below zero.
        distance: Steps to the goal.
    """
    is_near = move >= 0 and distance <= memory.state[agent, col.COMMIT_DISTANCE]
    return move + HOLD if is_near else move
