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
from kinfolk.core.jit import lean_kernel
from kinfolk.core.keys import below, fold

Numbers32 = npt.NDArray[np.float32]
NOTHING = -1


@lean_kernel
def follow(place: Ints, ended: Bools, tail: Ints, latest: Ints, following: Ints) -> None:
    """Find the row that follows each; `NOTHING` where a life or the gathering ended.

    Args:
        place: `[n]`, in the order of time.
        ended: `[n]`, whether the life or its episode ended with this row.
        tail: `[n]`, which tail follows, or `NOTHING`.
        latest: `[places]`, scratch.
        following: Filled, `[n]`.
    """
    for i in range(latest.shape[0]):
        latest[i] = NOTHING
    for i in range(place.shape[0] - 1, -1, -1):
        at = place[i]
        following[i] = NOTHING if ended[i] or tail[i] != NOTHING else latest[at]
        latest[at] = i


@lean_kernel
def estimate_advantages(
    reward: Numbers32,
    value: Numbers32,
    following: Ints,
    tail: Ints,
    tail_value: Numbers32,
    ratio: Numbers32,
    discount: float,
    smoothing: float,
    advantage: Numbers32,
) -> None:
    """Fill `advantage`, `[n]`, from the last row to the first.

    `ratio` is how much likelier the learner is than the actor to have acted so, clipped by the
    caller as V-trace does (Espeholt et al. 2018); ones give plain GAE (Schulman et al. 2015).
    """
    for i in range(reward.shape[0] - 1, -1, -1):
        next_value, later = 0.0, 0.0
        if following[i] >= 0:
            next_value = float(value[following[i]])
            later = float(advantage[following[i]])
        elif tail[i] >= 0:
            next_value = float(tail_value[tail[i]])
        surprise = float(reward[i]) + discount * next_value - float(value[i])
        advantage[i] = np.float32(float(ratio[i]) * (surprise + discount * smoothing * later))


@lean_kernel
def _shuffle(order: Ints, key: int) -> None:
    for i in range(order.shape[0] - 1, 0, -1):
        j = below(key, i, i + 1)
        order[i], order[j] = order[j], order[i]


def shuffled(count: int, key: int, epoch: int) -> Ints:
    """The numbers 0 to `count` - 1 in an order that follows from the key (Fisher and Yates)."""
    order: Ints = np.arange(count, dtype=np.int64)
    _shuffle(order, fold(key, epoch))
    return order
