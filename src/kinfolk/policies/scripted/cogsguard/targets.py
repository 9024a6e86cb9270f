"""Choose the extractor, depot or junction that an agent goes for, and keep it while it is valid."""

from __future__ import annotations

from kinfolk.core.jit import inline
from kinfolk.policies.scripted.cogsguard.memory import (
    CELL,
    CLOCK,
    HUB_CELL,
    KIND,
    LAST_CHANGED,
    MINE_RETRY,
    MINE_TARGET,
    N_EXTRACTORS,
    N_JUNCTIONS,
    NEARBY_CELL,
    NEARBY_GEAR,
    NEARBY_OWNER,
    OBJECT_CELL,
    OBJECT_SHIFT,
    OWNER,
    PREVIOUS_OWNER,
    RETRY_AT,
    TRAVEL_STEPS,
    UID,
    AgentMemory,
    grid_distance,
    is_in_enemy_area,
    squared_distance,
)
from kinfolk.policies.scripted.cogsguard.parameters import (
    ALIGN_HUB_REACH,
    ALIGN_REACH,
    AREA_RADIUS,
    EDITION_A,
    ENERGY_LIMIT,
    INFLUENCE_ALIGNER,
    MAX_JUNCTIONS,
    RECENT_TICKS,
)
from kinfolk.policies.scripted.cogsguard.requirements import travel_ticks
from kinfolk.worlds.cogsguard.codes import (
    ALIGNER,
    CLIPS,
    EXTRACTOR,
    HP,
    JUNCTION,
    NOBODY,
    OWN,
    SCRAMBLER,
)
from kinfolk.worlds.cogsguard.spec import STORE_FACT

MINE, ALIGN, SCRAMBLE, DEPOT = range(4)  # purposes of a target
_NONE = 1 << 30  # cost when nothing is known
_RETRY_TICKS = 10  # ticks before targets are compared again, when none fitted
# In steps:
_SCARCE_BONUS = 16  # an extractor of the scarcest element
_PREFERENCE = 6  # an extractor of the element that the agent prefers
_ENEMY_AREA_COST = 40  # an extractor in an enemy area, or too far for the hp
_RIVAL_COST = 30  # a junction to which a team-mate is closer
_RECENT_BONUS = 25  # a junction that was scrambled recently


@inline
def depot_distance(memory: AgentMemory, agent: int, cell: int) -> int:
    """Return the distance from a cell to the nearest known hub or own junction.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        cell: The cell.
    """
    hub, least = int(memory.state[agent, HUB_CELL]), _NONE
    if hub > 0:
        least = grid_distance(memory, cell, hub)
    for entry in range(memory.state[agent, N_JUNCTIONS]):
        if memory.objects[agent, entry, OWNER] == OWN:
            least = min(
                least, grid_distance(memory, cell, int(memory.objects[agent, entry, OBJECT_CELL]))
            )
    return least


@inline
def scarcest_element(memory: AgentMemory, agent: int) -> int:
    """Return the element of which the team's store has least."""
    scarcest = 0
    for element in range(1, 4):
        if memory.state[agent, STORE_FACT + element] < memory.state[agent, STORE_FACT + scarcest]:
            scarcest = element
    return scarcest


@inline
def has_closer_teammate(memory: AgentMemory, agent: int, cell: int, gear: int) -> bool:
    """Return whether a team-mate in view with this gear is closer to a cell than the agent.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        cell: The cell.
        gear: Gear code.
    """
    distance = grid_distance(memory, memory.state[agent, CELL], cell)
    for i in range(1, memory.nearby[agent, 0] + 1):
        other = int(memory.nearby[agent, i])
        is_rival = other >> NEARBY_OWNER & 3 == OWN and other >> NEARBY_GEAR & 7 == gear
        if is_rival and grid_distance(memory, other >> NEARBY_CELL, cell) < distance:
            return True
    return False


