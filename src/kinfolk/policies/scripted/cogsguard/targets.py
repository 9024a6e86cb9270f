"""Choose the extractor, depot or junction that an agent goes for, and keep it while it is valid."""

from __future__ import annotations

from kinfolk.core.jit import inline
from kinfolk.policies.scripted.cogsguard import columns as col
from kinfolk.policies.scripted.cogsguard.memory import (
    AgentMemory,
    depot_distance,
    grid_distance,
    is_in_enemy_area,
    squared_distance,
)
from kinfolk.policies.scripted.cogsguard.primitives import travel_ticks
from kinfolk.worlds.cogsguard import codes
from kinfolk.worlds.cogsguard.spec import STORE_FACT

MINE, ALIGN, SCRAMBLE, DEPOT = range(4)  # purposes of a target
_NO_TARGET_COST = 1 << 30  # while no target is known
_RETRY_TICKS = 10  # ticks before targets are compared again, when none fitted
# In steps:
_PREFERENCE = 6  # an extractor of the element that the agent prefers
_ENEMY_AREA_COST = 40  # an extractor in an enemy area, or too far for the hp
_RECENT_BONUS = 25  # a junction that was scrambled recently


@inline
def scarcest_element(memory: AgentMemory, agent: int) -> int:
    """Return the element of which the team's store has least."""
    state, scarcest = memory.state[agent], 0
    for element in range(1, 4):
        if state[STORE_FACT + element] < state[STORE_FACT + scarcest]:
            scarcest = element
    return scarcest


@inline
def has_closer_teammate(memory: AgentMemory, agent: int, cell: int, gear: int) -> bool:
    """Return whether a team-mate in view with this gear is closer to a cell than the agent.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        cell: Number of the cell on the agent's map.
        gear: Gear code.
    """
    distance = grid_distance(memory, memory.state[agent, col.CELL], cell)
    for i in range(1, memory.nearby[agent, 0] + 1):
        other = int(memory.nearby[agent, i])
        owner, other_gear = other >> col.NEARBY_OWNER & 3, other >> col.NEARBY_GEAR & 7
        is_rival = owner == codes.OWN and other_gear == gear
        if is_rival and grid_distance(memory, other >> col.NEARBY_CELL, cell) < distance:
            return True
    return False


@inline
def choose_extractor(memory: AgentMemory, agent: int) -> int:
    """Return the cell of the cheapest known extractor, 0 if none is known.

    It should be near, near a depot, of the scarcest element, and outside enemy areas.
    """
    objects, state = memory.objects[agent], memory.state[agent]
    first, agent_cell = memory.rules[col.MAX_JUNCTIONS], state[col.CELL]
    best, least, scarcest = 0, _NO_TARGET_COST, scarcest_element(memory, agent)
    for entry in range(first, first + state[col.N_EXTRACTORS]):
        cell = int(objects[entry, col.OBJECT_CELL])
        if cell == 0 or objects[entry, col.RETRY_AT] > state[col.CLOCK]:
            continue
        to_depot = depot_distance(memory, agent, cell)
        distance = grid_distance(memory, agent_cell, cell)
        cost = distance + min(to_depot, 1000)
        element = objects[entry, col.KIND] - codes.EXTRACTOR
        cost -= state[col.SCARCE_BONUS] if element == scarcest else 0
        cost -= _PREFERENCE if element == state[col.UID] % 4 else 0
        if is_in_enemy_area(memory, agent, cell) or distance + to_depot > state[codes.HP]:
            cost += _ENEMY_AREA_COST
        if cost < least:
            best, least = cell, cost
    return best


@inline
def choose_depot(memory: AgentMemory, agent: int) -> int:
    """Return the cell of the nearest hub or own junction, 0 if none is known."""
    objects, state = memory.objects[agent], memory.state[agent]
    best, least = int(state[col.HUB_CELL]), _NO_TARGET_COST
    if best > 0:
        least = grid_distance(memory, state[col.CELL], best)
    for entry in range(state[col.N_JUNCTIONS]):
        cell = int(objects[entry, col.OBJECT_CELL])
        is_due = objects[entry, col.RETRY_AT] <= state[col.CLOCK]
        if objects[entry, col.OWNER] == codes.OWN and is_due:
            distance = grid_distance(memory, state[col.CELL], cell)
            if distance < least:
                best, least = cell, distance
    return best


@inline
def is_in_align_range(memory: AgentMemory, agent: int, cell: int) -> bool:
    """Return whether the team may align a junction on a cell (edition A), as far as is known.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        cell: Number of the cell on the agent's map.
    """
    state, objects = memory.state[agent], memory.objects[agent]
    hub = state[col.HUB_CELL]
    if hub > 0 and squared_distance(memory, cell, hub) <= memory.rules[col.ALIGN_HUB_REACH] ** 2:
        return True
    for entry in range(state[col.N_JUNCTIONS]):
        distance = squared_distance(memory, cell, int(objects[entry, col.OBJECT_CELL]))
        near = distance <= memory.rules[col.ALIGN_REACH] ** 2
        if objects[entry, col.OWNER] == codes.OWN and near:
            return True
    return False


@inline
def steps_outside_area(memory: AgentMemory, agent: int, cell: int) -> int:
    """Return the approximate steps to a cell from the nearest friendly area.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        cell: Number of the cell on the agent's map.
    """
    return int(max(0, depot_distance(memory, agent, cell) - memory.rules[col.AREA_RADIUS]))


