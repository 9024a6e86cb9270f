"""Behaviours of everybody: explore, recharge."""

from __future__ import annotations

from kinfolk.core.jit import inline
from kinfolk.policies.scripted.cogsguard.behaviors.explanations import (
    HOLD,
    NO_PATH,
    NO_RECHARGE_NEEDED,
    YES,
)
from kinfolk.policies.scripted.cogsguard.exploration import ANYWHERE
from kinfolk.policies.scripted.cogsguard.memory import CLOCK, LAST_FOUND, AgentMemory
from kinfolk.policies.scripted.cogsguard.parameters import COMMIT_DISTANCE, HOME_MARGIN, MOVE_COST
from kinfolk.policies.scripted.cogsguard.requirements import (
    energy_limit,
    hp_limit,
    solar_energy,
    travel_ticks,
)
from kinfolk.policies.scripted.cogsguard.shared_kernels import explore_move, go_home, steps_home
from kinfolk.worlds.cogsguard.codes import ENERGY, GEAR, HP


def can_explore(_memory: AgentMemory, _agent: int) -> int:
    """Always."""
    return YES


def explore(memory: AgentMemory, agent: int) -> int:
    """Towards the frontier of the known map; patrol when all is known."""
    move = explore_move(memory, agent, ANYWHERE)
    return move if move >= 0 else NO_PATH


def explored(memory: AgentMemory, agent: int) -> int:
    """On finding something new."""
    return 1 if memory.state[agent, LAST_FOUND] == memory.state[agent, CLOCK] else 0


@inline
def needs_recharge(memory: AgentMemory, agent: int) -> bool:
    """Whether hp or energy is below what the way home takes, plus a margin.

    An agent gets energy from the sun as it walks; what the way needs beyond that counts, but never
    more than half of what can be held: else nobody would ever leave home by night.
    """
    notes, steps = memory.state, steps_home(memory, agent)
    if steps == 0:
        return False
    if (
        notes[agent, HP]
        < travel_ticks(memory, agent, steps, notes[agent, ENERGY]) + memory.rules[HOME_MARGIN]
    ):
        return True
    net = max(0, memory.rules[MOVE_COST] - solar_energy(memory, agent))
    need = min(steps * net, energy_limit(memory, notes[agent, GEAR]) // 2)
    return bool(notes[agent, ENERGY] < need)


def can_recharge(memory: AgentMemory, agent: int) -> int:
    """With hp or energy below what the way home needs."""
    return YES if needs_recharge(memory, agent) else NO_RECHARGE_NEEDED


def recharge(memory: AgentMemory, agent: int) -> int:
    """Go to the nearest friendly area and wait."""
    move = go_home(memory, agent)
    if move < 0:
        return NO_PATH
    return move + HOLD if steps_home(memory, agent) <= memory.rules[COMMIT_DISTANCE] else move


def recharged(memory: AgentMemory, agent: int) -> int:
    """When full."""
    notes, gear = memory.state, memory.state[agent, GEAR]
    full = notes[agent, HP] >= hp_limit(memory, gear) and notes[agent, ENERGY] >= energy_limit(
        memory, gear
    )
    return 1 if full else 0
