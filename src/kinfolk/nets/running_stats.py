"""Running mean and variance, and how copies with a common start merge (Chan et al. 1979)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinfolk.core.arrays import Floats


class RunningStats(NamedTuple):
    """Count, mean and variance of the values that nodes have seen."""

    n: Floats  # count
    mean: Floats
    m2: Floats  # sum of squared deviations from the mean


def merge_running_stats(base: RunningStats, copies: RunningStats) -> RunningStats:
    """Return the statistics of everything that `base` and the copies have seen.

    A single copy is returned as it is, so that statistics that were never split stay exact.

    Args:
        base: `[nets, ...]`, the statistics that all copies started from.
        copies: `[nets, copies, ...]`, merged in order.
    """
    count = copies.n.shape[1]
    if count == 1:
        return RunningStats(*(part[:, 0].copy() for part in copies))
    total = base
    for i in range(count):
        copy = RunningStats(*(part[:, i] for part in copies))
        total = _combine(total, _subtract_base(base, copy))
    return total


def _combine(a: RunningStats, b: RunningStats) -> RunningStats:
    """Return the statistics of two disjoint sets of values together."""
    n = a.n + b.n
    share = np.divide(b.n, n, out=np.zeros_like(n), where=n > 0)
    delta = b.mean - a.mean
    return RunningStats(n, a.mean + delta * share, a.m2 + b.m2 + delta * delta * a.n * share)


def _subtract_base(base: RunningStats, copy: RunningStats) -> RunningStats:
    """Return the statistics of what `copy` saw after `base`: the inverse of `_combine`."""
    n = copy.n - base.n
    seen = n > 0
    mean = np.divide(copy.n * copy.mean - base.n * base.mean, n, out=np.zeros_like(n), where=seen)
    share = np.divide(base.n * n, copy.n, out=np.zeros_like(n), where=seen)
    delta = mean - base.mean
    m2 = np.where(seen, copy.m2 - base.m2 - delta * delta * share, 0.0)
    return RunningStats(n, mean, np.maximum(m2, 0.0))
