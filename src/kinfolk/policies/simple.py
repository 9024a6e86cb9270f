"""Policies that any world can be played with: do nothing, or anything."""

from __future__ import annotations

import numpy as np

from kinfolk.core.arrays import Bytes, Ints
from kinfolk.core.jit import kernel
from kinfolk.core.keys import below
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.base import Memory, MemoryLayout, Rows

_STILL = ("noop", "stay", "quiet", "none", "default")


class Reactive:
    """Base of policies that remember nothing and answer at once."""

    @property
    def memory(self) -> MemoryLayout:
        """Nothing."""
        return {}

    def begin(self, rows: Rows, memory: Memory, keys: Ints) -> None:
        """Nothing to prepare."""

    def answer(self) -> Ints:
        """What `ask` worked out."""
        return self._actions

    def close(self) -> None:
        """Nothing is held."""

    _actions: Ints


class Noop(Reactive):
    """Chooses `noop`, `stay` or the like in every head; the first choice where there is none."""

    def __init__(self, spec: WorldSpec) -> None:
        self._choice = np.array(
            [
                [next((h.choices.index(s) for s in _STILL if s in h.choices), 0) for h in g.heads]
                for g in spec.groups
            ],
            dtype=np.int64,
        )

    def ask(self, observations: Bytes, rows: Rows, memory: Memory, keys: Ints) -> None:
        """Look at nothing."""
        self._actions = self.choices_of(rows.group)

    def choices_of(self, group: Ints) -> Ints:
        """`[n, heads]`: what agents of these groups do that do nothing."""
        chosen: Ints = self._choice.take(group, axis=0)  # half of what indexing takes
        return chosen


class Random(Reactive):
    """Every choice of every head with equal chance."""

    def __init__(self, spec: WorldSpec) -> None:
        self._choices = spec.choices

    def ask(self, observations: Bytes, rows: Rows, memory: Memory, keys: Ints) -> None:
        """Draw from each row's key."""
        self._actions = np.empty((len(keys), self._choices.shape[1]), dtype=np.int64)
        _draw(keys, rows.group, self._choices, self._actions)


@kernel
def _draw(keys: Ints, group: Ints, choices: Ints, out: Ints) -> None:
    for i in range(keys.shape[0]):
        for head in range(choices.shape[1]):
            out[i, head] = below(keys[i], head, choices[group[i], head])
