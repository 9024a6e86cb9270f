"""Policies of the probe world in torch: a GRU network, and a population of linear policies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kinfolk.core.arrays import Arrays, Bytes, Ints
from kinfolk.core.imports import optional_import
from kinfolk.core.random import POLICY_STREAM, fold_in, seed_key, uniform
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.base import AgentBatch, Memory, MemoryField, MemoryLayout, StatelessPolicy
from kinfolk.policies.build import check_weights
from kinfolk.policies.neural.batch_invariance import find_batching, require_invariant, run_batched

with optional_import("A neural policy"):
    import torch

HIDDEN_SIZE = 32


def draw_weights(seed: int, index: int, *shape: int) -> torch.Tensor:
    """Return uniform weights between -1/2 and 1/2, the same on every machine.

    Args:
        seed: Seed of the network.
        index: Number of the tensor, so that no two get the same weights.
        shape: Its shape.
    """
    key = fold_in(fold_in(seed_key(seed), POLICY_STREAM), index)
    numbers = uniform(key, np.arange(int(np.prod(shape)), dtype=np.int64))
    return torch.from_numpy((numbers - 0.5).astype(np.float32)).reshape(shape)


def argmax_heads(logits: torch.Tensor, head_sizes: Sequence[int]) -> Ints:
    """Return the choice with the highest logit of each action head, `[rows, heads]`."""
    per_head = torch.split(logits, list(head_sizes), dim=1)
    actions: Ints = torch.stack([head.argmax(dim=1) for head in per_head], dim=1).numpy()
    return actions


class ProbeGruPolicy(StatelessPolicy):
    """A GRU over the bytes of an observation that takes the action with the highest noisy logit.

    Args:
        spec: Spec of the world.
        seed: Seed of the initial weights.
    """

    def __init__(self, spec: WorldSpec, seed: int = 0) -> None:
        torch.set_num_threads(1)
        self._spec = spec
        self._heads = [int(spec.n_choices[:, head].min()) for head in range(spec.n_heads)]
        self._inputs = spec.row_bytes
        self._cell = torch.nn.GRUCell(self._inputs, HIDDEN_SIZE)
        self._out = torch.nn.Linear(HIDDEN_SIZE, sum(self._heads))
        named = [*self._cell.named_parameters("cell"), *self._out.named_parameters("out")]
        self._weights = dict(named)
        self.load({n: draw_weights(seed, i, *p.shape).numpy() for i, (n, p) in enumerate(named)})
        self._batching = find_batching(self._forward, (self._inputs,), (HIDDEN_SIZE,))
        require_invariant("probe-gru", self._batching)

    @property
    def memory_layout(self) -> MemoryLayout:
        """Memory layout of the hidden state."""
        return {"hidden": MemoryField((HIDDEN_SIZE,), "float32")}

    def load(self, arrays: Arrays) -> None:
        """Load the weights of both layers by name."""
        shapes = {name: weight.shape for name, weight in self._weights.items()}
        arrays = check_weights("probe-gru", self._spec, arrays, shapes)
        with torch.no_grad():
            for name, weight in self._weights.items():
                weight.copy_(torch.tensor(arrays[name]))

    def reset_agents(self, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Start children with the mean hidden state of their parents."""
        for index, parents in zip(batch.memory_index, batch.parent_memory_index, strict=True):
            known = parents[parents >= 0]
            if len(known):
                memory["hidden"][index] = memory["hidden"][known].mean(axis=0)

    @torch.no_grad()
    def _forward(self, x: torch.Tensor, hidden: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Return the logits `[rows, logits]` and the next hidden states `[rows, hidden]`."""
        hidden = self._cell(x, hidden)
        return self._out(hidden), hidden

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Run one forward pass for the batch and update the hidden states in place."""
        x = torch.from_numpy(observations).float() / 64.0
        index = torch.from_numpy(batch.memory_index)
        states = torch.from_numpy(memory["hidden"])
        logits, states[index] = run_batched(self._batching, self._forward, x, states[index])
        noise = uniform(keys[:, None], np.arange(logits.shape[1], dtype=np.int64))
        logits = logits + torch.from_numpy(noise.astype(np.float32))
        self._actions = argmax_heads(logits, self._heads)


with optional_import("A neural policy"):
    import torch


class PopulationPolicy(StatelessPolicy):
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
        """Memory layout of the member number of an agent."""
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
