"""The smart baseline: an agent that changes among the seeded roles as the game asks.

Scout until the buildings are known; then by what the team lacks. A team has no way to agree, so
agents differ by habit: their number decides what they look at first.
"""

from __future__ import annotations

from kinfolk.core.arrays import AnyArray, Ints
from kinfolk.core.jit import allocation_free_kernel, inline
from kinfolk.policies.scripted.cogsguard.behaviors.scout import knows_buildings
from kinfolk.policies.scripted.cogsguard.memory import (
    CLOCK,
    JUNCTION_COUNTS,
    SMART_ROLE,
    SMART_ROLE_UNTIL,
    UID,
    AgentMemory,
)
from kinfolk.policies.scripted.cogsguard.parameters import HEART_PRICE
from kinfolk.policies.scripted.cogsguard.requirements import can_afford_heart
from kinfolk.roles.execution import ExecutionState
from kinfolk.worlds.cogsguard.codes import CLIPS, HEARTS, NOBODY, OTHER
from kinfolk.worlds.cogsguard.spec import STORE_FACT

SMART = -1  # in place of a role
_MINER, _SCOUT, _ALIGNER, _SCRAMBLER = range(4)  # the seeded roles, as in `catalog.ROLES`
_ROLE_TICKS = 40  # ticks that a calling is kept
_RICH_HEARTS = 4  # hearts' worth of elements: enough that fewer need to mine


@inline
def affordable_hearts(memory: AgentMemory, agent: int) -> int:
    """Hearts that the elements in the store would pay."""
    least = memory.state[agent, STORE_FACT]
    for element in range(1, 4):
        least = min(least, memory.state[agent, STORE_FACT + element])
    return int(least // max(1, memory.rules[HEART_PRICE]))


@inline
def choose_seeded_role(memory: AgentMemory, agent: int) -> int:
    """Which seeded role fits the game now."""
    notes, habit = memory.state, memory.state[agent, UID] % 8
    if not knows_buildings(memory, agent):
        return _SCOUT
    enemies = notes[agent, JUNCTION_COUNTS + CLIPS] + notes[agent, JUNCTION_COUNTS + OTHER]
    hearts = notes[agent, HEARTS] > 0 or can_afford_heart(memory, agent)
    rich = affordable_hearts(memory, agent) >= _RICH_HEARTS
    if habit == 0 or not hearts or (habit < 3 and not rich):
        return _MINER
    if enemies > 0 and (habit in (3, 4) or notes[agent, JUNCTION_COUNTS + NOBODY] == 0):
        return _SCRAMBLER
    if notes[agent, JUNCTION_COUNTS + NOBODY] > 0:
        return _ALIGNER
    return _SCOUT


@allocation_free_kernel
def update_smart_roles(
    memory: AgentMemory,
    execution: ExecutionState,
    agents: Ints,
    role: Ints,
    vibe: Ints,
    programs: AnyArray,
) -> None:
    """Let smart agents take on another role where the game asks for it."""
    for i in range(agents.shape[0]):
        at = agents[i]
        if role[at] != SMART or memory.state[at, CLOCK] < memory.state[at, SMART_ROLE_UNTIL]:
            continue
        memory.state[at, SMART_ROLE_UNTIL] = memory.state[at, CLOCK] + _ROLE_TICKS
        chosen = choose_seeded_role(memory, at)
        if chosen == _SCOUT and not knows_buildings(memory, at):
            memory.state[at, SMART_ROLE_UNTIL] = memory.state[at, CLOCK] + 1
        if memory.state[at, SMART_ROLE] != chosen + 1:
            memory.state[at, SMART_ROLE] = chosen + 1
            last = programs.shape[1] - 1
            for k in range(last):
                execution.program[at, k] = programs[chosen, k]
            execution.active[at] = 0
            execution.is_uninterruptible[at] = 0
            vibe[at] = programs[chosen, last]
