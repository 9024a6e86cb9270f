"""Behaviors of aligners and scramblers: get hearts and influence, align and scramble junctions."""

from __future__ import annotations

from kinfolk.core.jit import inline
from kinfolk.policies.scripted.cogsguard import columns as col
from kinfolk.policies.scripted.cogsguard import exploration, pathfinding, primitives, targets
from kinfolk.policies.scripted.cogsguard.behaviors import reasons
from kinfolk.policies.scripted.cogsguard.behaviors.reasons import YES
from kinfolk.policies.scripted.cogsguard.memory import AgentMemory, is_in_friendly_area
from kinfolk.worlds.cogsguard import codes
from kinfolk.worlds.cogsguard.spec import SUCCEEDED_FACT

_FAILED_BUMPS = 3  # then the junction is given up for a while


@inline
def heart_source(memory: AgentMemory, agent: int) -> int:
    """Return the cell that gives hearts, the hub; 0 if unknown.

    A chest, which only drawn maps have, serves while the hub is not known.
    """
    hub, chest = memory.state[agent, col.HUB_CELL], memory.state[agent, col.CHEST_CELL]
    return int(hub if hub > 0 else chest)


def can_get_hearts(memory: AgentMemory, agent: int) -> int:
    """Start condition of `get_hearts`: return YES if the agent wants hearts and can get one.

    It must have fewer than `hearts_wanted`, know where hearts are given, and the store must be able
    to pay for one.
    """
    if memory.state[agent, codes.HEARTS] >= memory.state[agent, col.HEARTS_WANTED]:
        return reasons.ENOUGH_HEARTS
    if heart_source(memory, agent) == 0:
        return reasons.NO_HUB
    return YES if primitives.can_afford_heart(memory, agent) else reasons.STORE_EMPTY


def get_hearts(memory: AgentMemory, agent: int) -> int:
    """Action of `get_hearts`: return the move to the hub, then into it.

    A bump with cargo deposits it; the next one takes the heart.
    """
    cell = heart_source(memory, agent)
    if cell == 0:
        return reasons.NO_HUB
    move = primitives.move_to(memory, agent, cell, 0)
    return primitives.hold_near_goal(
        memory, agent, move, primitives.distance_to(memory, agent, cell)
    )


def should_stop_getting_hearts(memory: AgentMemory, agent: int) -> int:
    """Stop condition of `get_hearts`: return YES if it has enough or the store cannot pay."""
    if memory.state[agent, codes.HEARTS] >= memory.state[agent, col.HEARTS_WANTED]:
        return 1
    return int(not primitives.can_afford_heart(memory, agent))


@inline
def influence_needed(memory: AgentMemory, agent: int) -> int:
    """Return the influence needed to align the chosen junction.

    Influence falls by one per tick outside friendly areas, so the agent needs the ticks of travel
    and one more, but at least the price of aligning.
    """
    state = memory.state[agent]
    cell = int(state[col.ALIGN_TARGET])
    price = int(memory.rules[col.ALIGN_INFLUENCE])
    if cell == 0 or price == 0:
        return price
    if is_in_friendly_area(memory, agent, state[col.CELL]):
        steps, energy = state[col.TRAVEL_STEPS], primitives.energy_limit(memory, state[codes.GEAR])
    else:
        steps, energy = primitives.distance_to(memory, agent, cell) - 1, state[codes.ENERGY]
    ticks = primitives.travel_ticks(memory, agent, steps, energy)
    return max(price, ticks + 1)


