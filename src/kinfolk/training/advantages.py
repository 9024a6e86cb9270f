"""How much better than expected each action went: generalised advantage estimation, compiled.

Rows lie in the order of time, as many per tick as there were agents. A row is followed by the
next row of its place, if that is the same life; a life that ends is followed by nothing; a row
after which the world was cut, or the gathering stopped, is followed by the value of what was seen
next (a *tail*).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kinfolk.core.arrays import Bools, Ints
from kinfolk.core.jit import allocation_free_kernel
from kinfolk.core.random import fold_in, randint

Float32Array = npt.NDArray[np.float32]
NO_ROW = -1


@allocation_free_kernel
def link_next_rows(
    memory_index: Ints, done: Bools, bootstrap_index: Ints, scratch: Ints, next_row: Ints
) -> None:
    """Find the row that follows each; `NOTHING` where a life or the gathering ended.

    Args:
        memory_index: `[n]`, in the order of time.
        done: `[n]`, whether the life or its episode ended with this row.
        bootstrap_index: `[n]`, which tail follows, or `NOTHING`.
        scratch: `[places]`, scratch.
        next_row: Filled, `[n]`.
    """
    for i in range(scratch.shape[0]):
        scratch[i] = NO_ROW
    for i in range(memory_index.shape[0] - 1, -1, -1):
        at = memory_index[i]
        next_row[i] = NO_ROW if done[i] or bootstrap_index[i] != NO_ROW else scratch[at]
        scratch[at] = i


@allocation_free_kernel
def estimate_advantages(
    reward: Float32Array,
    value: Float32Array,
    next_row: Ints,
    bootstrap_index: Ints,
    bootstrap_value: Float32Array,
    rho: Float32Array,
    gamma: float,
    gae_lambda: float,
    advantage: Float32Array,
) -> None:
    """Fill `advantage`, `[n]`, from the last row to the first.

    `rho` is how much likelier the learner is than the actor to have acted so, clipped by the
    caller as V-trace does (Espeholt et al. 2018); ones give plain GAE (Schulman et al. 2015).
    """
    for i in range(reward.shape[0] - 1, -1, -1):
        next_value, later = 0.0, 0.0
        if next_row[i] >= 0:
            next_value = float(value[next_row[i]])
            later = float(advantage[next_row[i]])
        elif bootstrap_index[i] >= 0:
            next_value = float(bootstrap_value[bootstrap_index[i]])
        surprise = float(reward[i]) + gamma * next_value - float(value[i])
        advantage[i] = np.float32(float(rho[i]) * (surprise + gamma * gae_lambda * later))


@allocation_free_kernel
def _shuffle(order: Ints, key: int) -> None:
    for i in range(order.shape[0] - 1, 0, -1):
        j = randint(key, i, i + 1)
        order[i], order[j] = order[j], order[i]


def shuffled_indices(count: int, key: int, epoch: int) -> Ints:
    """The numbers 0 to `count` - 1 in an order that follows from the key (Fisher and Yates)."""
    order: Ints = np.arange(count, dtype=np.int64)
    _shuffle(order, fold_in(key, epoch))
    return order
