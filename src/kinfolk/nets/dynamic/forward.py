"""Forward pass of dynamic nets, with running standardisation of every node.

All nodes update at once from the outputs of the previous pass. A node outputs standardise(w . x),
with the running mean and standard deviation of its values (Welford 1962).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from kinfolk.core.arrays import AnyArray, Bools, Floats, Ints
from kinfolk.core.jit import allocation_free_kernel, inline
from kinfolk.nets.dynamic.graph import FREE, MAX_SOURCES

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
        node: Which node.
        value: Its value.
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
        state.n[stats_row, node], state.mean[stats_row, node], state.m2[stats_row, node] = (
            n,
            mean,
            m2,
        )
    state.x[row, node] = value
    if n < 2.0:
        state.z[row, node] = 0.0
    else:
        deviation = math.sqrt(m2 / (n - 1.0))
        state.z[row, node] = (value - mean) / max(deviation, MIN_STD)


@allocation_free_kernel
def run_passes(
    kind: Ints,
    source: Ints,
    weight: Floats,
    top: Ints,
    passes: Ints,
    member: Ints,
    stats_row: Ints,
    x: AnyArray,
    state: NodeState,
    update_stats: bool,
    active: Bools,
    raw: Floats,
    out: AnyArray,
) -> None:
    """Run every active row through the net of its member.

    Inputs are standardised once, the other nodes once per pass; each net has its own number of
    passes.

    Args:
        kind: `[nets, capacity]`, see `GraphArrays`.
        source: `[nets, capacity, 3]`.
        weight: `[nets, capacity, 3]`.
        top: `[nets]`.
        passes: `[nets]`.
        member: `[n]`, which net each row goes through.
        stats_row: `[n]`, which row of the running statistics each row uses.
        x: `[n, inputs]`.
        state: `[n, capacity]`, changed.
        update_stats: Whether the running statistics are updated.
        active: `[n]`; other rows are left as they are.
        raw: `[capacity]`, overwritten.
        out: `[n, outputs]`, written.
    """
    inputs, outputs = x.shape[1], out.shape[1]
    for i in range(member.shape[0]):
        if not active[i]:
            continue
        net, copy = member[i], stats_row[i]
        for node in range(inputs):
            standardize(state, i, copy, node, float(x[i, node]), update_stats)
        for _ in range(passes[net]):
            for node in range(inputs, top[net]):
                total = 0.0
                for edge in range(MAX_SOURCES):
                    if source[net, node, edge] >= 0:
                        total += weight[net, node, edge] * state.z[i, source[net, node, edge]]
                raw[node] = total
            for node in range(inputs, top[net]):
                if kind[net, node] != FREE:
                    standardize(state, i, copy, node, raw[node], update_stats)
        for o in range(outputs):
            out[i, o] = state.z[i, inputs + o]
