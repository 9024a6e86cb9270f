"""Policies that differ in nothing but their luck, or by a planted handicap."""

import numpy as np

from kinfolk.core.keys import fold, uniform
from kinfolk.policies.simple import Noop, Random


class Noisy(Random):
    """Draws from a stream of its own; now and then it does nothing instead."""

    def __init__(self, spec, stream=0, lazy=0.0):
        super().__init__(spec)
        self.stream, self.lazy, self.still = stream, lazy, Noop(spec)

    def ask(self, observations, rows, memory, keys):
        mine = fold(keys, self.stream)
        super().ask(observations, rows, memory, np.ascontiguousarray(mine))
        idle = uniform(mine, 99) < self.lazy
        self._actions[idle] = self.still.choices_of(rows.group)[idle]
