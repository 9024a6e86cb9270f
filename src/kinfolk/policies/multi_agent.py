"""Write policies one agent at a time, with the interface that users of mettagrid know.

Write a class that makes agents, and an agent that has `reset` and `step`; kinfolk plays it like any
other policy:

    class Forager(MultiAgentPolicy):
        def agent_policy(self, agent_id):
            return ForagingAgent(self.policy_env_info, agent_id)

    class ForagingAgent(AgentPolicy):
        def reset(self, seed=0, episode=0, uid=0):
            self.random = random.Random(seed)
        def step(self, observation):
            return [self.random.randrange(5)]

`SingleAgentPolicy` is the other direction: it plays one agent with a batched policy.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from kinfolk.core.arrays import Bytes, Ints
from kinfolk.core.errors import ContractError
from kinfolk.core.imports import import_object
from kinfolk.core.random import POLICY_STREAM, episode_key, fold_in
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.base import (
    AgentBatch,
    Memory,
    Policy,
    StatelessPolicy,
    allocate_memory,
    single_agent_batch,
)
from kinfolk.policies.build import ResolvedPolicy

PolicyEnvInterface = WorldSpec  # what a policy may know of the world before it plays


class AgentPolicy(Protocol):
    """Plays one agent of a `MultiAgentPolicy`."""

    def reset(self, seed: int = 0, episode: int = 0, uid: int = 0) -> None:
        """Prepare for a new life; equal arguments must lead to equal actions.

        Args:
            seed: Random key of the life.
            episode: Number of the episode.
            uid: The agent's uid in the episode.
        """

    def step(self, observation: Bytes) -> Any:
        """Return the action, one integer per action head, for one encoded observation."""


@dataclass(frozen=True)
class PolicySpec:
    """A policy named by class path, weights file and keyword arguments."""

    class_path: str  # package.module.Class or package.module:Class
    data_path: str | Path | None = None  # file of weights, passed to `load`
    init_kwargs: dict[str, Any] = field(default_factory=dict)

    def resolve(self) -> ResolvedPolicy:
        """Read the weights and return the value from which any process can build the policy."""
        weights = {} if self.data_path is None else {"weights": str(self.data_path)}
        # Imported here: a policy derived from the classes of this file needs no URIs and files.
        resolve_class = import_object("kinfolk.policies.resolve:resolve_class")
        resolved: ResolvedPolicy = resolve_class(self.class_path, {**self.init_kwargs, **weights})
        return resolved


class MultiAgentPolicy(StatelessPolicy):
    """Base class of policies that are written per agent: override `agent_policy`.

    An agent keeps its state in itself, so a snapshot in the middle of an episode is not supported: use
    `memory` (see `kinfolk.policies.base`) where that is needed. `reset` gets as `seed` the random key
    of the life that begins, which follows from the seed of the run, the episode and the uid; agents
    that draw from it alone play the same episode each time.

    Args:
        policy_env_info: Observations, actions and public rules of the world.
    """

    def __init__(self, policy_env_info: PolicyEnvInterface) -> None:
        self.policy_env_info = policy_env_info
        self._agents: dict[int, AgentPolicy] = {}
        self._actions: Ints = np.zeros((0, policy_env_info.n_heads), dtype=np.int64)

    def agent_policy(self, agent_id: int) -> AgentPolicy:
        """Return the agent that plays row `agent_id` of a world."""
        raise NotImplementedError(f"{type(self).__name__} must define agent_policy(agent_id).")

    def reset_agents(self, batch: AgentBatch, memory: Memory, keys: Ints) -> None:  # noqa: ARG002
        """Reset the agents whose lives start, and make those that do not exist yet."""
        for i, index in enumerate(batch.memory_index.tolist()):
            if index not in self._agents:
                self._agents[index] = self.agent_policy(int(batch.row[i]))
            self._agents[index].reset(seed=int(keys[i]), episode=0, uid=int(batch.uid[i]))

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:  # noqa: ARG002
        """Call `step` of every agent in the batch."""
        n_heads, actions = self.policy_env_info.n_heads, []
        for index, observation in zip(batch.memory_index.tolist(), observations, strict=True):
            action = np.asarray(self._agents[index].step(observation)).reshape(-1)
            if len(action) != n_heads or action.dtype.kind not in "iu":
                raise ContractError(
                    f"{type(self).__name__} returned {action.tolist()}; an action is one integer "
                    f"for each of {n_heads} heads."
                )
            actions.append(action)
        self._actions = np.array(actions, dtype=np.int64)

    def shutdown(self) -> None:
        """Release resources outside this process; `close` calls it."""

    def close(self) -> None:
        """Call `shutdown`, the hook for subclasses."""
        self.shutdown()


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
        group: Index of the agent's group in `WorldSpec.groups`.
        member: Member of the policy's population that plays it.
    """

    def __init__(self, policy: Policy, group: int = 0, member: int = 0) -> None:
        self._policy, self._group, self._member = policy, group, member
        self._memory = allocate_memory(policy.memory_layout, 1)
        self.reset(0, 0, 0)

    def reset(self, seed: int = 0, episode: int = 0, uid: int = 0) -> None:
        """Reset memory and random key for a new life.

        Args:
            seed: Seed of the run.
            episode: Number of the episode.
            uid: The agent's uid in the episode.
        """
        for array in self._memory.values():
            array[...] = 0
        self._key, self._age = agent_key(seed, episode, uid), 0
        self._batch = single_agent_batch(uid, self._group, self._member)
        self._policy.reset_agents(self._batch, self._memory, np.array([self._key], dtype=np.int64))

    def step(self, observation: Bytes) -> Ints:
        """Return the action, one integer per head, for one encoded observation."""
        key = np.array([fold_in(self._key, self._age)], dtype=np.int64)
        self._age += 1
        observations = np.ascontiguousarray(observation, dtype=np.uint8).reshape(1, -1)
        self._policy.act_async(observations, self._batch, self._memory, key)
        actions: Ints = self._policy.act_wait()[0]
        return actions
