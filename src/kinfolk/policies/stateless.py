"""Stateless policies, and two that play any world: no-op and uniformly random."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kinfolk.core.arrays import Bytes, Ints
from kinfolk.core.jit import allocation_free_kernel
from kinfolk.core.random import randint
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.base import AgentBatch, Memory, MemoryLayout

_NOOP_CHOICES = ("noop", "stay", "quiet", "none", "default")


class StatelessPolicy:
    """Base class of policies without memory that compute their actions in `act_async`."""

    @property
    def memory_layout(self) -> MemoryLayout:
        """Return an empty layout: nothing is remembered."""
        return {}

    def reset_agents(self, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Do nothing: there is no memory to prepare."""

    def act_wait(self) -> Ints:
        """Return the actions that `act_async` computed."""
        return self._actions

    def close(self) -> None:
        """Do nothing: no resources are held."""

    _actions: Ints


class NoopPolicy(StatelessPolicy):
    """Chooses `noop`, `stay` or the like in every head; the first choice where there is none.

    Args:
        spec: Spec of the world to play.
    """

    def __init__(self, spec: WorldSpec) -> None:
        choices = [[_find_noop(head.choices) for head in group.heads] for group in spec.groups]
        self._noop_choice = np.array(choices, dtype=np.int64)

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Choose the no-op of every agent's group."""
        self._actions = self.noop_actions(batch.group)

    def noop_actions(self, group: Ints) -> Ints:
        """Return the no-op actions `[n, heads]` of agents of these groups."""
        actions: Ints = self._noop_choice.take(group, axis=0)  # twice as fast as indexing
        return actions


def _find_noop(choices: Sequence[str]) -> int:
    """Return the index of the choice that does nothing; 0 if no name tells."""
    return next((choices.index(name) for name in _NOOP_CHOICES if name in choices), 0)


class RandomPolicy(StatelessPolicy):
    """Draws every action head uniformly at random.

    Args:
        spec: Spec of the world to play.
    """

    def __init__(self, spec: WorldSpec) -> None:
        self._n_choices = spec.n_choices

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Draw the actions from each agent's key."""
        self._actions = np.empty((len(keys), self._n_choices.shape[1]), dtype=np.int64)
        _sample_uniform(keys, batch.group, self._n_choices, self._actions)


@allocation_free_kernel
def _sample_uniform(keys: Ints, group: Ints, choices: Ints, out: Ints) -> None:
    """Draw a uniform choice for every agent and head.

    Args:
        keys: `[n]`, random keys.
        group: `[n]`, group of each agent.
        choices: `[groups, heads]`, number of choices.
        out: `[n, heads]`, filled with the actions.
    """
    for i in range(keys.shape[0]):
        for head in range(choices.shape[1]):
            out[i, head] = randint(keys[i], head, choices[group[i], head])
