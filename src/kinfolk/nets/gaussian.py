"""Standard normal draws from random keys, bit-identical in kernels and plain Python.

Ratio of uniforms with Leva's bounds (ACM TOMS 18, 1992): a draw is a quotient, and a logarithm is
needed only to accept or reject about 1 of 80 candidates. So the last bits of `log`, which differ
between libraries, do not reach the result.
"""

from __future__ import annotations

import math
import secrets
from typing import Any

from kinfolk.core.arrays import AnyArray, Ints
from kinfolk.core.jit import inline, kernel
from kinfolk.core.random import bits, fold_in

_TRIES = 64  # each is rejected with a probability of about 1/4


@inline
def standard_normal(key: Any, index: Any) -> Any:
    """Return draw number `index` of a key from N(0, 1)."""
    draw_key = fold_in(key, index)
    for i in range(_TRIES):
        u = ((bits(draw_key, 2 * i) >> 8) + 1) * (1.0 / 16777216.0)
        v = 1.7156 * ((bits(draw_key, 2 * i + 1) >> 8) * (1.0 / 16777216.0) - 0.5)
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
    """Fill `out` with draws from N(0, 1).

    Args:
        keys: `[n]`, a key per row.
        first: Number of the first draw.
        out: `[n, draws]`, written: `out[i, j]` is draw `first + j` of `keys[i]`.
    """
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = standard_normal(keys[i], first + j)


_KEY_BITS = 63


def draw_seed() -> int:
    """Draw a random key from the operating system."""
    return secrets.randbits(_KEY_BITS)
