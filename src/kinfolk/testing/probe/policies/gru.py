"""A recurrent net: memory is a torch tensor laid over the loop's array."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from kinfolk.core.arrays import Arrays, Bytes, Ints
from kinfolk.core.keys import POLICY_BRANCH, fold, root, uniform
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.base import Cell, Memory, MemoryLayout, Rows
from kinfolk.policies.resolve import fitting
from kinfolk.policies.torch_rows import find_batching, require_invariant, run_batched

HIDDEN = 32


def drawn(seed: int, index: int, *shape: int) -> torch.Tensor:
    """Weights between -1/2 and 1/2, the same on every machine."""
    key = fold(fold(root(seed), POLICY_BRANCH), index)
    numbers = uniform(key, np.arange(int(np.prod(shape)), dtype=np.int64))
    return torch.from_numpy((numbers - 0.5).astype(np.float32)).reshape(shape)


def best_choices(scores: torch.Tensor, heads: Sequence[int]) -> Ints:
    """`[rows, heads]`: the highest-scored choice of each head; the first of equals."""
    parts = torch.split(scores, list(heads), dim=1)
    chosen: Ints = torch.stack([part.argmax(dim=1) for part in parts], dim=1).numpy()
    return chosen


class Gru:
    """Reads its row of bytes, keeps a hidden state per life, takes the best-scored choices."""

    def __init__(self, spec: WorldSpec, seed: int = 0) -> None:
        torch.set_num_threads(1)
        self._spec = spec
        self._heads = [int(spec.choices[:, head].min()) for head in range(spec.heads)]
        self._inputs = spec.row_bytes
        self._cell = torch.nn.GRUCell(self._inputs, HIDDEN)
        self._out = torch.nn.Linear(HIDDEN, sum(self._heads))
        named = [*self._cell.named_parameters("cell"), *self._out.named_parameters("out")]
        self._weights = dict(named)
        self.load({n: drawn(seed, i, *p.shape).numpy() for i, (n, p) in enumerate(named)})
        self._batching = find_batching(self._forward, (self._inputs,), (HIDDEN,))
        require_invariant("probe-gru", self._batching)

    @property
    def memory(self) -> MemoryLayout:
        """The hidden state."""
        return {"hidden": Cell((HIDDEN,), "float32")}

    def load(self, arrays: Arrays) -> None:
        """Take weights."""
        shapes = {name: weight.shape for name, weight in self._weights.items()}
        arrays = fitting("probe-gru", self._spec, arrays, shapes)
        with torch.no_grad():
            for name, weight in self._weights.items():
                weight.copy_(torch.tensor(arrays[name]))

    def begin(self, rows: Rows, memory: Memory, keys: Ints) -> None:
        """A child starts from the mean of its parents' states."""
        for place, parents in zip(rows.place, rows.parent_places, strict=True):
            known = parents[parents >= 0]
            if len(known):
                memory["hidden"][place] = memory["hidden"][known].mean(axis=0)

    @torch.no_grad()
    def _forward(self, x: torch.Tensor, hidden: torch.Tensor) -> tuple[torch.Tensor, ...]:
        hidden = self._cell(x, hidden)
        return self._out(hidden), hidden

    def ask(self, observations: Bytes, rows: Rows, memory: Memory, keys: Ints) -> None:
        """One forward for all rows; the hidden state goes back in place."""
        x = torch.from_numpy(observations).float() / 64.0
        at = torch.from_numpy(rows.place)
        states = torch.from_numpy(memory["hidden"])
        scores, states[at] = run_batched(self._batching, self._forward, x, states[at])
        noise = uniform(keys[:, None], np.arange(scores.shape[1], dtype=np.int64))
        scores = scores + torch.from_numpy(noise.astype(np.float32))
        self._actions = best_choices(scores, self._heads)

    def answer(self) -> Ints:
        """The choices."""
        return self._actions

    def close(self) -> None:
        """Nothing is held."""
