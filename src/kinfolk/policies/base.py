"""Define the contract of a policy: a batch of agents in, actions out, no hidden state.

What a policy remembers of an agent lies in `memory`: arrays with one row per agent slot, owned by the
episode loop and changed in place by the policy, only at the rows of the current batch. So a batch of
any size gives the same actions, and memory can be saved and restored.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np

from kinfolk.core.arrays import AnyArray, Bytes, Ints

Memory: TypeAlias = Mapping[str, AnyArray]


class MemoryField(NamedTuple):
    """Shape and dtype of one array that a policy keeps per agent."""

    shape: tuple[int, ...]  # of one agent's entry; () for a scalar
    dtype: str  # numpy name, such as "float32"


MemoryLayout: TypeAlias = Mapping[str, MemoryField]


class AgentBatch(NamedTuple):
    """Identity of every agent in a batch; all arrays are int64 and have one entry per agent."""

    memory_index: Ints  # the agent's row in the arrays of `memory`
    world: Ints  # index of its world in the batch of worlds
    row: Ints  # its row in that world
    uid: Ints  # unique within an episode, also across births
    group: Ints  # index into `WorldSpec.groups`
    member: Ints  # which member of the policy's population plays it; 0 unless assigned otherwise
    parents: Ints  # [n, 2] uids, -1 for none
    parent_memory_index: Ints  # [n, 2] rows of the parents' memory; -1: none, or of another policy


class Policy(Protocol):
    """Chooses actions for batches of agents.

    Randomness comes only from `keys`, one per agent: the draws for agent `i` follow from `keys[i]`
    alone.
    """

    @property
    def memory_layout(self) -> MemoryLayout:
        """Describe the arrays that the policy keeps per agent; empty if it is stateless."""
        ...

    def reset_agents(self, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Prepare the memory of agents whose lives start now.

        Args:
            batch: The new agents.
            memory: All memory of this policy; zero at the rows of the new agents, while the rows of
                their parents hold what the parents left there.
            keys: `[n]`, the random key of each agent's whole life.
        """
        ...

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Start to compute actions; `act_wait` returns them.

        The arrays belong to the caller and stay valid only until `act_wait` returns.

        Args:
            observations: `[n, spec.row_bytes]`, one encoded observation per agent.
            batch: The agents that act.
            memory: All memory of this policy, changed in place at `batch.memory_index`.
            keys: `[n]`, the random key of each agent for this tick.
        """
        ...

    def act_wait(self) -> Ints:
        """Return the actions for the last `act_async`, int64 `[n, heads]`."""
        ...

    def close(self) -> None:
        """Release resources outside this process; safe to call twice."""
        ...


def allocate_memory(layout: MemoryLayout, capacity: int) -> dict[str, AnyArray]:
    """Return zeroed arrays for `capacity` agents; pages that stay untouched cost no memory."""
    return {
        name: np.zeros((capacity, *entry.shape), dtype=entry.dtype)
        for name, entry in layout.items()
    }


def prefix_layout(policy_name: str, layout: MemoryLayout) -> dict[str, MemoryField]:
    """Return `layout` with every name prefixed, for a policy that contains other policies."""
    return {f"{policy_name}/{name}": entry for name, entry in layout.items()}


def select_memory(memory: Memory, policy_name: str) -> dict[str, AnyArray]:
    """Return the arrays (not copies) of a contained policy, under the names of its own layout."""
    prefix = f"{policy_name}/"
    return {
        name.removeprefix(prefix): array
        for name, array in memory.items()
        if name.startswith(prefix)
    }


def empty_batch() -> AgentBatch:
    """Return a batch without agents, with which a policy compiles the kernels it calls."""
    empty, pairs = np.zeros(0, dtype=np.int64), np.zeros((0, 2), dtype=np.int64)
    return AgentBatch(empty, empty, empty, empty, empty, empty, pairs, pairs)


def single_agent_batch(uid: int, group: int, member: int = 0) -> AgentBatch:
    """Return the batch of one agent that plays by itself.

    Args:
        uid: The agent's uid.
        group: Index of its group in `WorldSpec.groups`.
        member: Member of the policy's population that plays it.

    Returns:
        A batch of size 1 with memory row 0, world 0 and no parents.
    """
    zero = np.zeros(1, dtype=np.int64)
    no_parents = np.full((1, 2), -1, dtype=np.int64)
    return AgentBatch(
        zero, zero, zero, zero + uid, zero + group, zero + member, no_parents, no_parents
    )
