"""A recurrent net: memory is a torch tensor laid over the loop's array."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kinfolk.core.arrays import Arrays, Bytes, Ints
from kinfolk.core.optional_dependencies import optional_import
from kinfolk.core.random import POLICY_STREAM, fold_in, seed_key, uniform
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.base import AgentBatch, Memory, MemoryField, MemoryLayout
from kinfolk.policies.neural.batch_invariance import find_batching, require_invariant, run_batched
from kinfolk.policies.resolve import check_weights

with optional_import("A neural policy"):
    import torch

HIDDEN = 32


def draw_weights(seed: int, index: int, *shape: int) -> torch.Tensor:
    """Weights between -1/2 and 1/2, the same on every machine."""
    key = fold_in(fold_in(seed_key(seed), POLICY_STREAM), index)
    numbers = uniform(key, np.arange(int(np.prod(shape)), dtype=np.int64))
    return torch.from_numpy((numbers - 0.5).astype(np.float32)).reshape(shape)


def argmax_heads(scores: torch.Tensor, heads: Sequence[int]) -> Ints:
    """`[rows, heads]`: the highest-scored choice of each head; the first of equals."""
    parts = torch.split(scores, list(heads), dim=1)
    chosen: Ints = torch.stack([part.argmax(dim=1) for part in parts], dim=1).numpy()
    return chosen


class ProbeGruPolicy:
    """Reads its row of bytes, keeps a hidden state per life, takes the best-scored choices."""

    def __init__(self, spec: WorldSpec, seed: int = 0) -> None:
        torch.set_num_threads(1)
        self._spec = spec
        self._heads = [int(spec.n_choices[:, head].min()) for head in range(spec.n_heads)]
        self._inputs = spec.row_bytes
        self._cell = torch.nn.GRUCell(self._inputs, HIDDEN)
        self._out = torch.nn.Linear(HIDDEN, sum(self._heads))
        named = [*self._cell.named_parameters("cell"), *self._out.named_parameters("out")]
        self._weights = dict(named)
        self.load({n: draw_weights(seed, i, *p.shape).numpy() for i, (n, p) in enumerate(named)})
        self._batching = find_batching(self._forward, (self._inputs,), (HIDDEN,))
        require_invariant("probe-gru", self._batching)

    @property
    def memory_layout(self) -> MemoryLayout:
        """The hidden state."""
        return {"hidden": MemoryField((HIDDEN,), "float32")}

    def load(self, arrays: Arrays) -> None:
        """Take weights."""
        shapes = {name: weight.shape for name, weight in self._weights.items()}
        arrays = check_weights("probe-gru", self._spec, arrays, shapes)
        with torch.no_grad():
            for name, weight in self._weights.items():
                weight.copy_(torch.tensor(arrays[name]))

    def reset_agents(self, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """A child starts from the mean of its parents' states."""
        for place, parents in zip(batch.memory_index, batch.parent_memory_index, strict=True):
            known = parents[parents >= 0]
            if len(known):
                memory["hidden"][place] = memory["hidden"][known].mean(axis=0)

    @torch.no_grad()
    def _forward(self, x: torch.Tensor, hidden: torch.Tensor) -> tuple[torch.Tensor, ...]:
        hidden = self._cell(x, hidden)
        return self._out(hidden), hidden

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """One forward for all rows; the hidden state goes back in place."""
        x = torch.from_numpy(observations).float() / 64.0
        at = torch.from_numpy(batch.memory_index)
        states = torch.from_numpy(memory["hidden"])
        scores, states[at] = run_batched(self._batching, self._forward, x, states[at])
        noise = uniform(keys[:, None], np.arange(scores.shape[1], dtype=np.int64))
        scores = scores + torch.from_numpy(noise.astype(np.float32))
        self._actions = argmax_heads(scores, self._heads)

    def act_wait(self) -> Ints:
        """The choices."""
        return self._actions

    def close(self) -> None:
        """Nothing is held."""
