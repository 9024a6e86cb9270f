"""Behaviors of aligners: get hearts, get influence, align junctions."""

from __future__ import annotations

from kinfolk.core.jit import inline
from kinfolk.policies.scripted.cogsguard.behaviors.explanations import (
    ENOUGH_HEARTS,
    ENOUGH_INFLUENCE,
    HOLD,
    LITTLE_INFLUENCE,
    NO_ALIGNABLE_JUNCTION,
    NO_CHEST,
    NO_GEAR,
    NO_HEART,
    NO_INFLUENCE_RULE,
    NO_PATH,
    STORE_EMPTY,
    YES,
)
from kinfolk.policies.scripted.cogsguard.memory import (
    ALIGN_TARGET,
    BLOCKED,
    CELL,
    CHEST_CELL,
    HUB_CELL,
    JUNCTION_COUNTS,
    TRAVEL_STEPS,
    AgentMemory,
    is_in_friendly_area,
)
from kinfolk.policies.scripted.cogsguard.parameters import (
    ALIGN_HEARTS,
    ALIGN_INFLUENCE,
    COMMIT_DISTANCE,
    EDITION_A,
    HEARTS_WANTED,
    RETRY_DELAY,
)
from kinfolk.policies.scripted.cogsguard.pathfinding import AVOID_ENEMY
from kinfolk.policies.scripted.cogsguard.requirements import (
    can_afford_heart,
    can_obtain_gear,
    energy_limit,
    influence_limit,
    travel_ticks,
)
from kinfolk.policies.scripted.cogsguard.shared_kernels import (
    distance_to,
    fetch_gear,
    go_home,
    move_to,
    steps_home,
    target_cell,
)
from kinfolk.policies.scripted.cogsguard.targets import ALIGN, abandon_target
from kinfolk.worlds.cogsguard.codes import (
    ALIGNER,
    CLIPS,
    ENERGY,
    GEAR,
    HEARTS,
    INFLUENCE,
    NOBODY,
    OTHER,
)
from kinfolk.worlds.cogsguard.spec import SUCCEEDED_FACT

_FAILED_BUMPS = 3  # then the junction is given up for a while


@inline
def heart_source(memory: AgentMemory, agent: int) -> int:
    """Return the cell that gives hearts: the chest, in edition A the hub; 0 if unknown."""
    return int(memory.state[agent, HUB_CELL if memory.rules[EDITION_A] == 1 else CHEST_CELL])


def can_get_hearts(memory: AgentMemory, agent: int) -> int:
    """Return YES with fewer hearts than wanted and a store that can pay for one."""
    if memory.state[agent, HEARTS] >= memory.rules[HEARTS_WANTED]:
        return ENOUGH_HEARTS
    if heart_source(memory, agent) == 0:
        return NO_CHEST
    return YES if can_afford_heart(memory, agent) else STORE_EMPTY


def get_hearts(memory: AgentMemory, agent: int) -> int:
    """Return the move to the chest, at last into it."""
    cell = heart_source(memory, agent)
    if cell == 0:
        return NO_CHEST
    move = move_to(memory, agent, cell, 0)
    if move < 0:
        return NO_PATH
    return (
        move + HOLD if distance_to(memory, agent, cell) <= memory.rules[COMMIT_DISTANCE] else move
    )


def got_hearts(memory: AgentMemory, agent: int) -> int:
    """Return 1 with enough hearts, or when the store can pay for no more."""
    ended = memory.state[agent, HEARTS] >= memory.rules[HEARTS_WANTED] or not can_afford_heart(
        memory, agent
    )
    return 1 if ended else 0


@inline
def influence_needed(memory: AgentMemory, agent: int) -> int:
    """Return the influence needed to align the chosen junction.

    Influence falls by one per tick outside friendly areas: the ticks of travel, and one more.
    """
    state = memory.state
    cell = int(state[agent, ALIGN_TARGET])
    price = int(memory.rules[ALIGN_INFLUENCE])
    if cell == 0 or price == 0:
        return price
    if is_in_friendly_area(memory, agent, state[agent, CELL]):
        ticks = travel_ticks(
            memory, agent, state[agent, TRAVEL_STEPS], energy_limit(memory, state[agent, GEAR])
        )
    else:
        ticks = travel_ticks(
            memory, agent, distance_to(memory, agent, cell) - 1, state[agent, ENERGY]
        )
    return max(price, ticks + 1)


