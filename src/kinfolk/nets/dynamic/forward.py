"""Forward pass of dynamic nets, with running standardisation of every node.

All nodes update at once from the outputs of the previous pass. A node outputs standardise(w . x),
with the running mean and standard deviation of its values (Welford 1962). Statistics of copies with
a common start are merged after Chan et al. 1979.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from kinfolk.core.arrays import Floats, Ints
from kinfolk.core.jit import allocation_free_kernel, inline
from kinfolk.nets.dynamic.graph import FREE, MAX_SOURCES, GraphArrays


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


MIN_STD = 1e-8


class NodeState(NamedTuple):
    """State of dynamic nets between calls, `[nets, batch, capacity]` or `[rows, capacity]`.

    `x` and `z` are memory, which is reset between episodes; `n`, `mean` and `m2` are this copy's
    running statistics, which are not.
    """

    x: Floats  # last value of each node, before standardisation
    z: Floats  # last output of each node
    n: Floats  # count of values
    mean: Floats
    m2: Floats  # sum of squared deviations


@inline
def standardize(
    state: NodeState, row: int, stats_row: int, node: int, value: float, update_stats: bool
) -> None:
    """Standardise a node's value, write it to `state.z`, and update the running statistics.

    A value of zero gives the output zero; a value that repeats the last one is not counted.

    Args:
        state: `[rows, capacity]`, changed.
        row: Row of the memory `x` and `z`.
        stats_row: Row of the running statistics.
        node: Index of the node.
        value: New value of the node, before standardisation.
        update_stats: Whether the running statistics are updated.
    """
    if value == 0.0:
        state.z[row, node] = 0.0
        return
    n, mean, m2 = state.n[stats_row, node], state.mean[stats_row, node], state.m2[stats_row, node]
    if update_stats and value != state.x[row, node]:
        n += 1.0
        delta = value - mean
        mean += delta / n
        m2 += delta * (value - mean)
        state.n[stats_row, node] = n
        state.mean[stats_row, node], state.m2[stats_row, node] = mean, m2
    state.x[row, node] = value
    if n < 2.0:
        state.z[row, node] = 0.0
    else:
        deviation = math.sqrt(m2 / (n - 1.0))
        state.z[row, node] = (value - mean) / max(deviation, MIN_STD)


@allocation_free_kernel
def run_passes(
    graph: GraphArrays,
    member: Ints,
    stats_row: Ints,
    x: Floats,
    state: NodeState,
    update_stats: bool,
    sums: Floats,
) -> None:
    """Run every row through the net of its member; the outputs are in `state.z`.

    Inputs are standardised once, the other nodes once per pass; each net has its own number of
    passes.

    Args:
        graph: The population.
        member: `[n]`, which net each row goes through.
        stats_row: `[n]`, which row of the running statistics each row uses.
        x: `[n, inputs]`.
        state: `[n, capacity]`, changed.
        update_stats: Whether the running statistics are updated.
        sums: `[capacity]`, scratch for the weighted sums of a pass.
    """
    source, inputs = graph.source, x.shape[1]
    for i in range(member.shape[0]):
        net, copy = member[i], stats_row[i]
        for node in range(inputs):
            standardize(state, i, copy, node, x[i, node], update_stats)
        for _ in range(graph.passes[net]):
            for node in range(inputs, graph.top[net]):
                total = 0.0
                for edge in range(MAX_SOURCES):
                    if source[net, node, edge] >= 0:
                        total += graph.weight[net, node, edge] * state.z[i, source[net, node, edge]]
                sums[node] = total
            for node in range(inputs, graph.top[net]):
                if graph.kind[net, node] != FREE:
                    standardize(state, i, copy, node, sums[node], update_stats)