def can_get_influence(memory: AgentMemory, agent: int) -> int:
    """Start condition of `get_influence`: return YES if the agent needs more to align its target.

    It must be able to get the aligner's gear. An edition without influence has no such need. A
    junction for which the influence of an aligner does not last on the way is given up for a while:
    the way is longer than it seemed, and another may be near.
    """
    state = memory.state[agent]
    if memory.rules[col.ALIGN_INFLUENCE] == 0:
        return reasons.NO_INFLUENCE_RULE
    if not primitives.can_obtain_gear(memory, agent, codes.ALIGNER, 0):
        return reasons.NO_GEAR
    limit = primitives.influence_limit(memory, codes.ALIGNER)
    cell = primitives.target_cell(memory, agent, targets.ALIGN)
    is_enough = state[codes.INFLUENCE] >= min(influence_needed(memory, agent), limit)
    is_on_the_way = cell > 0 and not is_in_friendly_area(memory, agent, state[col.CELL])
    if not is_enough and is_on_the_way and state[codes.GEAR] == codes.ALIGNER:
        targets.abandon_target(memory, agent, targets.ALIGN, memory.state[agent, col.RETRY_DELAY])
        cell = primitives.target_cell(memory, agent, targets.ALIGN)
        is_enough = cell > 0 and state[codes.INFLUENCE] >= influence_needed(memory, agent)
    return reasons.ENOUGH_INFLUENCE if is_enough else YES


def get_influence(memory: AgentMemory, agent: int) -> int:
    """Action of `get_influence`: return the move to the aligner's gear, then to a friendly area."""
    move = primitives.fetch_gear(memory, agent, codes.ALIGNER, 0)
    if move == -1:
        return reasons.NO_GEAR
    if move >= 0:
        return move
    move = primitives.go_home(memory, agent)
    return primitives.hold_near_goal(memory, agent, move, primitives.steps_home(memory, agent))


def should_stop_getting_influence(memory: AgentMemory, agent: int) -> int:
    """Stop condition of `get_influence`: return YES if an aligner is at its influence limit."""
    state, limit = memory.state[agent], primitives.influence_limit(memory, codes.ALIGNER)
    return int(state[codes.GEAR] == codes.ALIGNER and state[codes.INFLUENCE] >= limit)


@inline
def count_enemy_junctions(memory: AgentMemory, agent: int) -> int:
    """Return the number of known junctions of the clips and of other teams."""
    state, first = memory.state[agent], col.JUNCTION_COUNTS
    return int(state[first + codes.CLIPS] + state[first + codes.OTHER])


@inline
def approach_junction(memory: AgentMemory, agent: int, cell: int, purpose: int, flags: int) -> int:
    """Return the move to the chosen junction and into it, or NO_PATH if the junction is given up.

    It is given up without a path, or after some failed moves into it.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        cell: Cell of the junction.
        purpose: What it was chosen for, `targets.ALIGN` or `targets.SCRAMBLE`.
        flags: Flags of the path search, such as `pathfinding.AVOID_ENEMY`.
    """
    state = memory.state[agent]
    beside = primitives.distance_to(memory, agent, cell) == 1
    if beside and state[SUCCEEDED_FACT] == 0:
        state[col.BLOCKED] += 1
    move = primitives.move_to(memory, agent, cell, flags)
    if move < 0 or (beside and state[col.BLOCKED] > _FAILED_BUMPS):
        state[col.BLOCKED] = 0
        targets.abandon_target(memory, agent, purpose, memory.state[agent, col.RETRY_DELAY])
        return reasons.NO_PATH
    return move


def can_align_junction(memory: AgentMemory, agent: int) -> int:
    """Start condition of `align_junction`: return YES if the agent can go and align one.

    It needs a heart, a known junction that can be aligned, the aligner's gear or the means to get
    it, and, if it wears the gear, enough influence for the path.
    """
    state = memory.state[agent]
    if state[codes.HEARTS] < memory.rules[col.ALIGN_HEARTS]:
        return reasons.NO_HEART
    known = int(state[col.JUNCTION_COUNTS + codes.NOBODY])
    if memory.rules[col.EDITION_A] == 1:
        known += count_enemy_junctions(memory, agent)
    if known == 0 or primitives.target_cell(memory, agent, targets.ALIGN) == 0:
        return reasons.NO_ALIGNABLE_JUNCTION
    if not primitives.can_obtain_gear(memory, agent, codes.ALIGNER, 0):
        return reasons.NO_GEAR
    wears_gear = state[codes.GEAR] == codes.ALIGNER
    if wears_gear and state[codes.INFLUENCE] < influence_needed(memory, agent):
        return reasons.LITTLE_INFLUENCE
    return YES