@inline
def choose_extractor(memory: AgentMemory, agent: int) -> int:
    """Return the cell of the cheapest known extractor, 0 if none is known.

    It should be near, near a depot, of the scarcest element, and outside enemy areas.
    """
    objects, state, clock = memory.objects, memory.state, memory.state[agent, CLOCK]
    first, agent_cell = memory.rules[MAX_JUNCTIONS], state[agent, CELL]
    best, least, scarcest = 0, _NONE, scarcest_element(memory, agent)
    for entry in range(first, first + state[agent, N_EXTRACTORS]):
        cell = int(objects[agent, entry, OBJECT_CELL])
        if cell == 0 or objects[agent, entry, RETRY_AT] > clock:
            continue
        to_depot = depot_distance(memory, agent, cell)
        distance = grid_distance(memory, agent_cell, cell)
        cost = distance + min(to_depot, 1000)
        element = objects[agent, entry, KIND] - EXTRACTOR
        cost -= _SCARCE_BONUS if element == scarcest else 0
        cost -= _PREFERENCE if element == state[agent, UID] % 4 else 0
        cost += (
            _ENEMY_AREA_COST
            if is_in_enemy_area(memory, agent, cell) or distance + to_depot > state[agent, HP]
            else 0
        )
        if cost < least:
            best, least = cell, cost
    return best


@inline
def choose_depot(memory: AgentMemory, agent: int) -> int:
    """Return the cell of the nearest hub or own junction, 0 if none is known."""
    objects, state, clock = memory.objects, memory.state, memory.state[agent, CLOCK]
    best, least = 0, _NONE
    if state[agent, HUB_CELL] > 0:
        best, least = (
            int(state[agent, HUB_CELL]),
            grid_distance(memory, state[agent, CELL], state[agent, HUB_CELL]),
        )
    for entry in range(state[agent, N_JUNCTIONS]):
        cell = int(objects[agent, entry, OBJECT_CELL])
        if objects[agent, entry, OWNER] == OWN and objects[agent, entry, RETRY_AT] <= clock:
            distance = grid_distance(memory, state[agent, CELL], cell)
            if distance < least:
                best, least = cell, distance
    return best


@inline
def is_in_align_range(memory: AgentMemory, agent: int, cell: int) -> bool:
    """Return whether the team may align a junction on a cell (edition A), as far as is known.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        cell: The cell.
    """
    hub = memory.state[agent, HUB_CELL]
    if hub > 0 and squared_distance(memory, cell, hub) <= memory.rules[ALIGN_HUB_REACH] ** 2:
        return True
    for entry in range(memory.state[agent, N_JUNCTIONS]):
        near = (
            squared_distance(memory, cell, int(memory.objects[agent, entry, OBJECT_CELL]))
            <= memory.rules[ALIGN_REACH] ** 2
        )
        if memory.objects[agent, entry, OWNER] == OWN and near:
            return True
    return False


@inline
def steps_outside_area(memory: AgentMemory, agent: int, cell: int) -> int:
    """Return the approximate steps to a cell from the nearest friendly area.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        cell: The cell.
    """
    return int(max(0, depot_distance(memory, agent, cell) - memory.rules[AREA_RADIUS]))


@inline
def can_align(memory: AgentMemory, agent: int, entry: int) -> bool:
    """Return whether an aligner with a heart can align a junction, as far as is known.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        entry: Index of the junction in the known objects.
    """
    cell, owner = (
        int(memory.objects[agent, entry, OBJECT_CELL]),
        memory.objects[agent, entry, OWNER],
    )
    if memory.rules[EDITION_A] == 1:
        return bool(owner != OWN and is_in_align_range(memory, agent, cell))
    if owner != NOBODY or is_in_enemy_area(memory, agent, cell):
        return False
    ticks = travel_ticks(
        memory, agent, steps_outside_area(memory, agent, cell), memory.rules[ENERGY_LIMIT]
    )
    return bool(ticks + 1 <= memory.rules[INFLUENCE_ALIGNER])


