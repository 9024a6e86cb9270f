"""A policy that hashes for a fixed amount of work per agent and step, and does nothing.

It measures what parallel policies gain.
"""

from __future__ import annotations

from kinfolk.core.arrays import Bytes, Ints
from kinfolk.core.jit import kernel
from kinfolk.core.random import threefry_2x32
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.base import AgentBatch, Memory
from kinfolk.policies.stateless import NoopPolicy


class ComputeLoadPolicy(NoopPolicy):
    """Compute a chain of hashes for every agent, one after another, and do nothing.

    Args:
        spec: Spec of the world.
        n_hashes: Hashes per agent and step.
    """

    def __init__(self, spec: WorldSpec, n_hashes: int = 1000) -> None:
        super().__init__(spec)
        self._n_hashes = n_hashes

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Compute the hashes, and ignore the observations."""
        for key in keys.tolist():
            hash_chain(key & 0xFFFF, self._n_hashes)
        super().act_async(observations, batch, memory, keys)


@kernel
def hash_chain(start: int, n_hashes: int) -> int:
    """Compute a chain of hashes, which takes the same work everywhere."""
    word = start
    for i in range(n_hashes):
        word = threefry_2x32(word, i, 0, 0)[0]
    return int(word)
