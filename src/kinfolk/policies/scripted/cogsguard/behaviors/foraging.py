"""Behaviors of all roles, miners and scouts: explore, recharge, mine, deposit, discover."""

from __future__ import annotations

from kinfolk.core.jit import inline
from kinfolk.policies.scripted.cogsguard import columns as col
from kinfolk.policies.scripted.cogsguard import exploration, pathfinding, primitives, targets
from kinfolk.policies.scripted.cogsguard.behaviors import reasons
from kinfolk.policies.scripted.cogsguard.behaviors.reasons import YES
from kinfolk.policies.scripted.cogsguard.memory import AgentMemory
from kinfolk.worlds.cogsguard import codes


def can_explore(_memory: AgentMemory, _agent: int) -> int:
    """Start condition of `explore`: return YES, because exploring is always possible."""
    return YES


def explore(memory: AgentMemory, agent: int) -> int:
    """Action of `explore`: return the move towards a frontier of the known map, or of a patrol."""
    return primitives.explore_move(memory, agent, exploration.ANYWHERE)


def should_stop_exploring(memory: AgentMemory, agent: int) -> int:
    """Stop condition of `explore`: return YES in the tick in which the agent found an object."""
    state = memory.state[agent]
    return int(state[col.LAST_FOUND] == state[col.CLOCK])


