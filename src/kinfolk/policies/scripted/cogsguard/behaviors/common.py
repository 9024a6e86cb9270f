"""Behaviors of all roles: explore, recharge."""

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
    """Return YES: exploring is always possible."""
    return YES


def explore(memory: AgentMemory, agent: int) -> int:
    """Return the move towards a frontier of the known map, or of a patrol."""
    move = explore_move(memory, agent, ANYWHERE)
    return move if move >= 0 else NO_PATH


def explored(memory: AgentMemory, agent: int) -> int:
    """Return 1 in the tick in which an object was found."""
    return 1 if memory.state[agent, LAST_FOUND] == memory.state[agent, CLOCK] else 0


@inline
def needs_recharge(memory: AgentMemory, agent: int) -> bool:
    """Return whether hp or energy is below what the path home takes, plus a margin.

    An agent gains solar energy as it walks; what the path needs beyond that counts, but at most half
    of the energy limit: otherwise no agent would ever leave home by night.
    """
    state, steps = memory.state, steps_home(memory, agent)
    if steps == 0:
        return False
    if (
        state[agent, HP]
        < travel_ticks(memory, agent, steps, state[agent, ENERGY]) + memory.rules[HOME_MARGIN]
    ):
        return True
    net = max(0, memory.rules[MOVE_COST] - solar_energy(memory, agent))
    need = min(steps * net, energy_limit(memory, state[agent, GEAR]) // 2)
    return bool(state[agent, ENERGY] < need)


def can_recharge(memory: AgentMemory, agent: int) -> int:
    """Return YES if hp or energy may not suffice for the path home."""
    return YES if needs_recharge(memory, agent) else NO_RECHARGE_NEEDED


def recharge(memory: AgentMemory, agent: int) -> int:
    """Return the move to the nearest friendly area, then wait there."""
    move = go_home(memory, agent)
    if move < 0:
        return NO_PATH
    return move + HOLD if steps_home(memory, agent) <= memory.rules[COMMIT_DISTANCE] else move


def recharged(memory: AgentMemory, agent: int) -> int:
    """Return 1 once hp and energy are full."""
    state, gear = memory.state, memory.state[agent, GEAR]
    full = state[agent, HP] >= hp_limit(memory, gear) and state[agent, ENERGY] >= energy_limit(
        memory, gear
    )
    return 1 if full else 0
