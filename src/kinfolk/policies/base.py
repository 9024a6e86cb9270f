"""The contract of a policy: a batch of rows in, actions out, no hidden state.

What a policy remembers of a life lies in `memory`: arrays with one entry per place of the batch,
owned by the loop that plays and changed in place by the policy, at the rows it was given and
nowhere else. So a batch of any size gives the same actions, and memory can be kept and restored.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np

from kinfolk.core.arrays import AnyArray, Bytes, Ints

Memory: TypeAlias = Mapping[str, AnyArray]


class MemoryField(NamedTuple):
    """The shape and type of one thing remembered per life."""

    shape: tuple[int, ...]
    dtype: str


MemoryLayout: TypeAlias = Mapping[str, MemoryField]


class AgentBatch(NamedTuple):
    """Who is asked: one entry per row of the batch."""

    memory_index: Ints  # index into memory
    world: Ints
    row: Ints
    uid: Ints
    group: Ints
    member: Ints  # which member of the policy's population plays; 0 unless seated otherwise
    parents: Ints  # [n, 2] uids, -1 for none
    parent_memory_index: (
        Ints  # [n, 2] where the parents' memory lies; -1: none, or another policy's
    )


class Policy(Protocol):
    """Something that plays rows.

    Chance comes only from `keys`, one per row: row `i`'s numbers follow from `keys[i]` alone.
    """

    @property
    def memory_layout(self) -> MemoryLayout:
        """What it remembers of each life. Empty for a policy that only reacts."""
        ...

    def reset_agents(self, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Lives that start now. Their memory is zero; that of their parents is as they left it."""
        ...

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Take a question; it may come back before the answer is there.

        The arrays are the caller's and hold until `answer` returns, no longer.
        """
        ...

    def act_wait(self) -> Ints:
        """The actions to the last question, `[n, heads]`."""
        ...

    def close(self) -> None:
        """Let go of whatever is held outside this process. May be called twice."""
        ...


def allocate_memory(layout: MemoryLayout, capacity: int) -> dict[str, AnyArray]:
    """Zeroed memory for `capacity` places. Pages nobody touches cost nothing."""
    return {
        name: np.zeros((capacity, *cell.shape), dtype=cell.dtype) for name, cell in layout.items()
    }


def prefix_layout(policy_name: str, layout: MemoryLayout) -> dict[str, MemoryField]:
    """The layout of a policy within another, its names apart from those of others."""
    return {f"{policy_name}/{own}": cell for own, cell in layout.items()}


def select_memory(memory: Memory, policy_name: str) -> dict[str, AnyArray]:
    """The memory of that policy: the same arrays, under the names it knows them by."""
    prefix = f"{policy_name}/"
    return {n.removeprefix(prefix): a for n, a in memory.items() if n.startswith(prefix)}


def empty_batch() -> AgentBatch:
    """A question about nobody, which compiles what a policy calls."""
    nobody, pairs = np.zeros(0, dtype=np.int64), np.zeros((0, 2), dtype=np.int64)
    return AgentBatch(nobody, nobody, nobody, nobody, nobody, nobody, pairs, pairs)


def single_agent_batch(uid: int, group: int, member: int = 0) -> AgentBatch:
    """The one row of a life that plays by itself: place 0, no parents."""

    def one(value: int) -> Ints:
        return np.array([value], dtype=np.int64)

    nobody = np.full((1, 2), -1, dtype=np.int64)
    return AgentBatch(one(0), one(0), one(0), one(uid), one(group), one(member), nobody, nobody)
