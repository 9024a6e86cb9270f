"""A forager in plain Python that walks to food and calls when it can have a child."""

from __future__ import annotations

import numpy as np

from kinfolk.core.arrays import Bytes, Ints
from kinfolk.core.random import randint
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.base import AgentBatch, Memory, MemoryField, MemoryLayout

LEFT, STAY, RIGHT = 0, 1, 2
BREEDING_ENERGY = 10


class PythonForager:
    """A policy as a user would first write it: a loop over agents, without vectorisation.

    Grazers walk to food and hunters to grazers.

    Args:
        spec: Spec of the world.
        wander: Each `wander`-th step of an agent is random.
    """

    def __init__(self, spec: WorldSpec, wander: int = 5) -> None:
        self._spec, self._wander = spec, wander
        self._actions: Ints = np.zeros((0, spec.n_heads), dtype=np.int64)

    @property
    def memory_layout(self) -> MemoryLayout:
        """Return the layout of an agent's age and of its parents' mean age at its birth."""
        return {"lived": MemoryField((), "int64"), "inherited": MemoryField((), "float64")}

    def reset_agents(self, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Store the mean age of an agent's parents."""
        for index, parents in zip(batch.memory_index, batch.parent_memory_index, strict=True):
            ages = [memory["lived"][parent] for parent in parents if parent >= 0]
            memory["inherited"][index] = sum(ages) / len(ages) if ages else 0.0

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Choose the action of each agent of the batch."""
        self._actions = np.zeros((len(keys), self._spec.n_heads), dtype=np.int64)
        for i, (index, group, key) in enumerate(
            zip(batch.memory_index, batch.group, keys, strict=True)
        ):
            spec = self._spec.groups[group]
            window = spec.read_field(observations[i : i + 1], "window")[0]
            energy = spec.read_field(observations[i : i + 1], "body")[0, 0]
            memory["lived"][index] += 1
            if memory["lived"][index] % self._wander == 0:
                self._actions[i, 0] = randint(int(key), 0, 3)
            else:
                self._actions[i, 0] = self._towards(window[:, 0 if group == 0 else 1])
            self._actions[i, 1] = int(energy >= BREEDING_ENERGY)

    @staticmethod
    def _towards(targets: Bytes) -> int:
        """Return the move to the nearest cell with a target, left before right; right if there is none."""
        middle = len(targets) // 2
        for distance in range(middle + 1):
            if targets[middle - distance]:
                return STAY if distance == 0 else LEFT
            if targets[middle + distance]:
                return RIGHT
        return RIGHT

    def act_wait(self) -> Ints:
        """Return the actions of the last batch."""
        return self._actions

    def close(self) -> None:
        """Do nothing: there is nothing to release."""
