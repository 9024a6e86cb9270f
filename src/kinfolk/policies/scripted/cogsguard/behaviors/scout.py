"""Behaviors of scouts: discover buildings, extractors, junctions."""

from __future__ import annotations

from kinfolk.core.jit import inline
from kinfolk.policies.scripted.cogsguard.behaviors.explanations import (
    ALL_BUILDINGS,
    ENOUGH_EXTRACTORS,
    NO_MORE_JUNCTIONS,
    NO_PATH,
    YES,
)
from kinfolk.policies.scripted.cogsguard.exploration import (
    NEW_EXTRACTORS,
    NEW_JUNCTIONS,
    RINGS,
    has_no_frontier,
)
from kinfolk.policies.scripted.cogsguard.memory import (
    CHEST_CELL,
    EXTRACTOR_COUNTS,
    FRUITLESS_TICKS,
    HUB_CELL,
    STATION_CELL,
    AgentMemory,
)
from kinfolk.policies.scripted.cogsguard.parameters import (
    EDITION_A,
    EXTRACTORS_WANTED,
    RETRY_DELAY,
    STORE_RESERVE,
)
from kinfolk.policies.scripted.cogsguard.shared_kernels import explore_move, fetch_gear
from kinfolk.worlds.cogsguard.codes import SCOUT


@inline
def knows_buildings(memory: AgentMemory, agent: int) -> bool:
    """Return whether hub, chest (edition A has none) and the four stations are known."""
    state = memory.state
    if state[agent, HUB_CELL] == 0 or (
        state[agent, CHEST_CELL] == 0 and memory.rules[EDITION_A] == 0
    ):
        return False
    for gear in range(4):  # noqa: SIM110, kernels have no generators
        if state[agent, STATION_CELL + gear] == 0:
            return False
    return True


@inline
def search_with_gear(memory: AgentMemory, agent: int, mode: int) -> int:
    """Return the move to a scout's gear if the store can spare it, else the move that explores.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        mode: Mode of exploration.
    """
    move = fetch_gear(memory, agent, SCOUT, memory.rules[STORE_RESERVE])
    if move < 0:
        move = explore_move(memory, agent, mode)
    return move if move >= 0 else NO_PATH


def can_discover_stations(memory: AgentMemory, agent: int) -> int:
    """Return YES while a building of the team is unknown."""
    return ALL_BUILDINGS if knows_buildings(memory, agent) else YES


def discover_stations(memory: AgentMemory, agent: int) -> int:
    """Return the move that explores around the hub, in growing rings."""
    return search_with_gear(memory, agent, RINGS)


def discovered_stations(memory: AgentMemory, agent: int) -> int:
    """Return 1 once all buildings of the team are known."""
    return 1 if knows_buildings(memory, agent) else 0


@inline
def knows_enough_extractors(memory: AgentMemory, agent: int) -> bool:
    """Return whether as many extractors of each element are known as are wanted."""
    for element in range(4):
        if memory.state[agent, EXTRACTOR_COUNTS + element] < memory.rules[EXTRACTORS_WANTED]:
            return False
    return True


def can_discover_extractors(memory: AgentMemory, agent: int) -> int:
    """Return YES while too few extractors of some element are known."""
    return ENOUGH_EXTRACTORS if knows_enough_extractors(memory, agent) else YES


def discover_extractors(memory: AgentMemory, agent: int) -> int:
    """Return the move that explores, frontiers far from known extractors first."""
    return search_with_gear(memory, agent, NEW_EXTRACTORS)


def discovered_extractors(memory: AgentMemory, agent: int) -> int:
    """Return 1 once enough extractors are known."""
    return 1 if knows_enough_extractors(memory, agent) else 0


@inline
def expects_junctions(memory: AgentMemory, agent: int) -> bool:
    """Return whether a frontier is left and searching has not been fruitless for too long."""
    return bool(
        memory.state[agent, FRUITLESS_TICKS] < memory.rules[RETRY_DELAY]
        and not has_no_frontier(memory, agent)
    )


def can_discover_junctions(memory: AgentMemory, agent: int) -> int:
    """Return YES while more junctions are expected."""
    return YES if expects_junctions(memory, agent) else NO_MORE_JUNCTIONS


def discover_junctions(memory: AgentMemory, agent: int) -> int:
    """Return the move that explores, frontiers far from known junctions first; counts the tick."""
    memory.state[agent, FRUITLESS_TICKS] += 1
    return search_with_gear(memory, agent, NEW_JUNCTIONS)


def discovered_junctions(memory: AgentMemory, agent: int) -> int:
    """Return 1 once no more junctions are expected."""
    return 0 if expects_junctions(memory, agent) else 1
