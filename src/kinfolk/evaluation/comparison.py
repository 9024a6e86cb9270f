"""Is A better than B, and how sure is that: paired on common episodes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinfolk.core.arrays import AnyArray
from kinfolk.evaluation.summary import Estimate, estimate

SURE = 0.05  # below this chance of such a difference among equals, it is called one
_PERMUTATIONS = 9999


class Verdict(NamedTuple):
    """What common episodes say of two policies.

    `p_value` is the chance of a difference at least this large if the two were equal: which of the
    two earned what in an episode is exchanged at random (a paired permutation test).
    """

    difference: Estimate  # first minus second, per episode
    p_value: float
    better: str  # first, second or neither
    episodes: int


def compare(first: AnyArray, second: AnyArray) -> Verdict:
    """Judge two policies by what each earned in the same episodes; the same values, the same verdict.

    Raises:
        ValueError: They are not of the same episodes.
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.shape != b.shape:
        raise ValueError(f"A comparison is of common episodes; there are {len(a)} and {len(b)}.")
    difference = estimate(a - b)
    p_value = _p_value(a, b)
    better = "neither"
    if p_value < SURE:
        better = "first" if difference.mean > 0 else "second"
    return Verdict(difference, p_value, better, len(a))


def _p_value(a: AnyArray, b: AnyArray) -> float:
    if np.array_equal(a, b) or len(a) < 2:
        return 1.0
    from scipy.stats import permutation_test

    def mean_difference(x: AnyArray, y: AnyArray, axis: int) -> AnyArray:
        found: AnyArray = np.mean(x - y, axis=axis)
        return found

    found = permutation_test(
        (a, b),
        mean_difference,
        permutation_type="samples",
        vectorized=True,
        n_resamples=_PERMUTATIONS,
        rng=np.random.default_rng(0),
    )
    return float(found.pvalue)
