"""Behaviors of scramblers: find and scramble enemy junctions."""

from __future__ import annotations

from kinfolk.core.jit import inline
from kinfolk.policies.scripted.cogsguard.behaviors.explanations import (
    HAS_ENEMY,
    NO_ENEMY,
    NO_GEAR,
    NO_HEART,
    NO_PATH,
    YES,
)
from kinfolk.policies.scripted.cogsguard.exploration import ENEMIES
from kinfolk.policies.scripted.cogsguard.memory import BLOCKED, JUNCTION_COUNTS, AgentMemory
from kinfolk.policies.scripted.cogsguard.parameters import RETRY_DELAY, SCRAMBLE_HEARTS
from kinfolk.policies.scripted.cogsguard.requirements import can_obtain_gear
from kinfolk.policies.scripted.cogsguard.shared_kernels import (
    distance_to,
    explore_move,
    fetch_gear,
    move_to,
    target_cell,
)
from kinfolk.policies.scripted.cogsguard.targets import SCRAMBLE, abandon_target
from kinfolk.worlds.cogsguard.codes import CLIPS, HEARTS, OTHER, SCRAMBLER
from kinfolk.worlds.cogsguard.spec import SUCCEEDED_FACT

_FAILED_BUMPS = 3  # then the junction is given up for a while


@inline
def knows_enemy(memory: AgentMemory, agent: int) -> bool:
    """Return whether there is an enemy junction to go for."""
    known = (
        memory.state[agent, JUNCTION_COUNTS + CLIPS] + memory.state[agent, JUNCTION_COUNTS + OTHER]
        > 0
    )
    return bool(known and target_cell(memory, agent, SCRAMBLE) > 0)


def can_scramble(memory: AgentMemory, agent: int) -> int:
    """Return YES with a heart, an enemy junction to go for, and gear that can be obtained."""
    if memory.state[agent, HEARTS] < memory.rules[SCRAMBLE_HEARTS]:
        return NO_HEART
    if not knows_enemy(memory, agent):
        return NO_ENEMY
    return YES if can_obtain_gear(memory, agent, SCRAMBLER, 0) else NO_GEAR


def scramble(memory: AgentMemory, agent: int) -> int:
    """Return the move to the gear, then to the junction and into it."""
    state = memory.state
    move = fetch_gear(memory, agent, SCRAMBLER, 0)
    if move == -1:
        return NO_GEAR
    if move >= 0:
        return move
    cell = target_cell(memory, agent, SCRAMBLE)
    if cell == 0:
        return NO_ENEMY
    beside = distance_to(memory, agent, cell) == 1
    if beside and state[agent, SUCCEEDED_FACT] == 0:
        state[agent, BLOCKED] += 1
    move = move_to(memory, agent, cell, 0)
    if move < 0 or (beside and state[agent, BLOCKED] > _FAILED_BUMPS):
        state[agent, BLOCKED] = 0
        abandon_target(memory, agent, SCRAMBLE, memory.rules[RETRY_DELAY])
        return NO_PATH
    return move


def scrambled(memory: AgentMemory, agent: int) -> int:
    """Return 1 without hearts, or without an enemy junction to go for."""
    return 1 if memory.state[agent, HEARTS] == 0 or not knows_enemy(memory, agent) else 0


def can_find_enemy(memory: AgentMemory, agent: int) -> int:
    """Return YES if there is no enemy junction to go for."""
    return HAS_ENEMY if knows_enemy(memory, agent) else YES


def find_enemy(memory: AgentMemory, agent: int) -> int:
    """Return the move that explores outward from the enemy area seen last."""
    move = explore_move(memory, agent, ENEMIES)
    return move if move >= 0 else NO_PATH


def found_enemy(memory: AgentMemory, agent: int) -> int:
    """Return 1 once there is an enemy junction to go for."""
    return 1 if knows_enemy(memory, agent) else 0
