"""Merging copies of a calibration that each went on from the same one (Chan et al. 1979)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinfolk.core.arrays import Floats


class RunningStats(NamedTuple):
    """How many values were seen, their mean, and the sum of their squared deviations."""

    n: Floats
    mean: Floats
    m2: Floats


def merge_running_stats(base: RunningStats, copies: RunningStats) -> RunningStats:
    """`base` and all that each copy saw beyond it; copies are on the second axis, in order.

    One copy is taken as it is, so that a calibration that was never split stays exact.
    """
    count = copies.n.shape[1]
    if count == 1:
        return RunningStats(*(part[:, 0].copy() for part in copies))
    total = base
    for i in range(count):
        one = RunningStats(*(part[:, i] for part in copies))
        total = _combine(total, _subtract_base(base, one))
    return total


def _combine(a: RunningStats, b: RunningStats) -> RunningStats:
    n = a.n + b.n
    share = np.divide(b.n, n, out=np.zeros_like(n), where=n > 0)
    away = b.mean - a.mean
    return RunningStats(n, a.mean + away * share, a.m2 + b.m2 + away * away * a.n * share)


def _subtract_base(base: RunningStats, copy: RunningStats) -> RunningStats:
    """What `copy` saw after `base`: the join undone."""
    n = copy.n - base.n
    seen = n > 0
    mean = np.divide(copy.n * copy.mean - base.n * base.mean, n, out=np.zeros_like(n), where=seen)
    share = np.divide(base.n * n, copy.n, out=np.zeros_like(n), where=seen)
    away = mean - base.mean
    m2 = np.where(seen, copy.m2 - base.m2 - away * away * share, 0.0)
    return RunningStats(n, mean, np.maximum(m2, 0.0))
