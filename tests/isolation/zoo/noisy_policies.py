"""Policies that differ in nothing but their luck, or by a planted handicap."""

import numpy as np

from kinfolk.core.random import fold_in, uniform
from kinfolk.policies.base import NoopPolicy, RandomPolicy


class Noisy(RandomPolicy):
    """Draws from a stream of its own; now and then it does nothing instead."""

    def __init__(self, spec, stream=0, lazy=0.0):
        super().__init__(spec)
        self.stream, self.lazy, self.still = stream, lazy, NoopPolicy(spec)

    def act_async(self, observations, batch, memory, keys):
        mine = fold_in(keys, self.stream)
        super().act_async(observations, batch, memory, np.ascontiguousarray(mine))
        idle = uniform(mine, 99) < self.lazy
        self._actions[idle] = self.still.noop_actions(batch.group)[idle]
