"""Behaviors of miners: mine, deposit, find extractors."""

from __future__ import annotations

from kinfolk.core.jit import inline
from kinfolk.policies.scripted.cogsguard.behaviors.explanations import (
    CARGO_FULL,
    HAS_EXTRACTOR,
    HOLD,
    NO_DEPOT,
    NO_EXTRACTOR,
    NO_PATH,
    NOT_FULL_YET,
    NOTHING_CARRIED,
    YES,
)
from kinfolk.policies.scripted.cogsguard.exploration import BY_SECTOR
from kinfolk.policies.scripted.cogsguard.memory import EXTRACTOR_COUNTS, MINE_TARGET, AgentMemory
from kinfolk.policies.scripted.cogsguard.parameters import COMMIT_DISTANCE, RETRY_DELAY
from kinfolk.policies.scripted.cogsguard.requirements import (
    can_obtain_gear,
    cargo_limit,
    cargo_size,
)
from kinfolk.policies.scripted.cogsguard.shared_kernels import (
    distance_to,
    explore_move,
    fetch_gear,
    move_to,
    target_cell,
)
from kinfolk.policies.scripted.cogsguard.targets import DEPOT, MINE, abandon_target
from kinfolk.worlds.cogsguard.codes import GEAR, MINER


@inline
def is_full(memory: AgentMemory, agent: int) -> bool:
    """Return whether an agent can carry no more."""
    return cargo_size(memory, agent) >= cargo_limit(memory, memory.state[agent, GEAR])


@inline
def knows_extractor(memory: AgentMemory, agent: int) -> bool:
    """Return whether a usable extractor is known."""
    state = memory.state
    known = state[agent, EXTRACTOR_COUNTS] + state[agent, EXTRACTOR_COUNTS + 1]
    return bool(known + state[agent, EXTRACTOR_COUNTS + 2] + state[agent, EXTRACTOR_COUNTS + 3] > 0)


@inline
def has_target(memory: AgentMemory, agent: int) -> bool:
    """Return whether there is an extractor to go for."""
    return knows_extractor(memory, agent) and target_cell(memory, agent, MINE) > 0


def can_mine(memory: AgentMemory, agent: int) -> int:
    """Return YES with room in the cargo, or for the gear that gives room, and a known extractor."""
    if is_full(memory, agent) and not (
        memory.state[agent, GEAR] != MINER and can_obtain_gear(memory, agent, MINER, 0)
    ):
        return CARGO_FULL
    return YES if has_target(memory, agent) else NO_EXTRACTOR


def mine(memory: AgentMemory, agent: int) -> int:
    """Return the move to the miner's gear if it can be obtained, then to the extractor and into it."""
    move = fetch_gear(memory, agent, MINER, 0)
    if move >= 0:
        return move
    if is_full(memory, agent):
        return CARGO_FULL
    cell = target_cell(memory, agent, MINE)
    if cell == 0:
        return NO_EXTRACTOR
    move = move_to(memory, agent, cell, 0)
    if move < 0:
        abandon_target(memory, agent, MINE, memory.rules[RETRY_DELAY])
        return NO_PATH
    return move


def mined(memory: AgentMemory, agent: int) -> int:
    """Return 1 once the cargo is full or there is no extractor to go for."""
    ended = (
        is_full(memory, agent)
        or memory.state[agent, MINE_TARGET] == 0
        or not has_target(memory, agent)
    )
    return 1 if ended else 0


def can_deposit(memory: AgentMemory, agent: int) -> int:
    """Return YES at full cargo, or carrying something when there is nothing left to mine."""
    if cargo_size(memory, agent) == 0:
        return NOTHING_CARRIED
    if not is_full(memory, agent) and has_target(memory, agent):
        return NOT_FULL_YET
    return YES if target_cell(memory, agent, DEPOT) > 0 else NO_DEPOT


def deposit(memory: AgentMemory, agent: int) -> int:
    """Return the move to the nearest hub or own junction, at last into it."""
    cell = target_cell(memory, agent, DEPOT)
    if cell == 0:
        return NO_DEPOT
    move = move_to(memory, agent, cell, 0)
    if move < 0:
        abandon_target(memory, agent, DEPOT, memory.rules[RETRY_DELAY])
        return NO_PATH
    return (
        move + HOLD if distance_to(memory, agent, cell) <= memory.rules[COMMIT_DISTANCE] else move
    )


def deposited(memory: AgentMemory, agent: int) -> int:
    """Return 1 once nothing is carried; the next extractor is then chosen again."""
    if cargo_size(memory, agent) > 0:
        return 0
    memory.state[agent, MINE_TARGET] = 0
    return 1


def can_find_extractor(memory: AgentMemory, agent: int) -> int:
    """Return YES if there is no extractor to go for."""
    return HAS_EXTRACTOR if has_target(memory, agent) else YES


def find_extractor(memory: AgentMemory, agent: int) -> int:
    """Return the move that explores by sectors, away from where team-mates search."""
    move = explore_move(memory, agent, BY_SECTOR)
    return move if move >= 0 else NO_PATH


def found_extractor(memory: AgentMemory, agent: int) -> int:
    """Return 1 once there is an extractor to go for."""
    return 1 if has_target(memory, agent) else 0
