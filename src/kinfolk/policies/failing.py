"""A policy that fails in the middle of a game, as those of others may."""

from __future__ import annotations

from kinfolk.core.arrays import Bytes, Ints
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.base import AgentBatch, Memory, MemoryField, MemoryLayout, NoopPolicy


class FailingPolicy(NoopPolicy):
    """Does nothing, and raises once one of its agents has acted `after` times.

    Args:
        spec: Spec of the world.
        after: Number of actions of an agent before the failure.
    """

    def __init__(self, spec: WorldSpec, after: int = 50) -> None:
        super().__init__(spec)
        self._after = after

    @property
    def memory_layout(self) -> MemoryLayout:
        """The number of actions of each agent."""
        return {"n_actions": MemoryField((), "int64")}

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Do nothing, or raise if an agent has acted often enough."""
        memory["n_actions"][batch.memory_index] += 1
        if (memory["n_actions"][batch.memory_index] > self._after).any():
            raise RuntimeError(f"This policy fails after {self._after} actions of an agent.")
        super().act_async(observations, batch, memory, keys)
