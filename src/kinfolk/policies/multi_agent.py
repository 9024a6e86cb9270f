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
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from kinfolk.core.arrays import Bytes, Ints
from kinfolk.core.errors import ContractError
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.base import AgentBatch, Memory, MemoryLayout
from kinfolk.policies.resolve import ResolvedPolicy, resolve_class

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
        ...

    def step(self, observation: Bytes) -> Any:
        """Return the action, one integer per action head, for one encoded observation."""
        ...


@dataclass(frozen=True)
class PolicySpec:
    """A policy named by class path, weights file and keyword arguments."""

    class_path: str  # package.module.Class or package.module:Class
    data_path: str | Path | None = None  # file of weights, passed to `load`
    init_kwargs: dict[str, Any] = field(default_factory=dict)

    def resolve(self) -> ResolvedPolicy:
        """Read the weights and return the value from which any process can build the policy."""
        weights = {} if self.data_path is None else {"weights": str(self.data_path)}
        return resolve_class(self.class_path, {**self.init_kwargs, **weights})


class MultiAgentPolicy:
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

    @property
    def memory_layout(self) -> MemoryLayout:
        """Return an empty layout: agents keep their state themselves."""
        return {}

    def reset_agents(self, batch: AgentBatch, memory: Memory, keys: Ints) -> None:  # noqa: ARG002
        """Reset the agents whose lives start, and make those that do not exist yet."""
        for index, row, uid, key in zip(
            batch.memory_index.tolist(), batch.row, batch.uid, keys, strict=True
        ):
            if index not in self._agents:
                self._agents[index] = self.agent_policy(int(row))
            self._agents[index].reset(seed=int(key), episode=0, uid=int(uid))

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:  # noqa: ARG002
        """Call `step` of every agent in the batch."""
        actions = [
            np.asarray(self._agents[int(index)].step(observation)).reshape(-1)
            for index, observation in zip(batch.memory_index, observations, strict=True)
        ]
        for action in actions:
            if len(action) != self.policy_env_info.n_heads or action.dtype.kind not in "iu":
                raise ContractError(
                    f"{type(self).__name__} returned {action.tolist()}; an action is one integer "
                    f"for each of {self.policy_env_info.n_heads} heads."
                )
        self._actions = np.array(actions, dtype=np.int64)

    def act_wait(self) -> Ints:
        """Return the actions that the agents chose."""
        return self._actions

    def shutdown(self) -> None:
        """Release resources outside this process; `close` calls it."""

    def close(self) -> None:
        """Call `shutdown`, the hook for subclasses."""
        self.shutdown()
