"""Generalised advantage estimation as compiled kernels.

Rows lie in the order of time, as many per tick as there were agents. A row's successor is the next
row with the same memory index, if it belongs to the same life. A life that ended has no successor.
Where an episode was truncated, or the rollout stopped, the value of the next observation is used
instead (`bootstrap_value`).
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
    """Write each row's successor to `next_row`; `NO_ROW` where a life or the rollout ended.

    Args:
        memory_index: `[n]`, memory index of the agent of each row, in the order of time.
        done: `[n]`, whether the life or its episode ended with this row.
        bootstrap_index: `[n]`, which bootstrap value follows the row, or `NO_ROW`.
        scratch: `[memory indices]`, overwritten.
        next_row: `[n]`, written.
    """
    for i in range(scratch.shape[0]):
        scratch[i] = NO_ROW
    for i in range(memory_index.shape[0] - 1, -1, -1):
        agent = memory_index[i]
        next_row[i] = NO_ROW if done[i] or bootstrap_index[i] != NO_ROW else scratch[agent]
        scratch[agent] = i


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
    """Compute generalised advantage estimates (Schulman et al. 2015), from the last row to the first.

    Args:
        reward: `[n]`, reward received after each row's action.
        value: `[n]`, critic's value of each row's observation.
        next_row: `[n]`, successors from `link_next_rows`.
        bootstrap_index: `[n]`, index into `bootstrap_value`, or `NO_ROW`.
        bootstrap_value: `[bootstraps]`, values of the observations after truncated rows.
        rho: `[n]`, importance weights of V-trace (Espeholt et al. 2018), clipped by the caller;
            ones give plain GAE.
        gamma: Discount per step.
        gae_lambda: Trade-off between bias (0) and variance (1).
        advantage: `[n]`, written.
    """
    for i in range(reward.shape[0] - 1, -1, -1):
        next_value, next_advantage = 0.0, 0.0
        if next_row[i] >= 0:
            next_value = float(value[next_row[i]])
            next_advantage = float(advantage[next_row[i]])
        elif bootstrap_index[i] >= 0:
            next_value = float(bootstrap_value[bootstrap_index[i]])
        td_error = float(reward[i]) + gamma * next_value - float(value[i])
        advantage[i] = np.float32(float(rho[i]) * (td_error + gamma * gae_lambda * next_advantage))


@allocation_free_kernel
def _shuffle(order: Ints, key: int) -> None:
    """Shuffle `order` in place (Fisher and Yates)."""
    for i in range(order.shape[0] - 1, 0, -1):
        j = randint(key, i, i + 1)
        order[i], order[j] = order[j], order[i]


def shuffled_indices(count: int, key: int, epoch: int) -> Ints:
    """Return a random permutation of `range(count)`.

    Args:
        count: How many indices.
        key: Random key of the update.
        epoch: Folded into the key, so that every epoch has another order.
    """
    order: Ints = np.arange(count, dtype=np.int64)
    _shuffle(order, fold_in(key, epoch))
    return order
