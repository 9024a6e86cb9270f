"""Behaviors of all roles, miners and scouts: explore, recharge, mine, deposit, discover."""

from __future__ import annotations

from kinfolk.core.jit import inline
from kinfolk.policies.scripted.cogsguard import columns as col
from kinfolk.policies.scripted.cogsguard import exploration, primitives, targets
from kinfolk.policies.scripted.cogsguard.behaviors import reasons
from kinfolk.policies.scripted.cogsguard.behaviors.reasons import YES
from kinfolk.policies.scripted.cogsguard.memory import AgentMemory
from kinfolk.worlds.cogsguard import codes


def can_explore(_memory: AgentMemory, _agent: int) -> int:
    """Return YES: exploring is always possible."""
    return YES


def explore(memory: AgentMemory, agent: int) -> int:
    """Return the move towards a frontier of the known map, or of a patrol."""
    return primitives.explore_move(memory, agent, exploration.ANYWHERE)


def explored(memory: AgentMemory, agent: int) -> int:
    """Return 1 in the tick in which an object was found."""
    state = memory.state[agent]
    return int(state[col.LAST_FOUND] == state[col.CLOCK])


@inline
def needs_recharge(memory: AgentMemory, agent: int) -> bool:
    """Return whether hp or energy is below what the path home takes, plus a margin.

    An agent gains solar energy as it walks; what the path needs beyond that counts, but at most half
    of the energy limit: otherwise no agent would ever leave home by night.
    """
    state, steps = memory.state[agent], primitives.steps_home(memory, agent)
    if steps == 0:
        return False
    ticks = primitives.travel_ticks(memory, agent, steps, state[codes.ENERGY])
    if state[codes.HP] < ticks + memory.rules[col.HOME_MARGIN]:
        return True
    net = max(0, memory.rules[col.MOVE_COST] - primitives.solar_energy(memory, agent))
    need = min(steps * net, primitives.energy_limit(memory, state[codes.GEAR]) // 2)
    return bool(state[codes.ENERGY] < need)


def can_recharge(memory: AgentMemory, agent: int) -> int:
    """Return YES if hp or energy may not suffice for the path home."""
    return YES if needs_recharge(memory, agent) else reasons.NO_RECHARGE_NEEDED


def recharge(memory: AgentMemory, agent: int) -> int:
    """Return the move to the nearest friendly area, then wait there."""
    move = primitives.go_home(memory, agent)
    return primitives.hold_near_goal(memory, move, primitives.steps_home(memory, agent))


def recharged(memory: AgentMemory, agent: int) -> int:
    """Return 1 once hp and energy are full."""
    state = memory.state[agent]
    has_hp = state[codes.HP] >= primitives.hp_limit(memory, state[codes.GEAR])
    has_energy = state[codes.ENERGY] >= primitives.energy_limit(memory, state[codes.GEAR])
    return int(has_hp and has_energy)


@inline
def knows_extractor(memory: AgentMemory, agent: int) -> bool:
    """Return whether a usable extractor is known."""
    state, first = memory.state[agent], col.EXTRACTOR_COUNTS
    return bool(state[first] + state[first + 1] + state[first + 2] + state[first + 3] > 0)


@inline
def has_target(memory: AgentMemory, agent: int) -> bool:
    """Return whether there is an extractor to go for."""
    if not knows_extractor(memory, agent):
        return False
    return primitives.target_cell(memory, agent, targets.MINE) > 0


def can_mine(memory: AgentMemory, agent: int) -> int:
    """Return YES with room in the cargo, or for the gear that gives room, and a known extractor."""
    if primitives.is_cargo_full(memory, agent):
        wears_gear = memory.state[agent, codes.GEAR] == codes.MINER
        if wears_gear or not primitives.can_obtain_gear(memory, agent, codes.MINER, 0):
            return reasons.CARGO_FULL
    return YES if has_target(memory, agent) else reasons.NO_EXTRACTOR


def mine(memory: AgentMemory, agent: int) -> int:
    """Return the move to the miner's gear if it can be obtained, then to the extractor and into it."""
    move = primitives.fetch_gear(memory, agent, codes.MINER, 0)
    if move >= 0:
        return move
    if primitives.is_cargo_full(memory, agent):
        return reasons.CARGO_FULL
    cell = primitives.target_cell(memory, agent, targets.MINE)
    if cell == 0:
        return reasons.NO_EXTRACTOR
    move = primitives.move_to(memory, agent, cell, 0)
    if move < 0:
        targets.abandon_target(memory, agent, targets.MINE, memory.rules[col.RETRY_DELAY])
    return move


def mined(memory: AgentMemory, agent: int) -> int:
    """Return 1 once the cargo is full or there is no extractor to go for."""
    if primitives.is_cargo_full(memory, agent) or memory.state[agent, col.MINE_TARGET] == 0:
        return 1
    return int(not has_target(memory, agent))


def can_deposit(memory: AgentMemory, agent: int) -> int:
    """Return YES at full cargo, or carrying something when there is nothing left to mine."""
    if primitives.cargo_size(memory, agent) == 0:
        return reasons.NOTHING_CARRIED
    if not primitives.is_cargo_full(memory, agent) and has_target(memory, agent):
        return reasons.NOT_FULL_YET
    return YES if primitives.target_cell(memory, agent, targets.DEPOT) > 0 else reasons.NO_DEPOT


def deposit(memory: AgentMemory, agent: int) -> int:
    """Return the move to the nearest hub or own junction, at last into it."""
    cell = primitives.target_cell(memory, agent, targets.DEPOT)
    if cell == 0:
        return reasons.NO_DEPOT
    move = primitives.move_to(memory, agent, cell, 0)
    if move < 0:
        targets.abandon_target(memory, agent, targets.DEPOT, memory.rules[col.RETRY_DELAY])
    return primitives.hold_near_goal(memory, move, primitives.distance_to(memory, agent, cell))


def deposited(memory: AgentMemory, agent: int) -> int:
    """Return 1 once nothing is carried; the next extractor is then chosen again."""
    if primitives.cargo_size(memory, agent) > 0:
        return 0
    memory.state[agent, col.MINE_TARGET] = 0
    return 1


def can_find_extractor(memory: AgentMemory, agent: int) -> int:
    """Return YES if there is no extractor to go for."""
    return reasons.HAS_EXTRACTOR if has_target(memory, agent) else YES


def find_extractor(memory: AgentMemory, agent: int) -> int:
    """Return the move that explores by sectors, away from where team-mates search."""
    return primitives.explore_move(memory, agent, exploration.BY_SECTOR)


def found_extractor(memory: AgentMemory, agent: int) -> int:
    """Return 1 once there is an extractor to go for."""
    return int(has_target(memory, agent))


@inline
def knows_buildings(memory: AgentMemory, agent: int) -> bool:
    """Return whether hub, chest (edition A has none) and the four stations are known."""
    state = memory.state[agent]
    lacks_chest = state[col.CHEST_CELL] == 0 and memory.rules[col.EDITION_A] == 0
    if state[col.HUB_CELL] == 0 or lacks_chest:
        return False
    for gear in range(4):  # noqa: SIM110, kernels have no generators
        if state[col.STATION_CELL + gear] == 0:
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
    move = primitives.fetch_gear(memory, agent, codes.SCOUT, memory.rules[col.STORE_RESERVE])
    return move if move >= 0 else primitives.explore_move(memory, agent, mode)


def can_discover_stations(memory: AgentMemory, agent: int) -> int:
    """Return YES while a building of the team is unknown."""
    return reasons.ALL_BUILDINGS if knows_buildings(memory, agent) else YES


def discover_stations(memory: AgentMemory, agent: int) -> int:
    """Return the move that explores around the hub, in growing rings."""
    return search_with_gear(memory, agent, exploration.RINGS)


def discovered_stations(memory: AgentMemory, agent: int) -> int:
    """Return 1 once all buildings of the team are known."""
    return int(knows_buildings(memory, agent))


@inline
def knows_enough_extractors(memory: AgentMemory, agent: int) -> bool:
    """Return whether as many extractors of each element are known as are wanted."""
    for element in range(4):
        known = memory.state[agent, col.EXTRACTOR_COUNTS + element]
        if known < memory.rules[col.EXTRACTORS_WANTED]:
            return False
    return True


def can_discover_extractors(memory: AgentMemory, agent: int) -> int:
    """Return YES while too few extractors of some element are known."""
    return reasons.ENOUGH_EXTRACTORS if knows_enough_extractors(memory, agent) else YES


def discover_extractors(memory: AgentMemory, agent: int) -> int:
    """Return the move that explores, frontiers far from known extractors first."""
    return search_with_gear(memory, agent, exploration.NEW_EXTRACTORS)


def discovered_extractors(memory: AgentMemory, agent: int) -> int:
    """Return 1 once enough extractors are known."""
    return int(knows_enough_extractors(memory, agent))


@inline
def expects_junctions(memory: AgentMemory, agent: int) -> bool:
    """Return whether a frontier is left and searching has not been fruitless for too long."""
    is_fruitless = memory.state[agent, col.FRUITLESS_TICKS] >= memory.rules[col.RETRY_DELAY]
    return not (is_fruitless or exploration.has_no_frontier(memory, agent))


def can_discover_junctions(memory: AgentMemory, agent: int) -> int:
    """Return YES while more junctions are expected."""
    return YES if expects_junctions(memory, agent) else reasons.NO_MORE_JUNCTIONS


def discover_junctions(memory: AgentMemory, agent: int) -> int:
    """Return the move that explores, frontiers far from known junctions first; counts the tick."""
    memory.state[agent, col.FRUITLESS_TICKS] += 1
    return search_with_gear(memory, agent, exploration.NEW_JUNCTIONS)


def discovered_junctions(memory: AgentMemory, agent: int) -> int:
    """Return 1 once no more junctions are expected."""
    return int(not expects_junctions(memory, agent))
