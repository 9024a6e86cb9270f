"""Policies of the probe world in Python and numba: foragers, and one with a large memory."""

from __future__ import annotations

import numpy as np

from kinfolk.core.arrays import AnyArray, Bytes, Ints
from kinfolk.core.jit import kernel
from kinfolk.core.random import bits, randint
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.base import (
    ACTED,
    AgentBatch,
    ExplanationBatch,
    ExplanationSchema,
    Memory,
    MemoryField,
    MemoryLayout,
    StatelessPolicy,
)

LEFT, STAY, RIGHT = 0, 1, 2
BREEDING_ENERGY = 10


class PythonForager(StatelessPolicy):
    """A policy as a user would first write it: a loop over agents, without vectorisation.

    Grazers walk to food and hunters to grazers.

    Args:
        spec: Spec of the world.
        wander: Each `wander`-th step of an agent is random.
    """

    def __init__(self, spec: WorldSpec, wander: int = 5) -> None:
        self._spec, self._wander = spec, wander
        self._actions = np.zeros((0, spec.n_heads), dtype=np.int64)

    @property
    def memory_layout(self) -> MemoryLayout:
        """Memory layout of an agent's age and of its parents' mean age at its birth."""
        return {"lived": MemoryField((), "int64"), "inherited": MemoryField((), "float64")}

    def reset_agents(self, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Store the mean age of an agent's parents."""
        for index, parents in zip(batch.memory_index, batch.parent_memory_index, strict=True):
            ages = [memory["lived"][parent] for parent in parents if parent >= 0]
            memory["inherited"][index] = sum(ages) / len(ages) if ages else 0.0

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Choose the action of each agent of the batch."""
        self._actions = np.zeros((len(keys), self._spec.n_heads), dtype=np.int64)
        agents = zip(batch.memory_index, batch.group, keys, strict=True)
        for i, (index, group, key) in enumerate(agents):
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


WANDER, FORAGE = 0, 1  # indices of the behaviors
ACTS, NOT_DUE, SKIPPED = 0, 1, 2  # indices of the outcomes


class ExplainingForager(PythonForager):
    """Acts as `PythonForager` does, and explains whether it wanders or forages."""

    _enabled = False
    _explanation = ExplanationBatch(*np.zeros((2, 0, 2), dtype=np.int64))

    @property
    def explanation_schema(self) -> ExplanationSchema:
        """Names of the two behaviors and their outcomes, and the agent's age in ticks as a fact."""
        return ExplanationSchema(
            behaviors=("wander", "go_to_food"),
            outcomes=(ACTED, "is not due", "is passed over: wander acts"),
            facts={"lived": ()},
            depth=2,
        )

    def enable_explanations(self, enabled: bool) -> None:
        """Start or stop recording explanations."""
        self._enabled = enabled

    def last_explanation(self) -> ExplanationBatch:
        """Return the explanations of the last batch of actions."""
        return self._explanation

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Choose actions, and record their explanations if that is enabled."""
        super().act_async(observations, batch, memory, keys)
        if self._enabled:
            lived = memory["lived"][batch.memory_index]
            wanders = lived % self._wander == 0
            first = np.where(wanders, ACTS, NOT_DUE)
            second = np.where(wanders, SKIPPED, ACTS)
            considered = np.tile([WANDER, FORAGE], (len(lived), 1))
            outcome = np.stack([first, second], axis=1)
            self._explanation = ExplanationBatch(considered, outcome, {"lived": lived.copy()})


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
        """Memory layout of the map."""
        return {"map": MemoryField((MAP_BYTES,), "uint8")}

    def reset_agents(self, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Copy one cell of each parent's map, plus 1, into the child's."""
        _inherit_map(batch.memory_index, batch.parent_memory_index, keys, memory["map"])

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Update the maps and choose actions from them."""
        actions = np.empty((len(keys), self._n_choices.shape[1]), dtype=np.int64)
        index, group, maps = batch.memory_index, batch.group, memory["map"]
        _update_map(observations, index, group, keys, maps, self._n_choices, actions)
        self._actions = actions


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
