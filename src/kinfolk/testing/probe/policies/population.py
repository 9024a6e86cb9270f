"""A population: every row is played by one member, each with weights of its own."""

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
    """`members` linear nets side by side. A child is played by its first parent's member."""

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
        """Which member plays the life."""
        return {"member": MemoryField((), "int64")}

    def reset_agents(self, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Founders are played by the member they were seated with, children by their parent's."""
        parent = batch.parent_memory_index[:, 0]
        inherited = memory["member"][np.maximum(parent, 0)]
        seated = batch.member % len(self._weights)
        memory["member"][batch.memory_index] = np.where(parent >= 0, inherited, seated)

    @torch.no_grad()
    def _forward(self, x: torch.Tensor, member: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (torch.bmm(x[:, None, :], self._weights[member])[:, 0],)

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """One forward for all rows."""
        x = torch.from_numpy(observations).float() / 64.0
        member = torch.from_numpy(memory["member"][batch.memory_index])
        (scores,) = run_batched(self._batching, self._forward, x, member)
        self._actions = argmax_heads(scores, self._heads)

    def act_wait(self) -> Ints:
        """The choices."""
        return self._actions

    def close(self) -> None:
        """Nothing is held."""
