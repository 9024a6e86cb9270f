"""Normal numbers from keys: one text for kernels and plain Python, to the same bits.

Ratio of uniforms with Leva's bounds (ACM TOMS 18, 1992): the number itself is a quotient, and a
logarithm only decides whether it counts, in about 1 of 80 tries. So the last bits of `log`,
which differ between libraries, do not reach the result.
"""

from __future__ import annotations

import math
import secrets
from typing import Any

from kinfolk.core.arrays import AnyArray, Ints
from kinfolk.core.jit import inline, kernel
from kinfolk.core.random import bits, fold_in

_TRIES = 64  # each fails with a chance of about 1/4


@inline
def standard_normal(key: Any, index: Any) -> Any:
    """The draw number `index` of `key` from N(0, 1)."""
    own = fold_in(key, index)
    for i in range(_TRIES):
        u = ((bits(own, 2 * i) >> 8) + 1) * (1.0 / 16777216.0)
        v = 1.7156 * ((bits(own, 2 * i + 1) >> 8) * (1.0 / 16777216.0) - 0.5)
        x = u - 0.449871
        y = abs(v) + 0.386595
        q = x * x + y * (0.19600 * y - 0.25472 * x)
        if q < 0.27597:
            return v / u
        if q < 0.27846 and v * v <= -4.0 * math.log(u) * u * u:
            return v / u
    return 0.0


@kernel
def fill_standard_normal(keys: Ints, first: int, out: AnyArray) -> None:
    """`out[i, j]` is the draw `first + j` of `keys[i]`."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = standard_normal(keys[i], first + j)


_KEY_BITS = 63


def draw_seed() -> int:
    """Draw a key from the operating system's random numbers."""
    return secrets.randbits(_KEY_BITS)
