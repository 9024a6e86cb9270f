"""A population: every row is played by one member, each with weights of its own."""

from __future__ import annotations

import numpy as np
import torch

from kinfolk.core.arrays import Bytes, Ints
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.base import Cell, Memory, MemoryLayout, Rows
from kinfolk.policies.torch_rows import find_batching, require_invariant, run_batched
from kinfolk.testing.probe.policies.gru import best_choices, drawn


class Members:
    """`members` linear nets side by side. A child is played by its first parent's member."""

    def __init__(self, spec: WorldSpec, members: int = 4, seed: int = 0) -> None:
        torch.set_num_threads(1)
        self._heads = [int(spec.choices[:, head].min()) for head in range(spec.heads)]
        self._weights = drawn(seed, 7, members, spec.row_bytes, sum(self._heads))
        self._batching = find_batching(
            lambda x: self._forward(x, torch.zeros(len(x)).long()), (spec.row_bytes,)
        )
        require_invariant("probe-members", self._batching)

    @property
    def memory(self) -> MemoryLayout:
        """Which member plays the life."""
        return {"member": Cell((), "int64")}

    def begin(self, rows: Rows, memory: Memory, keys: Ints) -> None:
        """Founders are played by the member they were seated with, children by their parent's."""
        parent = rows.parent_places[:, 0]
        inherited = memory["member"][np.maximum(parent, 0)]
        seated = rows.member % len(self._weights)
        memory["member"][rows.place] = np.where(parent >= 0, inherited, seated)

    @torch.no_grad()
    def _forward(self, x: torch.Tensor, member: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (torch.bmm(x[:, None, :], self._weights[member])[:, 0],)

    def ask(self, observations: Bytes, rows: Rows, memory: Memory, keys: Ints) -> None:
        """One forward for all rows."""
        x = torch.from_numpy(observations).float() / 64.0
        member = torch.from_numpy(memory["member"][rows.place])
        (scores,) = run_batched(self._batching, self._forward, x, member)
        self._actions = best_choices(scores, self._heads)

    def answer(self) -> Ints:
        """The choices."""
        return self._actions

    def close(self) -> None:
        """Nothing is held."""
