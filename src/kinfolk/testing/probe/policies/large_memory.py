"""100 KB of memory per agent: what a known map costs, changed in place at a few cells."""

from __future__ import annotations

import numpy as np

from kinfolk.core.arrays import AnyArray, Bytes, Ints
from kinfolk.core.jit import kernel
from kinfolk.core.random import bits, randint
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.base import AgentBatch, Memory, MemoryField, MemoryLayout
from kinfolk.policies.stateless import StatelessPolicy

CELLS = 100 * 1024


class LargeMemoryPolicy(StatelessPolicy):
    """Writes what it sees at a drawn place of a large map, reads another, and acts on it.

    A child starts with a cell of each parent's map in its own.
    """

    def __init__(self, spec: WorldSpec) -> None:
        self._choices = spec.n_choices

    @property
    def memory_layout(self) -> MemoryLayout:
        """A map of 100 KB."""
        return {"map": MemoryField((CELLS,), "uint8")}

    def reset_agents(self, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Take over one cell from each parent."""
        _inherit_map(batch.memory_index, batch.parent_memory_index, keys, memory["map"])

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Change a few cells of the map and act on one of them."""
        self._actions = np.empty((len(keys), self._choices.shape[1]), dtype=np.int64)
        _update_map(
            observations,
            batch.memory_index,
            batch.group,
            keys,
            memory["map"],
            self._choices,
            self._actions,
        )


@kernel
def _inherit_map(place: Ints, parent_places: Ints, keys: Ints, maps: AnyArray) -> None:
    for i in range(place.shape[0]):
        for side in range(2):
            parent = parent_places[i, side]
            if parent >= 0:
                cell = randint(keys[i], side, maps.shape[1])
                maps[place[i], cell] = (np.int64(maps[parent, cell]) + 1) % 256


@kernel
def _update_map(
    seen: Bytes, place: Ints, group: Ints, keys: Ints, maps: AnyArray, choices: Ints, out: Ints
) -> None:
    for i in range(place.shape[0]):
        total = np.int64(0)
        for byte in range(seen.shape[1]):
            total += np.int64(seen[i, byte])
        # A hundred cells only, so that what was written is read again later.
        written = randint(keys[i], 0, 100) * 1024
        maps[place[i], written] = (np.int64(maps[place[i], written]) + total + 1) % 256
        read = np.int64(maps[place[i], randint(keys[i], 1, 100) * 1024])
        for head in range(choices.shape[1]):
            out[i, head] = (bits(keys[i], 2 + head) + read) % choices[group[i], head]