@inline
def can_align(memory: AgentMemory, agent: int, entry: int) -> bool:
    """Return whether an aligner with a heart can align a junction, as far as is known.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        entry: Index of the junction in the known objects.
    """
    objects = memory.objects[agent]
    cell, owner = int(objects[entry, col.OBJECT_CELL]), objects[entry, col.OWNER]
    if memory.rules[col.EDITION_A] == 1:
        return bool(owner != codes.OWN and is_in_align_range(memory, agent, cell))
    if owner != codes.NOBODY or is_in_enemy_area(memory, agent, cell):
        return False
    steps = steps_outside_area(memory, agent, cell)
    ticks = travel_ticks(memory, agent, steps, memory.rules[col.ENERGY_LIMIT])
    return bool(ticks + 1 <= memory.rules[col.INFLUENCE_ALIGNER])


@inline
def choose_junction(memory: AgentMemory, agent: int, purpose: int) -> int:
    """Return the cell of the cheapest junction to align or scramble, 0 if none fits.

    It should be near, recently scrambled, and not one to which a team-mate is closer.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        purpose: ALIGN or SCRAMBLE.
    """
    objects, state = memory.objects[agent], memory.state[agent]
    clock, gear = state[col.CLOCK], codes.ALIGNER if purpose == ALIGN else codes.SCRAMBLER
    best, least = 0, _NO_TARGET_COST
    for entry in range(state[col.N_JUNCTIONS]):
        cell, owner = int(objects[entry, col.OBJECT_CELL]), objects[entry, col.OWNER]
        if objects[entry, col.RETRY_AT] > clock or owner == codes.OWN:
            continue
        if purpose == SCRAMBLE and owner == codes.NOBODY:
            continue
        if purpose == ALIGN and not can_align(memory, agent, entry):
            continue
        cost = grid_distance(memory, state[col.CELL], cell)
        changed = objects[entry, col.LAST_CHANGED]
        if purpose == ALIGN and changed > 0 and objects[entry, col.PREVIOUS_OWNER] >= codes.CLIPS:
            cost -= _RECENT_BONUS if clock - changed <= state[col.RECENT_TICKS] else 0
        cost += state[col.RIVAL_COST] if has_closer_teammate(memory, agent, cell, gear) else 0
        if cost < least:
            best, least = cell, cost
    return best


@inline
def is_valid_target(memory: AgentMemory, agent: int, purpose: int, cell: int) -> bool:
    """Return whether a chosen target can still be used.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        purpose: MINE, ALIGN, SCRAMBLE or DEPOT.
        cell: Cell of the target.
    """
    state, objects = memory.state[agent], memory.objects[agent]
    if purpose == DEPOT and cell == state[col.HUB_CELL]:
        return True
    number = int(memory.cells[agent, cell]) >> col.OBJECT_SHIFT
    if number == 0 or objects[number - 1, col.RETRY_AT] > state[col.CLOCK]:
        return False
    kind, owner = objects[number - 1, col.KIND], objects[number - 1, col.OWNER]
    if purpose == MINE:
        return bool(kind < codes.JUNCTION)
    if purpose == DEPOT:
        return bool(owner == codes.OWN)
    if purpose == SCRAMBLE:
        return bool(owner >= codes.CLIPS)
    if memory.rules[col.EDITION_A] == 1:
        return bool(owner != codes.OWN)
    return bool(owner == codes.NOBODY and not is_in_enemy_area(memory, agent, cell))


def choose_target(memory: AgentMemory, agent: int, purpose: int, _unused: int) -> int:
    """Return the cell of the agent's target, chosen again when it is no longer valid; 0 for none.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        purpose: MINE, ALIGN, SCRAMBLE or DEPOT.
        _unused: Kernels that are called by address take four arguments.
    """
    state = memory.state[agent]
    cell = int(state[col.MINE_TARGET + purpose])
    if cell > 0 and is_valid_target(memory, agent, purpose, cell):
        return cell
    state[col.MINE_TARGET + purpose] = 0
    if state[col.CLOCK] < state[col.MINE_RETRY + purpose]:
        return 0
    if purpose == MINE:
        cell = choose_extractor(memory, agent)
    elif purpose == DEPOT:
        cell = choose_depot(memory, agent)
    else:
        cell = choose_junction(memory, agent, purpose)
        if cell > 0 and purpose == ALIGN:
            state[col.TRAVEL_STEPS] = steps_outside_area(memory, agent, cell)
    if cell == 0:
        state[col.MINE_RETRY + purpose] = state[col.CLOCK] + _RETRY_TICKS
    state[col.MINE_TARGET + purpose] = cell
    return cell


@inline
def abandon_target(memory: AgentMemory, agent: int, purpose: int, ticks: int) -> None:
    """Give up the agent's target and do not try it again for some ticks.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        purpose: MINE, ALIGN, SCRAMBLE or DEPOT.
        ticks: How long it is not tried again.
    """
    state = memory.state[agent]
    cell = int(state[col.MINE_TARGET + purpose])
    number = int(memory.cells[agent, cell]) >> col.OBJECT_SHIFT if cell > 0 else 0
    if number > 0:
        memory.objects[agent, number - 1, col.RETRY_AT] = state[col.CLOCK] + ticks
    state[col.MINE_TARGET + purpose] = 0
