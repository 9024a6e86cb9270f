"""The adaptive baseline: a "smart" agent switches among the seeded roles as the game requires.

It scouts until the buildings are known, then chooses by what the team lacks. Agents of a team cannot
communicate, so their preferences differ by uid.
"""

from __future__ import annotations

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import allocation_free_kernel, inline
from kinfolk.policies.scripted.cogsguard import columns as col
from kinfolk.policies.scripted.cogsguard.behaviors.foraging import knows_buildings
from kinfolk.policies.scripted.cogsguard.memory import AgentMemory
from kinfolk.policies.scripted.cogsguard.primitives import can_afford_heart
from kinfolk.roles.execution import ExecutionState
from kinfolk.worlds.cogsguard import codes
from kinfolk.worlds.cogsguard.spec import STORE_FACT

SMART = -1  # role id of a smart agent
_MINER, _SCOUT, _ALIGNER, _SCRAMBLER = range(4)  # in the order of `catalog.SEEDED_ROLES`
_ROLE_TICKS = 40  # ticks before the role is chosen again
_RICH_HEARTS = 4  # hearts that the store can pay for, from which on fewer agents mine


@inline
def affordable_hearts(memory: AgentMemory, agent: int) -> int:
    """Return the number of hearts that the elements in the store can pay for."""
    state = memory.state[agent]
    least = state[STORE_FACT]
    for element in range(1, 4):
        least = min(least, state[STORE_FACT + element])
    return int(least // max(1, memory.rules[col.HEART_PRICE]))


@inline
def choose_seeded_role(memory: AgentMemory, agent: int) -> int:
    """Return the index of the seeded role that fits the game now, by the agent's memory and uid."""
    state, preference = memory.state[agent], memory.state[agent, col.UID] % 8
    if not knows_buildings(memory, agent):
        return _SCOUT
    enemies = state[col.JUNCTION_COUNTS + codes.CLIPS] + state[col.JUNCTION_COUNTS + codes.OTHER]
    hearts = state[codes.HEARTS] > 0 or can_afford_heart(memory, agent)
    rich = affordable_hearts(memory, agent) >= _RICH_HEARTS
    if preference == 0 or not hearts or (preference < 3 and not rich):
        return _MINER
    if enemies > 0 and (preference in (3, 4) or state[col.JUNCTION_COUNTS + codes.NOBODY] == 0):
        return _SCRAMBLER
    if state[col.JUNCTION_COUNTS + codes.NOBODY] > 0:
        return _ALIGNER
    return _SCOUT


@allocation_free_kernel
def update_smart_roles(
    memory: AgentMemory, execution: ExecutionState, agents: Ints, vibe: Ints, programs: Ints
) -> None:
    """Choose the roles of smart agents again, and replace the programs of those that switch.

    Args:
        memory: Memory of all agents; SMART_ROLE and SMART_ROLE_UNTIL are updated.
        execution: Programs of all agents and where they are in them, changed on a switch.
        agents: `[n]`, the smart agents' rows in memory.
        vibe: `[capacity]`, vibe of every agent, changed on a switch.
        programs: `[4, MAX_BEHAVIORS + 1]`, program and vibe of each seeded role.
    """
    for i in range(agents.shape[0]):
        agent = agents[i]
        state = memory.state[agent]
        if state[col.CLOCK] < state[col.SMART_ROLE_UNTIL]:
            continue
        state[col.SMART_ROLE_UNTIL] = state[col.CLOCK] + _ROLE_TICKS
        chosen = choose_seeded_role(memory, agent)
        if chosen == _SCOUT and not knows_buildings(memory, agent):
            state[col.SMART_ROLE_UNTIL] = state[col.CLOCK] + 1
        if state[col.SMART_ROLE] != chosen + 1:
            state[col.SMART_ROLE] = chosen + 1
            last = programs.shape[1] - 1
            for k in range(last):
                execution.program[agent, k] = programs[chosen, k]
            execution.active[agent] = 0
            execution.is_uninterruptible[agent] = 0
            vibe[agent] = programs[chosen, last]
