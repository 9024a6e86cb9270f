"""Policies that any world can be played with: do nothing, or anything."""

from __future__ import annotations

import numpy as np

from kinfolk.core.arrays import Bytes, Ints
from kinfolk.core.jit import allocation_free_kernel
from kinfolk.core.random import randint
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.base import AgentBatch, Memory, MemoryLayout

_NOOP_CHOICES = ("noop", "stay", "quiet", "none", "default")


class StatelessPolicy:
    """Base of policies that remember nothing and answer at once."""

    @property
    def memory_layout(self) -> MemoryLayout:
        """Nothing."""
        return {}

    def reset_agents(self, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Nothing to prepare."""

    def act_wait(self) -> Ints:
        """What `ask` worked out."""
        return self._actions

    def close(self) -> None:
        """Nothing is held."""

    _actions: Ints


class NoopPolicy(StatelessPolicy):
    """Chooses `noop`, `stay` or the like in every head; the first choice where there is none."""

    def __init__(self, spec: WorldSpec) -> None:
        self._noop_choice = np.array(
            [
                [
                    next((h.choices.index(s) for s in _NOOP_CHOICES if s in h.choices), 0)
                    for h in g.heads
                ]
                for g in spec.groups
            ],
            dtype=np.int64,
        )

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Look at nothing."""
        self._actions = self.noop_actions(batch.group)

    def noop_actions(self, group: Ints) -> Ints:
        """`[n, heads]`: what agents of these groups do that do nothing."""
        chosen: Ints = self._noop_choice.take(group, axis=0)  # half of what indexing takes
        return chosen


class RandomPolicy(StatelessPolicy):
    """Every choice of every head with equal chance."""

    def __init__(self, spec: WorldSpec) -> None:
        self._n_choices = spec.n_choices

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Draw from each row's key."""
        self._actions = np.empty((len(keys), self._n_choices.shape[1]), dtype=np.int64)
        _sample_uniform(keys, batch.group, self._n_choices, self._actions)


@allocation_free_kernel
def _sample_uniform(keys: Ints, group: Ints, choices: Ints, out: Ints) -> None:
    for i in range(keys.shape[0]):
        for head in range(choices.shape[1]):
            out[i, head] = randint(keys[i], head, choices[group[i], head])
