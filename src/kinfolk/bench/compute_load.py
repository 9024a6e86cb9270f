"""A policy that works: a counted amount of arithmetic per agent and step, and then stands still.

It shows what parallel policies gain; it plays no game.
"""

from __future__ import annotations

from kinfolk.core.arrays import Bytes, Ints
from kinfolk.core.jit import kernel
from kinfolk.core.random import threefry_2x32
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.base import AgentBatch, Memory
from kinfolk.policies.stateless import NoopPolicy


class ComputeLoadPolicy(NoopPolicy):
    """Counts `rounds` for every agent it is asked for, one after another."""

    def __init__(self, spec: WorldSpec, n_hashes: int = 1000) -> None:
        super().__init__(spec)
        self._n_hashes = n_hashes

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Work, and look at nothing."""
        for key in keys.tolist():
            hash_chain(key & 0xFFFF, self._n_hashes)
        super().act_async(observations, batch, memory, keys)


@kernel
def hash_chain(start: int, n_hashes: int) -> int:
    """A chain of hashes: the same work everywhere, and of no use."""
    word = start
    for i in range(n_hashes):
        word = threefry_2x32(word, i, 0, 0)[0]
    return int(word)
