"""Guards of tiers: what an agent may compare, and which behaviors are switched off in this tick.

A behavior whose guard does not hold is replaced in the program by its *disabled twin*, whose id is
larger by the number of behaviors: it cannot start, and an agent that runs it stops.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import allocation_free_kernel, inline
from kinfolk.policies.scripted.cogsguard import columns as col
from kinfolk.policies.scripted.cogsguard import primitives
from kinfolk.policies.scripted.cogsguard.adaptive_baseline import affordable_hearts
from kinfolk.policies.scripted.cogsguard.behaviors import reasons
from kinfolk.policies.scripted.cogsguard.memory import AgentMemory
from kinfolk.roles.execution import ExecutionState
from kinfolk.roles.model import MAX_BEHAVIORS, GuardFact
from kinfolk.worlds.cogsguard import codes

GUARD_FACTS = (
    GuardFact("night", 1, 1, "1 by night, 0 by day"),
    GuardFact("hearts", 1, 4, "hearts that the agent holds"),
    GuardFact("enemy_junctions", 1, 4, "junctions of the clips and of other teams that it knows"),
    GuardFact("neutral_junctions", 1, 4, "junctions of nobody that it knows"),
    GuardFact("own_junctions", 1, 8, "junctions of its team that it knows"),
    GuardFact("affordable_hearts", 1, 8, "hearts that the elements in the store can pay for"),
    GuardFact("hp", 10, 90, "its hp"),
    GuardFact("energy", 4, 20, "its energy"),
    GuardFact("cargo", 1, 40, "elements that it carries"),
    GuardFact("elapsed", 5, 95, "percent of the game that have passed"),
)
(
    _NIGHT, _HEARTS, _ENEMY_JUNCTIONS, _NEUTRAL_JUNCTIONS, _OWN_JUNCTIONS, _AFFORDABLE_HEARTS,
    _HP, _ENERGY, _CARGO, _ELAPSED,
) = range(len(GUARD_FACTS))  # fmt: skip


class GuardState(NamedTuple):
    """Guards of every agent's program, and how long each behavior acted."""

    guard: npt.NDArray[np.int16]  # [agents, 12], codes as in `RoleTables`
    threshold: npt.NDArray[np.int32]  # [agents, 12]
    acted: npt.NDArray[np.int32]  # [agents, behaviors], ticks


@inline
def read_fact(memory: AgentMemory, agent: int, fact: int) -> int:
    """Return the value of a fact of `GUARD_FACTS`.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        fact: Index of the fact.
    """
    state, rules, junctions = memory.state[agent], memory.rules, col.JUNCTION_COUNTS
    value = 0
    if fact == _NIGHT:
        is_day = state[col.TICK] % rules[col.DAY_PERIOD] < rules[col.DAY_LENGTH]
        value = 0 if is_day else 1
    elif fact == _HEARTS:
        value = state[codes.HEARTS]
    elif fact == _ENEMY_JUNCTIONS:
        value = state[junctions + codes.CLIPS] + state[junctions + codes.OTHER]
    elif fact == _NEUTRAL_JUNCTIONS:
        value = state[junctions + codes.NOBODY]
    elif fact == _OWN_JUNCTIONS:
        value = state[junctions + codes.OWN]
    elif fact == _AFFORDABLE_HEARTS:
        value = affordable_hearts(memory, agent)
    elif fact == _HP:
        value = state[codes.HP]
    elif fact == _ENERGY:
        value = state[codes.ENERGY]
    elif fact == _CARGO:
        value = primitives.cargo_size(memory, agent)
    elif fact == _ELAPSED:
        value = 100 * state[col.TICK] // max(1, rules[col.MAX_STEPS])
    return int(value)


@allocation_free_kernel
def apply_guards(
    memory: AgentMemory, execution: ExecutionState, guards: GuardState, agents: Ints
) -> None:
    """Count the behavior that acted in the last tick, and disable those whose guard does not hold.

    Args:
        memory: Memory of all agents; only read.
        execution: `program` is changed: the ids of disabled behaviors are those of their twins.
        guards: Guards are read; `acted` is counted up.
        agents: `[n]`, rows of the agents that act now.
    """
    n_behaviors = guards.acted.shape[1]
    for i in range(agents.shape[0]):
        agent = agents[i]
        active = execution.active[agent]
        if active > 0:
            guards.acted[agent, execution.program[agent, active - 1] % n_behaviors] += 1
        for k in range(MAX_BEHAVIORS):
            code = int(guards.guard[agent, k])
            if code == 0 or execution.program[agent, k] < 0:
                continue
            is_above = read_fact(memory, agent, (code - 1) // 2) >= guards.threshold[agent, k]
            holds = is_above == (code % 2 == 0)
            behavior = execution.program[agent, k] % n_behaviors
            execution.program[agent, k] = behavior if holds else behavior + n_behaviors


def is_disabled(_memory: AgentMemory, _agent: int) -> int:
    """Start condition and action of every disabled twin: return that the guard does not hold."""
    return reasons.GUARDED


def stop_disabled(_memory: AgentMemory, _agent: int) -> int:
    """Stop condition of every disabled twin: return YES, so that its agent scans anew."""
    return reasons.YES
