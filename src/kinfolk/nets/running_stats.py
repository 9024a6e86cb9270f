"""Running mean and variance of what nets have seen, in copies that are merged in a fixed order.

Each copy is updated value by value (Welford 1962). Statistics of copies with a common start are merged
after Chan et al. 1979.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from kinfolk.core.arrays import AnyArray, Floats, Ints
from kinfolk.core.jit import allocation_free_kernel, inline

MIN_STD = 1e-8
MAX_NORMALIZED = 10.0  # normalised inputs are clipped to this, as in OpenAI-ES


class RunningStats(NamedTuple):
    """Count, mean and variance of values: of the nodes of dynamic nets, or of inputs."""

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


def pool_running_stats(base: RunningStats, members: RunningStats) -> RunningStats:
    """Return the statistics of everything that any member has seen, `[...]` each.

    Args:
        base: `[...]`, the statistics that all members started from.
        members: `[nets, ...]`, merged in order.
    """
    single = RunningStats(*(part[None] for part in base))
    copies = RunningStats(*(part[None] for part in members))
    return RunningStats(*(part[0] for part in merge_running_stats(single, copies)))


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


@inline
def normalize_row(
    x: AnyArray, row: int, stats: RunningStats, update_stats: bool, out: AnyArray
) -> None:
    """Standardise one row of inputs; see `normalize_rows`.

    Args:
        x: `[inputs]`, float32.
        row: Row of the statistics.
        stats: `[rows, inputs]` each, changed if they are updated.
        update_stats: Whether the inputs are counted first.
        out: `[>= inputs]`, float32, written.
    """
    for j in range(x.shape[0]):
        value = float(x[j])
        n, mean, m2 = stats.n[row, j], stats.mean[row, j], stats.m2[row, j]
        if update_stats:
            n += 1.0
            delta = value - mean
            mean += delta / n
            m2 += delta * (value - mean)
            stats.n[row, j], stats.mean[row, j], stats.m2[row, j] = n, mean, m2
        if n < 2.0:
            out[j] = 0.0
        else:
            z = (value - mean) / max(math.sqrt(m2 / (n - 1.0)), MIN_STD)
            out[j] = min(max(z, -MAX_NORMALIZED), MAX_NORMALIZED)


@allocation_free_kernel
def normalize_rows(
    x: AnyArray, stats_row: Ints, stats: RunningStats, update_stats: bool, out: AnyArray
) -> None:
    """Standardise inputs with running statistics: zero mean, unit variance, clipped.

    Before the second value of an input its standardised value is zero.

    Args:
        x: `[n, inputs]`, float32.
        stats_row: `[n]`, which row of the statistics each row uses.
        stats: `[rows, inputs]` each, changed if they are updated.
        update_stats: Whether the inputs are counted first.
        out: `[n, inputs]`, float32, written.
    """
    for i in range(x.shape[0]):
        normalize_row(x[i], stats_row[i], stats, update_stats, out[i])
