"""A population of linear policies: each agent acts with the weights of one member."""

from __future__ import annotations

import numpy as np

from kinfolk.core.arrays import Bytes, Ints
from kinfolk.core.optional_dependencies import optional_import
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.base import AgentBatch, Memory, MemoryField, MemoryLayout
from kinfolk.policies.neural.batch_invariance import find_batching, require_invariant, run_batched
from kinfolk.testing.probe.policies.gru import argmax_heads, draw_weights

with optional_import("A neural policy"):
    import torch


class PopulationPolicy:
    """A batch of linear policies; a child acts with the member of its first parent.

    Args:
        spec: Spec of the world.
        members: Size of the population.
        seed: Seed of the weights.
    """

    def __init__(self, spec: WorldSpec, members: int = 4, seed: int = 0) -> None:
        torch.set_num_threads(1)
        self._heads = [int(spec.n_choices[:, head].min()) for head in range(spec.n_heads)]
        self._weights = draw_weights(seed, 7, members, spec.row_bytes, sum(self._heads))
        self._batching = find_batching(
            lambda x: self._forward(x, torch.zeros(len(x)).long()), (spec.row_bytes,)
        )
        require_invariant("probe-population", self._batching)

    @property
    def memory_layout(self) -> MemoryLayout:
        """Return the layout of the number of an agent's member."""
        return {"member": MemoryField((), "int64")}

    def reset_agents(self, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Give founders the member they are assigned, and children that of their first parent."""
        parent = batch.parent_memory_index[:, 0]
        inherited = memory["member"][np.maximum(parent, 0)]
        assigned = batch.member % len(self._weights)
        memory["member"][batch.memory_index] = np.where(parent >= 0, inherited, assigned)

    @torch.no_grad()
    def _forward(self, x: torch.Tensor, member: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (torch.bmm(x[:, None, :], self._weights[member])[:, 0],)

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Run one forward pass for the batch."""
        x = torch.from_numpy(observations).float() / 64.0
        member = torch.from_numpy(memory["member"][batch.memory_index])
        (logits,) = run_batched(self._batching, self._forward, x, member)
        self._actions = argmax_heads(logits, self._heads)

    def act_wait(self) -> Ints:
        """Return the actions of the last batch."""
        return self._actions

    def close(self) -> None:
        """Do nothing: there is nothing to release."""
