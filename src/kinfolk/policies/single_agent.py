"""Play one agent with a batched policy, as the agents of a `MultiAgentPolicy` are played."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kinfolk.core.arrays import Bytes, Ints
from kinfolk.core.errors import ContractError, require
from kinfolk.core.random import POLICY_STREAM, episode_key, fold_in
from kinfolk.core.spaces import AgentGroup, WorldSpec
from kinfolk.policies.base import (
    AgentBatch,
    Memory,
    MemoryLayout,
    Policy,
    allocate_memory,
    single_agent_batch,
)
from kinfolk.policies.build import build_policy
from kinfolk.policies.multi_agent import Action, MultiAgentPolicy, PolicyEnvInterface, PolicySpec
from kinfolk.policies.own_policies import register_policy
from kinfolk.worlds import build_world


def agent_key(seed: int, episode: int, uid: int) -> int:
    """Return the random key of an agent's life; its tick `t` uses `fold_in(key, t)`.

    Args:
        seed: Seed of the run.
        episode: Number of the episode.
        uid: The agent's uid in the episode.
    """
    return int(fold_in(fold_in(episode_key(seed, episode), POLICY_STREAM), uid))


class SingleAgentPolicy:
    """Plays one agent with a batched policy, with exactly the actions it would have in a batch.

    Not covered: the agent has no parents here, so it inherits nothing from them.

    Args:
        policy: The batched policy.
        spec: Spec of the world.
        group: Index of the agent's group in `WorldSpec.groups`.
        member: Member of the policy's population that plays it.
        agent_id: The agent's row in the world, which is what `MultiAgentPolicy.agent_policy` gets.
    """

    def __init__(
        self,
        policy: Policy,
        spec: WorldSpec,
        group: int = 0,
        member: int = 0,
        agent_id: int = 0,
    ) -> None:
        self._policy, self._spec, self._member = policy, spec, member
        self.group, self.agent_id = group, agent_id
        self._memory = allocate_memory(policy.memory_layout, 1)
        self.reset()

    def reset(self, seed: int = 0, episode: int = 0, uid: int = 0) -> None:
        """Reset memory and random key for a new life.

        Args:
            seed: Seed of the run.
            episode: Number of the episode.
            uid: The agent's uid in the episode.
        """
        key, batch = (
            agent_key(seed, episode, uid),
            single_agent_batch(uid, self.group, self._member),
        )
        batch = batch._replace(row=batch.row + self.agent_id)
        self._start_life(batch, np.array([key], dtype=np.int64))

    def _start_life(self, batch: AgentBatch, keys: Ints) -> None:
        """Clear the memory and reset the only agent of a batch."""
        for array in self._memory.values():
            array[...] = 0
        self._key, self._age, self._batch = int(keys[0]), 0, batch
        self._policy.reset_agents(batch, self._memory, keys)

    def step(self, observation: Any) -> Action:
        """Return the action, one integer per head, for one observation.

        Args:
            observation: The encoded row, `[bytes]` of uint8; or the fields of the agent's group by name,
                or the only field, as environments of `kf.pettingzoo` give them.
        """
        self.step_async(observation)
        return self.step_wait()

    def step_async(self, observation: Any) -> None:
        """Start to compute the action, which `step_wait` returns.

        Agents in processes of their own compute at the same time if `step_async` of all of them is
        called before the first `step_wait`.
        """
        key = np.array([fold_in(self._key, self._age)], dtype=np.int64)
        self._age += 1
        row = encode_observation(observation, self._spec, self._spec.groups[self.group])
        self._policy.act_async(row.reshape(1, -1), self._batch, self._memory, key)

    def step_wait(self) -> Action:
        """Return the action for the last `step_async`, one integer per head."""
        return Action(self._policy.act_wait()[0], self._spec.groups[self.group])


def encode_observation(observation: Any, spec: WorldSpec, group: AgentGroup) -> Bytes:
    """Return an observation as the row of bytes that policies take.

    Args:
        observation: The row itself, a table of the group's fields by name, or its only field.
        spec: Spec of the world.
        group: Group of the agent.

    Raises:
        ContractError: A field is missing, unknown or of another shape.
    """
    if not isinstance(observation, Mapping):
        array = np.asarray(observation)
        if array.dtype == np.uint8 and array.shape == (spec.row_bytes,):
            return np.ascontiguousarray(array)
        if len(group.fields) != 1:
            raise ContractError(
                f"An observation of a {group.name} is a row of {spec.row_bytes} bytes or a table of the "
                f"fields {', '.join(group.offsets)}, not an array of shape {array.shape}."
            )
        observation = {group.fields[0].name: array}
    row = np.zeros(spec.row_bytes, dtype=np.uint8)
    for name in {**dict.fromkeys(group.offsets), **observation}:
        if name not in observation:
            raise ContractError(f"The observation of a {group.name} has no field '{name}'.")
        target = group.read_field(row[None], name)[0]
        value = np.asarray(observation[name])
        if value.shape != target.shape:
            raise ContractError(
                f"Field '{name}' of a {group.name} has shape {target.shape}, not {value.shape}."
            )
        target[...] = value
    return row


class BatchedPolicyAgents(MultiAgentPolicy):
    """Gives a batched policy the interface of a `MultiAgentPolicy`; its agents share the policy.

    Args:
        policy_env_info: Spec of the world.
        policy: The batched policy.
    """

    def __init__(self, policy_env_info: PolicyEnvInterface, policy: Policy) -> None:
        super().__init__(policy_env_info)
        self.policy = policy

    def agent_policy(self, agent_id: int, group: int | str = 0) -> SingleAgentPolicy:
        """Return an agent that plays with the policy, with memory of its own.

        Args:
            agent_id: The agent's row in the world.
            group: Name of its group, or its index.
        """
        if isinstance(group, str):
            group = self.policy_env_info.group_index(group)
        return SingleAgentPolicy(self.policy, self.policy_env_info, group, agent_id=agent_id)

    @property
    def memory_layout(self) -> MemoryLayout:
        """The memory layout of the policy."""
        return self.policy.memory_layout

    def reset_agents(self, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Reset the memory of new agents of the policy."""
        self.policy.reset_agents(batch, memory, keys)

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Start the computation of the policy's actions."""
        self.policy.act_async(observations, batch, memory, keys)

    def act_wait(self) -> Ints:
        """Return the actions of the policy."""
        return self.policy.act_wait()

    def shutdown(self) -> None:
        """Release the resources of the policy."""
        self.policy.close()


