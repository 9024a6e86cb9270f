"""Play ticks of CogsGuard with role policies in one kernel, without Python between the ticks.

The kernel plays one world after the other, each for all its ticks, so that the maps which its agents
remember stay in the cache of a core. It calls the kernels of the world and of the policy by address:
they are the ones that the episode loop calls, and are compiled once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from kinfolk.core.arrays import Bytes, Ints
from kinfolk.core.jit import allocation_free_kernel, call_kernel, get_kernel_address, inline
from kinfolk.core.random import fold_in
from kinfolk.core.settings import validate_settings
from kinfolk.policies.base import AgentAccounts, Memory
from kinfolk.policies.scripted.cogsguard.adaptive_baseline import SMART, update_smart_roles
from kinfolk.policies.scripted.cogsguard.guards import GuardState, apply_guards
from kinfolk.policies.scripted.cogsguard.memory import AgentMemory
from kinfolk.policies.scripted.cogsguard.perception import Float32s, Words, perceive
from kinfolk.roles import execution
from kinfolk.roles.execution import BehaviorTable, ExecutionState, ExecutionStep
from kinfolk.worlds.cogsguard.settings import Cogsguard
from kinfolk.worlds.cogsguard.step.calls import StepCalls, step_world
from kinfolk.worlds.cogsguard.world import CogsguardWorld

_PERCEIVE, _SMART, _GUARDS, _HOOKS = range(4)  # of `RoleCalls.addresses`


class RoleCalls(NamedTuple):
    """What the kernels of a role policy take, with their addresses."""

    addresses: Ints  # [4]
    memory: AgentMemory
    execution: ExecutionState
    guards: GuardState
    table: BehaviorTable
    words: Words  # [W, N, columns] observations viewed as words
    facts: Float32s  # [W, N, columns] the same, viewed as floats
    agents: Ints  # [W, N] rows of the agents in memory
    smart: Ints  # [W, N] those of smart agents, then anything
    n_smart: Ints  # [W]
    smart_programs: Ints
    vibe: Ints  # [W * N]
    keys: Ints  # [N] scratch
    cursor: Ints  # [N, CURSOR_COLUMNS] scratch, as the following
    answer: Ints  # [N]
    action: Ints  # [N]
    trace: npt.NDArray[np.int16]  # [0, MAX_BEHAVIORS] no explanations


@inline
def count_actions(accounts: AgentAccounts, roles: RoleCalls, w: int) -> None:
    """Count the actions of a world's agents, and draw their random keys of this tick.

    Args:
        accounts: Counters of the loop, written.
        roles: `keys` is written.
        w: World.
    """
    for i in range(roles.agents.shape[1]):
        agent = roles.agents[w, i]
        roles.keys[i] = fold_in(accounts.key[agent], accounts.n_steps[agent])
        accounts.n_steps[agent] += 1
        accounts.ticks_lived[w, accounts.slot] += 1
        accounts.group_ticks[w, accounts.group[agent]] += 1


@inline
def decide(roles: RoleCalls, actions: Ints, w: int) -> None:
    """Let the agents of a world perceive and choose their actions.

    Args:
        roles: The policy; memory is written.
        actions: `[W * N, 2]`, written.
        w: World.
    """
    addresses, memory, state = roles.addresses, roles.memory, roles.execution
    agents = roles.agents[w]
    arguments = (memory, roles.words[w], roles.facts[w], agents, roles.keys)
    call_kernel(addresses[_PERCEIVE], arguments)
    n_smart = roles.n_smart[w]
    if n_smart > 0:
        smart = roles.smart[w][:n_smart]
        call_kernel(addresses[_SMART], (memory, state, smart, roles.vibe, roles.smart_programs))
    call_kernel(addresses[_GUARDS], (memory, state, roles.guards, agents))
    step = ExecutionStep(agents, roles.cursor, roles.answer, roles.action, roles.trace)
    call_kernel(addresses[_HOOKS], (roles.table, state, memory, step, False))
    for i in range(agents.shape[0]):
        actions[agents[i], 0] = roles.action[i]
        actions[agents[i], 1] = roles.vibe[agents[i]]


@allocation_free_kernel
def play_ticks(
    game: StepCalls, roles: RoleCalls, accounts: AgentAccounts, worlds: Ints, n_ticks: int
) -> None:
    """Play ticks in some worlds, as the episode loop does it tick by tick.

    Args:
        game: The worlds; their state, observations and actions are written.
        roles: The policy; its memory is written.
        accounts: Counters of the loop, written.
        worlds: Worlds to play, which have agents in all their rows.
        n_ticks: Number of ticks, after which no world is beyond its end.
    """
    for i in range(worlds.shape[0]):
        w = worlds[i]
        for _ in range(n_ticks):
            count_actions(accounts, roles, w)
            decide(roles, game.actions, w)
            step_world(game, w)
            for k in range(roles.agents.shape[1]):
                agent = roles.agents[w, k]
                accounts.total_reward[agent] += accounts.reward[agent]
                accounts.returns[w, accounts.slot] += accounts.reward[agent]


class FusedRolePlayer:
    """Plays ticks of a batch of worlds with one role policy for all agents.

    Args:
        world: The batch of worlds.
        table: Behaviors of the policy, all of them compiled.
        agent_memory: The policy's memory, as kernels take it.
        memory: The same by name.
        smart_programs: Programs among which smart agents switch.
        observations: `[W * N, row_bytes]`, read and written.
        actions: `[W * N, 2]`, written.
    """

    def __init__(
        self,
        world: CogsguardWorld,
        table: BehaviorTable,
        agent_memory: AgentMemory,
        memory: Memory,
        smart_programs: Ints,
        observations: Bytes,
        actions: Ints,
    ) -> None:
        self._world, self._game = world, world.get_step_calls(actions, observations)
        self._has_addresses, self._role = False, memory["role"]
        shape = (world.n_worlds, world.spec.rows)
        columns = observations.reshape(*shape, -1)
        scratch = execution.new_step(np.zeros(shape[1], dtype=np.int64), explain=False)
        state = ExecutionState(memory["program"], memory["active"], memory["is_uninterruptible"])
        self._roles = RoleCalls(
            addresses=np.zeros(4, dtype=np.int64),
            memory=agent_memory,
            execution=state,
            guards=GuardState(memory["guard"], memory["threshold"], memory["acted"]),
            table=table,
            words=columns.view(np.uint16),
            facts=columns.view(np.float32),
            agents=np.arange(shape[0] * shape[1]).reshape(shape),
            smart=np.zeros(shape, dtype=np.int64),
            n_smart=np.zeros(shape[0], dtype=np.int64),
            smart_programs=smart_programs,
            vibe=memory["vibe"],
            keys=np.zeros(shape[1], dtype=np.int64),
            cursor=scratch.cursor,
            answer=scratch.answer,
            action=scratch.action,
            trace=scratch.trace,
        )

    def _find_addresses(self) -> None:
        """Write the addresses of all kernels, compiling what is not compiled yet."""
        r = self._roles
        step = ExecutionStep(r.agents[0], r.cursor, r.answer, r.action, r.trace)
        arguments: dict[Callable[..., Any], tuple[Any, ...]] = {
            perceive: (r.memory, r.words[0], r.facts[0], r.agents[0], r.keys),
            update_smart_roles: (r.memory, r.execution, r.agents[0], r.vibe, r.smart_programs),
            apply_guards: (r.memory, r.execution, r.guards, r.agents[0]),
            execution.run_compiled_hooks: (r.table, r.execution, r.memory, step, False),
        }
        addresses = [get_kernel_address(kernel, *given) for kernel, given in arguments.items()]
        r.addresses[:] = addresses
        self._world.find_step_addresses(self._game)
        self._has_addresses = True

    def compile(self) -> None:
        """Compile `play_ticks`, or load it from the cache, by playing no world."""
        ints, floats = np.zeros((2, 0, 1), dtype=np.int64), np.zeros((2, 0, 1))
        agents = (ints[0, :, 0].copy(), floats[0, :, 0].copy())
        accounts = AgentAccounts(
            agents[0], agents[0], agents[1], floats[0], ints[0], ints[1], agents[0], agents[1], 0
        )
        play_ticks(self._game, self._roles, accounts, agents[0], 0)

    def play(self, accounts: AgentAccounts, worlds: Ints, n_ticks: int) -> None:
        """Play ticks in some worlds; see `kinfolk.policies.base.FusedPlayer`."""
        if not self._has_addresses:
            self._find_addresses()
        is_smart = self._role.reshape(self._roles.agents.shape) == SMART
        self._roles.n_smart[:] = is_smart.sum(axis=1)
        for w in np.flatnonzero(self._roles.n_smart).tolist():
            smart = self._roles.agents[w, is_smart[w]]
            self._roles.smart[w, : len(smart)] = smart
        play_ticks(self._game, self._roles, accounts, worlds, n_ticks)


def compile_play_ticks(
    table: BehaviorTable, agent_memory: AgentMemory, memory: Memory, smart_programs: Ints
) -> None:
    """Compile `play_ticks`, or load it from the cache, with a world of one agent.

    Args:
        table: Behaviors of a policy.
        agent_memory: Memory of no agent, as kernels take it.
        memory: The same by name.
        smart_programs: Programs among which smart agents switch.
    """
    world = CogsguardWorld(validate_settings(Cogsguard, {"map_text": "H@", "agents": 1}))
    observations = np.zeros((1, world.spec.row_bytes), dtype=np.uint8)
    actions = np.zeros((1, 2), dtype=np.int64)
    FusedRolePlayer(
        world, table, agent_memory, memory, smart_programs, observations, actions
    ).compile()