@inline
def choose_junction(memory: AgentMemory, agent: int, purpose: int) -> int:
    """Return the cell of the cheapest junction to align or scramble, 0 if none fits.

    It should be near, recently scrambled, and not one to which a team-mate is closer.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        purpose: ALIGN or SCRAMBLE.
    """
    objects, state, clock = memory.objects, memory.state, memory.state[agent, CLOCK]
    best, least = 0, _NONE
    for entry in range(state[agent, N_JUNCTIONS]):
        cell, owner = int(objects[agent, entry, OBJECT_CELL]), objects[agent, entry, OWNER]
        if objects[agent, entry, RETRY_AT] > clock or owner == OWN:
            continue
        if purpose == SCRAMBLE and owner == NOBODY:
            continue
        if purpose == ALIGN and not can_align(memory, agent, entry):
            continue
        cost = grid_distance(memory, state[agent, CELL], cell)
        changed = objects[agent, entry, LAST_CHANGED]
        if purpose == ALIGN and changed > 0 and objects[agent, entry, PREVIOUS_OWNER] >= CLIPS:
            cost -= _RECENT_BONUS if clock - changed <= memory.rules[RECENT_TICKS] else 0
        cost += (
            _RIVAL_COST
            if has_closer_teammate(memory, agent, cell, ALIGNER if purpose == ALIGN else SCRAMBLER)
            else 0
        )
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
    if purpose == DEPOT and cell == memory.state[agent, HUB_CELL]:
        return True
    number = int(memory.cells[agent, cell]) >> OBJECT_SHIFT
    if number == 0 or memory.objects[agent, number - 1, RETRY_AT] > memory.state[agent, CLOCK]:
        return False
    kind, owner = memory.objects[agent, number - 1, KIND], memory.objects[agent, number - 1, OWNER]
    if purpose == MINE:
        return bool(kind < JUNCTION)
    if purpose == DEPOT:
        return bool(owner == OWN)
    if purpose == SCRAMBLE:
        return bool(owner >= CLIPS)
    if memory.rules[EDITION_A] == 1:
        return bool(owner != OWN)
    return bool(owner == NOBODY and not is_in_enemy_area(memory, agent, cell))


def choose_target(memory: AgentMemory, agent: int, purpose: int, _unused: int) -> int:
    """Return the cell of the agent's target, chosen again when it is no longer valid; 0 for none.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        purpose: MINE, ALIGN, SCRAMBLE or DEPOT.
        _unused: Kernels that are called by address take four arguments.
    """
    state = memory.state
    cell = int(state[agent, MINE_TARGET + purpose])
    if cell > 0 and is_valid_target(memory, agent, purpose, cell):
        return cell
    state[agent, MINE_TARGET + purpose] = 0
    if state[agent, CLOCK] < state[agent, MINE_RETRY + purpose]:
        return 0
    if purpose == MINE:
        cell = choose_extractor(memory, agent)
    elif purpose == DEPOT:
        cell = choose_depot(memory, agent)
    else:
        cell = choose_junction(memory, agent, purpose)
        state[agent, TRAVEL_STEPS] = (
            steps_outside_area(memory, agent, cell)
            if cell > 0 and purpose == ALIGN
            else state[agent, TRAVEL_STEPS]
        )
    if cell == 0:
        state[agent, MINE_RETRY + purpose] = state[agent, CLOCK] + _RETRY_TICKS
    state[agent, MINE_TARGET + purpose] = cell
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
    cell = int(memory.state[agent, MINE_TARGET + purpose])
    number = int(memory.cells[agent, cell]) >> OBJECT_SHIFT if cell > 0 else 0
    if number > 0:
        memory.objects[agent, number - 1, RETRY_AT] = memory.state[agent, CLOCK] + ticks
    memory.state[agent, MINE_TARGET + purpose] = 0