def align_junction(memory: AgentMemory, agent: int) -> int:
    """Action of `align_junction`: return the move to the aligner's gear, then into the junction.

    The path leads around enemy areas. A junction for which the influence did not last is given up
    for a while.
    """
    move = primitives.fetch_gear(memory, agent, codes.ALIGNER, 0)
    if move == -1:
        return reasons.NO_GEAR
    if move >= 0:
        return move
    cell = primitives.target_cell(memory, agent, targets.ALIGN)
    if cell == 0:
        return reasons.NO_ALIGNABLE_JUNCTION
    if memory.state[agent, codes.INFLUENCE] < memory.rules[col.ALIGN_INFLUENCE]:
        # It ran out on the way, which was longer than it seemed: another junction may be nearer.
        targets.abandon_target(memory, agent, targets.ALIGN, memory.state[agent, col.RETRY_DELAY])
        return reasons.LITTLE_INFLUENCE
    return approach_junction(memory, agent, cell, targets.ALIGN, pathfinding.AVOID_ENEMY)


def should_stop_aligning(memory: AgentMemory, agent: int) -> int:
    """Stop condition of `align_junction`: return YES if the agent has no heart or no target."""
    if memory.state[agent, codes.HEARTS] == 0:
        return 1
    return int(primitives.target_cell(memory, agent, targets.ALIGN) == 0)


@inline
def knows_enemy(memory: AgentMemory, agent: int) -> bool:
    """Return whether the agent has an enemy junction as its target, and choose one if it can."""
    if count_enemy_junctions(memory, agent) == 0:
        return False
    return primitives.target_cell(memory, agent, targets.SCRAMBLE) > 0


def can_scramble(memory: AgentMemory, agent: int) -> int:
    """Start condition of `scramble_junction`: return YES if the agent can go and scramble one.

    It needs a heart, an enemy junction as its target, and the scrambler's gear or the means to
    get it.
    """
    if memory.state[agent, codes.HEARTS] < memory.rules[col.SCRAMBLE_HEARTS]:
        return reasons.NO_HEART
    if not knows_enemy(memory, agent):
        return reasons.NO_ENEMY
    return YES if primitives.can_obtain_gear(memory, agent, codes.SCRAMBLER, 0) else reasons.NO_GEAR


def scramble(memory: AgentMemory, agent: int) -> int:
    """Action of `scramble_junction`: return the move to the gear, then into the junction."""
    move = primitives.fetch_gear(memory, agent, codes.SCRAMBLER, 0)
    if move == -1:
        return reasons.NO_GEAR
    if move >= 0:
        return move
    cell = primitives.target_cell(memory, agent, targets.SCRAMBLE)
    if cell == 0:
        return reasons.NO_ENEMY
    return approach_junction(memory, agent, cell, targets.SCRAMBLE, 0)


def should_stop_scrambling(memory: AgentMemory, agent: int) -> int:
    """Stop condition of `scramble_junction`: return YES if the agent has no heart or no target."""
    return int(memory.state[agent, codes.HEARTS] == 0 or not knows_enemy(memory, agent))


def can_find_enemy(memory: AgentMemory, agent: int) -> int:
    """Start condition of `find_enemy_junction`: return YES if the agent has no enemy target."""
    return reasons.HAS_ENEMY if knows_enemy(memory, agent) else YES


def find_enemy(memory: AgentMemory, agent: int) -> int:
    """Action of `find_enemy_junction`: return the move that explores from the last enemy area."""
    return primitives.explore_move(memory, agent, exploration.ENEMIES)


def should_stop_finding_enemy(memory: AgentMemory, agent: int) -> int:
    """Stop condition of `find_enemy_junction`: return YES if the agent has an enemy target."""
    return int(knows_enemy(memory, agent))
