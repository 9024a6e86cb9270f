"""Policies written one agent at a time, in the shape that users of mettagrid know.

Write a class that makes an agent, and an agent that has `reset` and `step`; kinfolk plays it like
any other policy:

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

PolicyEnvInterface = WorldSpec  # what a policy may know before it plays


class AgentPolicy(Protocol):
    """Plays one agent."""

    def reset(self, seed: int = 0, episode: int = 0, uid: int = 0) -> None:
        """A life begins. The same three numbers give the same life."""
        ...

    def step(self, observation: Bytes) -> Any:
        """The action, one whole number per head, for one row of bytes."""
        ...


@dataclass(frozen=True)
class PolicySpec:
    """A policy by class path, file of weights and keyword arguments."""

    class_path: str
    data_path: str | Path | None = None
    init_kwargs: dict[str, Any] = field(default_factory=dict)

    def resolve(self) -> ResolvedPolicy:
        """The value that other processes get; the weights are read here."""
        weights = {} if self.data_path is None else {"weights": str(self.data_path)}
        return resolve_class(self.class_path, {**self.init_kwargs, **weights})


class MultiAgentPolicy:
    """Base of policies that are written per agent: override `agent_policy`.

    An agent keeps its own state, in itself, so what is not covered is a snapshot in the middle of
    an episode: use `memory` (see `kinfolk.policies.base`) where that is needed. In `reset` it gets
    as `seed` the key of the life that begins, which follows from the seed of the run, the episode
    and the uid; agents that draw from it alone give the same game each time.
    """

    def __init__(self, policy_env_info: PolicyEnvInterface) -> None:
        self.policy_env_info = policy_env_info
        self._agents: dict[int, AgentPolicy] = {}
        self._actions: Ints = np.zeros((0, policy_env_info.n_heads), dtype=np.int64)

    def agent_policy(self, agent_id: int) -> AgentPolicy:
        """The agent that plays row `agent_id`."""
        raise NotImplementedError(f"{type(self).__name__} has no agent_policy yet.")

    @property
    def memory_layout(self) -> MemoryLayout:
        """Nothing that the loop could keep: agents remember by themselves."""
        return {}

    def reset_agents(self, batch: AgentBatch, memory: Memory, keys: Ints) -> None:  # noqa: ARG002
        """Reset the agents whose lives start; make those that are not there yet."""
        for place, row, uid, key in zip(
            batch.memory_index, batch.row, batch.uid, keys, strict=True
        ):
            at = int(place)
            if at not in self._agents:
                self._agents[at] = self.agent_policy(int(row))
            self._agents[at].reset(seed=int(key), episode=0, uid=int(uid))

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:  # noqa: ARG002
        """Step every agent."""
        answers = [
            np.asarray(self._agents[int(place)].step(seen)).reshape(-1)
            for place, seen in zip(batch.memory_index, observations, strict=True)
        ]
        for answer in answers:
            if len(answer) != self.policy_env_info.n_heads or answer.dtype.kind not in "iu":
                raise ContractError(
                    f"{type(self).__name__} answered {answer.tolist()}; one whole number for each "
                    f"of {self.policy_env_info.n_heads} heads was asked for."
                )
        self._actions = np.array(answers, dtype=np.int64)

    def act_wait(self) -> Ints:
        """What the agents chose."""
        return self._actions

    def shutdown(self) -> None:
        """Let go of what is held outside this process; `close` calls it."""

    def close(self) -> None:
        """End."""
        self.shutdown()
