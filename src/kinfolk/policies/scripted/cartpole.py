"""A heuristic for CartPole, to imitate: push towards the side to which the pole falls."""

from __future__ import annotations

import numpy as np

from kinfolk.core.arrays import Bytes, Ints
from kinfolk.core.errors import SettingsError
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.base import AgentBatch, Memory, StatelessPolicy

_COEFFICIENTS = np.array([0.1, 0.3, 1.0, 0.8], dtype=np.float32)  # of x, x', theta, theta'


class CartPoleHeuristic(StatelessPolicy):
    """Pushes right if 0.1 x + 0.3 x' + theta + 0.8 theta' > 0, else left.

    Args:
        spec: Spec of `gym:CartPole-v0` or `-v1`.

    Raises:
        SettingsError: The world is not CartPole.
    """

    def __init__(self, spec: WorldSpec) -> None:
        if not spec.world.startswith("gym:CartPole"):
            raise SettingsError(f"cartpole plays gym:CartPole-v1, not {spec.world}.")
        self._group = spec.groups[0]

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Compute the weighted sum of each row by itself, so that the batch has no effect on it."""
        del batch, memory, keys
        numbers = self._group.read_field(observations, "observation")
        lean = (numbers * _COEFFICIENTS).sum(axis=1)
        self._actions = (lean > 0).astype(np.int64)[:, None]