@inline
def needs_recharge(memory: AgentMemory, agent: int) -> bool:
    """Return whether the agent has less hp or energy than the path home takes, plus a margin of hp.

    Enemy areas take hp for each of their junctions, on the steps that lead out of them. An agent
    gains solar energy as it walks, so only the energy that the path needs beyond that counts. It
    counts up to half of the energy limit: otherwise no agent would ever leave home by night.
    """
    state, steps = memory.state[agent], primitives.steps_home(memory, agent)
    if steps == 0:
        return False
    ticks = primitives.travel_ticks(memory, agent, steps, state[codes.ENERGY])
    damage = primitives.enemy_damage(memory, agent, steps)
    if state[codes.HP] < ticks * memory.rules[col.HP_UPKEEP] + damage + state[col.HOME_MARGIN]:
        return True
    net = max(0, memory.rules[col.MOVE_COST] - primitives.solar_energy(memory, agent))
    need = min(steps * net, primitives.energy_limit(memory, state[codes.GEAR]) // 2)
    return bool(state[codes.ENERGY] < need)


def can_recharge(memory: AgentMemory, agent: int) -> int:
    """Start condition of `recharge`: return YES if hp or energy may not last for the path home."""
    return YES if needs_recharge(memory, agent) else reasons.NO_RECHARGE_NEEDED


def recharge(memory: AgentMemory, agent: int) -> int:
    """Action of `recharge`: return the move to the nearest friendly area, where the agent waits."""
    move = primitives.go_home(memory, agent)
    return primitives.hold_near_goal(memory, agent, move, primitives.steps_home(memory, agent))


def should_stop_recharging(memory: AgentMemory, agent: int) -> int:
    """Stop condition of `recharge`: return YES if the agent has full hp and energy."""
    state = memory.state[agent]
    has_hp = state[codes.HP] >= primitives.hp_limit(memory, state[codes.GEAR])
    has_energy = state[codes.ENERGY] >= primitives.energy_limit(memory, state[codes.GEAR])
    return int(has_hp and has_energy)


@inline
def knows_extractor(memory: AgentMemory, agent: int) -> bool:
    """Return whether the agent knows an extractor that is not used up."""
    state, first = memory.state[agent], col.EXTRACTOR_COUNTS
    return bool(state[first] + state[first + 1] + state[first + 2] + state[first + 3] > 0)


@inline
def has_target(memory: AgentMemory, agent: int) -> bool:
    """Return whether the agent has an extractor as its target, and choose one if it can."""
    if not knows_extractor(memory, agent):
        return False
    return primitives.target_cell(memory, agent, targets.MINE) > 0


def can_mine(memory: AgentMemory, agent: int) -> int:
    """Start condition of `mine_resource`: return YES if the agent can go to an extractor and mine.

    It needs an extractor as its target, and free cargo space or the means to get the miner's gear,
    which has more space.
    """
    if primitives.is_cargo_full(memory, agent):
        wears_gear = memory.state[agent, codes.GEAR] == codes.MINER
        if wears_gear or not primitives.can_obtain_gear(memory, agent, codes.MINER, 0):
            return reasons.CARGO_FULL
    return YES if has_target(memory, agent) else reasons.NO_EXTRACTOR


def mine(memory: AgentMemory, agent: int) -> int:
    """Action of `mine_resource`: return the move to the miner's gear, then into the extractor.

    Gear that cannot be obtained is left out.
    """
    move = primitives.fetch_gear(memory, agent, codes.MINER, 0)
    if move >= 0:
        return move
    if primitives.is_cargo_full(memory, agent):
        return reasons.CARGO_FULL
    cell = primitives.target_cell(memory, agent, targets.MINE)
    if cell == 0:
        return reasons.NO_EXTRACTOR
    move = primitives.move_to(memory, agent, cell, pathfinding.PREFER_SAFE)
    if move < 0:
        targets.abandon_target(memory, agent, targets.MINE, memory.state[agent, col.RETRY_DELAY])
    return move


def should_stop_mining(memory: AgentMemory, agent: int) -> int:
    """Stop condition of `mine_resource`: return YES if the cargo is full or no target is left."""
    if primitives.is_cargo_full(memory, agent) or memory.state[agent, col.MINE_TARGET] == 0:
        return 1
    return int(not has_target(memory, agent))


def can_deposit(memory: AgentMemory, agent: int) -> int:
    """Start condition of `deposit_resource`: return YES if the agent has cargo to bring to a depot.

    The cargo must have reached `cargo_percent`, or no extractor must be left to mine.
    """
    if primitives.cargo_size(memory, agent) == 0:
        return reasons.NOTHING_CARRIED
    if primitives.is_store_full(memory, agent):
        return reasons.STORE_FULL
    if not primitives.has_cargo_to_deposit(memory, agent) and has_target(memory, agent):
        return reasons.NOT_FULL_YET
    return YES if primitives.target_cell(memory, agent, targets.DEPOT) > 0 else reasons.NO_DEPOT


def deposit(memory: AgentMemory, agent: int) -> int:
    """Action of `deposit_resource`: return the move into the nearest hub or own junction."""
    cell = primitives.target_cell(memory, agent, targets.DEPOT)
    if cell == 0:
        return reasons.NO_DEPOT
    move = primitives.move_to(memory, agent, cell, pathfinding.PREFER_SAFE)
    if move < 0:
        targets.abandon_target(memory, agent, targets.DEPOT, memory.state[agent, col.RETRY_DELAY])
    return primitives.hold_near_goal(
        memory, agent, move, primitives.distance_to(memory, agent, cell)
    )


def should_stop_depositing(memory: AgentMemory, agent: int) -> int:
    """Stop condition of `deposit_resource`: return YES if it carries nothing or the store is full.

    Its target to mine is then cleared, so that the next extractor is chosen anew.
    """
    if primitives.cargo_size(memory, agent) > 0 and not primitives.is_store_full(memory, agent):
        return 0
    memory.state[agent, col.MINE_TARGET] = 0
    return 1


def can_find_extractor(memory: AgentMemory, agent: int) -> int:
    """Start condition of `find_extractor`: return YES if the agent has no extractor as target."""
    return reasons.HAS_EXTRACTOR if has_target(memory, agent) else YES


def find_extractor(memory: AgentMemory, agent: int) -> int:
    """Action of `find_extractor`: return the move that explores sectors away from team-mates."""
    return primitives.explore_move(memory, agent, exploration.BY_SECTOR)


def should_stop_finding_extractor(memory: AgentMemory, agent: int) -> int:
    """Stop condition of `find_extractor`: return YES if the agent has an extractor as target."""
    return int(has_target(memory, agent))


@inline
def knows_buildings(memory: AgentMemory, agent: int) -> bool:
    """Return whether the agent knows its hub and four stations."""
    state = memory.state[agent]
    if state[col.HUB_CELL] == 0:
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
        mode: What the agent looks for, such as `exploration.RINGS`.
    """
    move = primitives.fetch_gear(memory, agent, codes.SCOUT, memory.state[agent, col.STORE_RESERVE])
    return move if move >= 0 else primitives.explore_move(memory, agent, mode)


def can_discover_stations(memory: AgentMemory, agent: int) -> int:
    """Start condition of `discover_stations`: return YES if a building of the team is unknown."""
    return reasons.ALL_BUILDINGS if knows_buildings(memory, agent) else YES


def discover_stations(memory: AgentMemory, agent: int) -> int:
    """Action of `discover_stations`: return the move that explores rings around the hub."""
    return search_with_gear(memory, agent, exploration.RINGS)


def should_stop_discovering_stations(memory: AgentMemory, agent: int) -> int:
    """Stop condition of `discover_stations`: return YES if all buildings of the team are known."""
    return int(knows_buildings(memory, agent))


@inline
def knows_enough_extractors(memory: AgentMemory, agent: int) -> bool:
    """Return whether the agent knows `extractors_wanted` extractors of each element."""
    for element in range(4):
        known = memory.state[agent, col.EXTRACTOR_COUNTS + element]
        if known < memory.state[agent, col.EXTRACTORS_WANTED]:
            return False
    return True


def can_discover_extractors(memory: AgentMemory, agent: int) -> int:
    """Start condition of `discover_extractors`: return YES if too few of some element are known."""
    return reasons.ENOUGH_EXTRACTORS if knows_enough_extractors(memory, agent) else YES


def discover_extractors(memory: AgentMemory, agent: int) -> int:
    """Action of `discover_extractors`: return the move that explores far from known extractors."""
    return search_with_gear(memory, agent, exploration.NEW_EXTRACTORS)


def should_stop_discovering_extractors(memory: AgentMemory, agent: int) -> int:
    """Stop condition of `discover_extractors`: return YES if enough of every element are known."""
    return int(knows_enough_extractors(memory, agent))


@inline
def expects_junctions(memory: AgentMemory, agent: int) -> bool:
    """Return whether the agent may still find junctions.

    A frontier must be left, and the search must not have been fruitless for `retry_delay` ticks.
    """
    state = memory.state[agent]
    is_fruitless = state[col.FRUITLESS_TICKS] >= state[col.RETRY_DELAY]
    return not (is_fruitless or exploration.has_no_frontier(memory, agent))


def can_discover_junctions(memory: AgentMemory, agent: int) -> int:
    """Start condition of `discover_junctions`: return YES if the agent expects more junctions."""
    return YES if expects_junctions(memory, agent) else reasons.NO_MORE_JUNCTIONS


def discover_junctions(memory: AgentMemory, agent: int) -> int:
    """Action of `discover_junctions`: return the move that explores far from known junctions.

    The tick is counted as fruitless; perception resets the count when it finds a junction.
    """
    memory.state[agent, col.FRUITLESS_TICKS] += 1
    return search_with_gear(memory, agent, exploration.NEW_JUNCTIONS)


def should_stop_discovering_junctions(memory: AgentMemory, agent: int) -> int:
    """Stop condition of `discover_junctions`: return YES if the agent expects no more junctions."""
    return int(not expects_junctions(memory, agent))
