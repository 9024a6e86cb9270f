"""Plain Python: a forager that goes to food, calls when it can breed, and counts its ticks."""

from __future__ import annotations

import numpy as np

from kinfolk.core.arrays import Bytes, Ints
from kinfolk.core.random import randint
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.base import AgentBatch, Memory, MemoryField, MemoryLayout

LEFT, STAY, RIGHT = 0, 1, 2
BREEDING_ENERGY = 10


class PythonForager:
    """Written as a user would write a first policy: a loop over rows, no arrays tricks.

    Grazers walk to food, hunters to grazers; every few ticks one wanders instead.
    """

    def __init__(self, spec: WorldSpec, wander: int = 5) -> None:
        self._spec, self._wander = spec, wander
        self._actions: Ints = np.zeros((0, spec.n_heads), dtype=np.int64)

    @property
    def memory_layout(self) -> MemoryLayout:
        """How long it has lived, and the mean age its parents had at its birth."""
        return {"lived": MemoryField((), "int64"), "inherited": MemoryField((), "float64")}

    def reset_agents(self, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Look at what the parents had lived."""
        for place, parents in zip(batch.memory_index, batch.parent_memory_index, strict=True):
            known = [memory["lived"][parent] for parent in parents if parent >= 0]
            memory["inherited"][place] = sum(known) / len(known) if known else 0.0

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Decide row by row."""
        self._actions = np.zeros((len(keys), self._spec.n_heads), dtype=np.int64)
        for i, (place, group, key) in enumerate(
            zip(batch.memory_index, batch.group, keys, strict=True)
        ):
            kind = self._spec.groups[group]
            window = kind.read(observations[i : i + 1], "window")[0]
            energy = kind.read(observations[i : i + 1], "body")[0, 0]
            memory["lived"][place] += 1
            if memory["lived"][place] % self._wander == 0:
                self._actions[i, 0] = randint(int(key), 0, 3)
            else:
                self._actions[i, 0] = self._towards(window[:, 0 if group == 0 else 1])
            self._actions[i, 1] = int(energy >= BREEDING_ENERGY)

    @staticmethod
    def _towards(wanted: Bytes) -> int:
        """The way to the nearest cell that holds what is wanted; left before right."""
        here = len(wanted) // 2
        for distance in range(here + 1):
            if wanted[here - distance]:
                return STAY if distance == 0 else LEFT
            if wanted[here + distance]:
                return RIGHT
        return RIGHT

    def act_wait(self) -> Ints:
        """What `ask` decided."""
        return self._actions

    def close(self) -> None:
        """Nothing is held."""