def can_get_influence(memory: AgentMemory, agent: int) -> int:
    """Return YES with less influence than the chosen junction needs."""
    state = memory.state
    if memory.rules[ALIGN_INFLUENCE] == 0:
        return NO_INFLUENCE_RULE
    if not can_obtain_gear(memory, agent, ALIGNER, 0):
        return NO_GEAR
    limit = influence_limit(memory, ALIGNER)
    target_cell(memory, agent, ALIGN)
    if state[agent, INFLUENCE] >= min(influence_needed(memory, agent), limit):
        return ENOUGH_INFLUENCE
    return YES


def get_influence(memory: AgentMemory, agent: int) -> int:
    """Return the move to the aligner's gear, then to a friendly area, and wait there."""
    move = fetch_gear(memory, agent, ALIGNER, 0)
    if move == -1:
        return NO_GEAR
    if move < 0:
        move = go_home(memory, agent)
        if move >= 0 and steps_home(memory, agent) <= memory.rules[COMMIT_DISTANCE]:
            move += HOLD
    return move if move >= 0 else NO_PATH


def got_influence(memory: AgentMemory, agent: int) -> int:
    """Return 1 once an aligner holds the most influence it can."""
    gear = memory.state[agent, GEAR]
    full = gear == ALIGNER and memory.state[agent, INFLUENCE] >= influence_limit(memory, gear)
    return 1 if full else 0


def can_align_junction(memory: AgentMemory, agent: int) -> int:
    """Return YES with a heart, influence for the path, and a known junction that can be aligned."""
    state = memory.state
    if state[agent, HEARTS] < memory.rules[ALIGN_HEARTS]:
        return NO_HEART
    known = state[agent, JUNCTION_COUNTS + NOBODY]
    if memory.rules[EDITION_A] == 1:
        known += state[agent, JUNCTION_COUNTS + CLIPS] + state[agent, JUNCTION_COUNTS + OTHER]
    if known == 0 or target_cell(memory, agent, ALIGN) == 0:
        return NO_ALIGNABLE_JUNCTION
    if not can_obtain_gear(memory, agent, ALIGNER, 0):
        return NO_GEAR
    if state[agent, GEAR] == ALIGNER and state[agent, INFLUENCE] < influence_needed(memory, agent):
        return LITTLE_INFLUENCE
    return YES


def align_junction(memory: AgentMemory, agent: int) -> int:
    """Return the move to the gear, then around enemy areas to the chosen junction and into it."""
    state = memory.state
    move = fetch_gear(memory, agent, ALIGNER, 0)
    if move == -1:
        return NO_GEAR
    if move >= 0:
        return move
    cell = target_cell(memory, agent, ALIGN)
    if cell == 0:
        return NO_ALIGNABLE_JUNCTION
    if state[agent, INFLUENCE] < memory.rules[ALIGN_INFLUENCE]:
        return LITTLE_INFLUENCE
    beside = distance_to(memory, agent, cell) == 1
    if beside and state[agent, SUCCEEDED_FACT] == 0:
        state[agent, BLOCKED] += 1
    move = move_to(memory, agent, cell, AVOID_ENEMY)
    if move < 0 or (beside and state[agent, BLOCKED] > _FAILED_BUMPS):
        state[agent, BLOCKED] = 0
        abandon_target(memory, agent, ALIGN, memory.rules[RETRY_DELAY])
        return NO_PATH
    return move


def aligned(memory: AgentMemory, agent: int) -> int:
    """Return 1 without hearts, or without a junction to align."""
    return 1 if memory.state[agent, HEARTS] == 0 or target_cell(memory, agent, ALIGN) == 0 else 0