def load_policy(policy: Any, world: Any) -> BatchedPolicyAgents:
    """Load a policy to call it from Python, one agent at a time.

    >>> policy = load_policy("kin://probe-python", "probe")
    >>> agent = policy.agent_policy(0, "grazer")
    >>> agent.step({"window": np.zeros((5, 3)), "body": np.ones(4)}).name
    'right'

    Args:
        policy: A URI, such as `kin://hunter` or `run:RUN/SLOT@best`, a `PolicySpec`, or a class, function,
            instance or torch module of your own.
        world: The world that it plays: its name, what `kf.make` or `kf.pettingzoo` returned, or a spec.

    Returns:
        The policy: `agent_policy(agent_id, group)` is an agent with `reset(seed, episode, uid)` and
        `step(observation)`, which returns an `Action`.

    Raises:
        UsageError: The policy or the world is unknown, or they do not fit.
    """
    if isinstance(world, str):
        spec = build_world(world, {}, 1).spec
    else:
        spec = getattr(getattr(world, "world", world), "spec", world)
    require(
        isinstance(spec, WorldSpec),
        f"A world is a name, or what kf.make or kf.pettingzoo returned, not {world!r}.",
    )
    if not isinstance(policy, str | PolicySpec):
        policy = register_policy(policy)
    named = PolicySpec(policy) if isinstance(policy, str) else policy
    return BatchedPolicyAgents(spec, build_policy(named.resolve(), spec))


def initialize_or_load_policy(
    policy_env_info: PolicyEnvInterface, policy_spec: PolicySpec
) -> MultiAgentPolicy:
    """Build a policy in this process, with its weights if it has any.

    Returns:
        The policy; a batched one is wrapped, so that it too has `agent_policy(agent_id)`.

    Raises:
        UsageError: The class cannot be imported, or does not accept the arguments or weights.
        PolicyFailedError: The class raised an exception of its own.
    """
    policy = build_policy(policy_spec.resolve(), policy_env_info)
    if isinstance(policy, MultiAgentPolicy):
        return policy
    return BatchedPolicyAgents(policy_env_info, policy)
