"""A policy that works: a counted amount of arithmetic per agent and step, and then stands still.

It shows what parallel policies gain; it plays no game.
"""

from __future__ import annotations

from kinfolk.core.arrays import Bytes, Ints
from kinfolk.core.jit import kernel
from kinfolk.core.keys import threefry
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.base import Memory, Rows
from kinfolk.policies.simple import Noop


class Busy(Noop):
    """Counts `rounds` for every agent it is asked for, one after another."""

    def __init__(self, spec: WorldSpec, rounds: int = 1000) -> None:
        super().__init__(spec)
        self._rounds = rounds

    def ask(self, observations: Bytes, rows: Rows, memory: Memory, keys: Ints) -> None:
        """Work, and look at nothing."""
        for key in keys.tolist():
            count(key & 0xFFFF, self._rounds)
        super().ask(observations, rows, memory, keys)


@kernel
def count(start: int, rounds: int) -> int:
    """A chain of hashes: the same work everywhere, and of no use."""
    word = start
    for i in range(rounds):
        word = threefry(word, i, 0, 0)[0]
    return int(word)
