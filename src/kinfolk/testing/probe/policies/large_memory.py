"""A policy with 100 KB of memory per agent, of which a step changes a single byte."""

from __future__ import annotations

import numpy as np

from kinfolk.core.arrays import AnyArray, Bytes, Ints
from kinfolk.core.jit import kernel
from kinfolk.core.random import bits, randint
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.base import AgentBatch, Memory, MemoryField, MemoryLayout
from kinfolk.policies.stateless import StatelessPolicy

MAP_BYTES = 100 * 1024


class LargeMemoryPolicy(StatelessPolicy):
    """Writes a sum of its observation to a random cell of a map, and acts on another random cell.

    A child inherits one random cell of each parent's map.

    Args:
        spec: Spec of the world.
    """

    def __init__(self, spec: WorldSpec) -> None:
        self._n_choices = spec.n_choices

    @property
    def memory_layout(self) -> MemoryLayout:
        """Return the layout of the map."""
        return {"map": MemoryField((MAP_BYTES,), "uint8")}

    def reset_agents(self, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Copy one cell of each parent's map, plus 1, into the child's."""
        _inherit_map(batch.memory_index, batch.parent_memory_index, keys, memory["map"])

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Update the maps and choose actions from them."""
        self._actions = np.empty((len(keys), self._n_choices.shape[1]), dtype=np.int64)
        _update_map(
            observations,
            batch.memory_index,
            batch.group,
            keys,
            memory["map"],
            self._n_choices,
            self._actions,
        )


@kernel
def _inherit_map(index: Ints, parent_index: Ints, keys: Ints, maps: AnyArray) -> None:
    """Copy one random cell of each parent's map, plus 1.

    Args:
        index: `[batch]`, row of each child in `maps`.
        parent_index: `[batch, 2]`, rows of its parents, -1 for none.
        keys: `[batch]`, random keys.
        maps: `[rows, MAP_BYTES]`; the rows of the children are written.
    """
    for i in range(index.shape[0]):
        for side in range(2):
            parent = parent_index[i, side]
            if parent >= 0:
                cell = randint(keys[i], side, maps.shape[1])
                maps[index[i], cell] = (np.int64(maps[parent, cell]) + 1) % 256


@kernel
def _update_map(
    observations: Bytes,
    index: Ints,
    group: Ints,
    keys: Ints,
    maps: AnyArray,
    n_choices: Ints,
    out: Ints,
) -> None:
    """Write to one random cell of each map, and choose actions from another one.

    Args:
        observations: `[batch, bytes]`.
        index: `[batch]`, row of each agent in `maps`.
        group: `[batch]`, group of each agent.
        keys: `[batch]`, random keys.
        maps: `[rows, MAP_BYTES]`; the rows of the batch are written.
        n_choices: `[groups, heads]`, number of choices of each action head.
        out: `[batch, heads]`, actions to write.
    """
    for i in range(index.shape[0]):
        total = np.int64(0)
        for byte in range(observations.shape[1]):
            total += np.int64(observations[i, byte])
        # Only a hundred cells are used, so that what was written is read again later.
        written = randint(keys[i], 0, 100) * 1024
        maps[index[i], written] = (np.int64(maps[index[i], written]) + total + 1) % 256
        read = np.int64(maps[index[i], randint(keys[i], 1, 100) * 1024])
        for head in range(n_choices.shape[1]):
            out[i, head] = (bits(keys[i], 2 + head) + read) % n_choices[group[i], head]
