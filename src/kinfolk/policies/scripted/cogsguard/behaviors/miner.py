"""Behaviours of miners: mine, deposit, find extractors."""

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
from kinfolk.policies.scripted.cogsguard.exploration import SECTORS
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
    """Whether it can carry no more."""
    return cargo_size(memory, agent) >= cargo_limit(memory, memory.state[agent, GEAR])


@inline
def knows_extractor(memory: AgentMemory, agent: int) -> bool:
    """Whether some extractor with stock is known."""
    notes = memory.state
    known = notes[agent, EXTRACTOR_COUNTS] + notes[agent, EXTRACTOR_COUNTS + 1]
    return bool(known + notes[agent, EXTRACTOR_COUNTS + 2] + notes[agent, EXTRACTOR_COUNTS + 3] > 0)


@inline
def has_target(memory: AgentMemory, agent: int) -> bool:
    """Whether there is an extractor to go for."""
    return knows_extractor(memory, agent) and target_cell(memory, agent, MINE) > 0


def can_mine(memory: AgentMemory, agent: int) -> int:
    """With room in the cargo and an extractor known.

    An agent that carries something and could have gear goes for the gear with empty hands first
    only if that loses nothing: gear never stops it from starting.
    """
    if is_full(memory, agent) and not (
        memory.state[agent, GEAR] != MINER and can_obtain_gear(memory, agent, MINER, 0)
    ):
        return CARGO_FULL
    return YES if has_target(memory, agent) else NO_EXTRACTOR


def mine(memory: AgentMemory, agent: int) -> int:
    """Fetch miner's gear if it can be had, walk to the extractor and bump; else mine bare-handed."""
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
    """When the cargo is full or the extractor gone."""
    ended = (
        is_full(memory, agent)
        or memory.state[agent, MINE_TARGET] == 0
        or not has_target(memory, agent)
    )
    return 1 if ended else 0


def can_deposit(memory: AgentMemory, agent: int) -> int:
    """At full cargo, or carrying something when nothing is left to mine."""
    if cargo_size(memory, agent) == 0:
        return NOTHING_CARRIED
    if not is_full(memory, agent) and has_target(memory, agent):
        return NOT_FULL_YET
    return YES if target_cell(memory, agent, DEPOT) > 0 else NO_DEPOT


def deposit(memory: AgentMemory, agent: int) -> int:
    """Walk to the nearest hub or own junction and bump."""
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
    """When it carries nothing; then the next extractor is chosen anew."""
    if cargo_size(memory, agent) > 0:
        return 0
    memory.state[agent, MINE_TARGET] = 0
    return 1


def can_find_extractor(memory: AgentMemory, agent: int) -> int:
    """With no usable extractor known."""
    return HAS_EXTRACTOR if has_target(memory, agent) else YES


def find_extractor(memory: AgentMemory, agent: int) -> int:
    """Search by sectors, away from where others search."""
    move = explore_move(memory, agent, SECTORS)
    return move if move >= 0 else NO_PATH


def found_extractor(memory: AgentMemory, agent: int) -> int:
    """When one is known."""
    return 1 if has_target(memory, agent) else 0
