"""Forward pass of dynamic nets, with running standardisation of every node.

All nodes update at once from the outputs of the previous pass. A node outputs standardise(w . x),
with the running mean and standard deviation of its values (`kinfolk.nets.running_stats`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from kinfolk.core.arrays import Floats, Ints
from kinfolk.core.jit import allocation_free_kernel, inline
from kinfolk.nets.dynamic.graph import FREE, MAX_SOURCES, GraphArrays
from kinfolk.nets.running_stats import MIN_STD


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


@inline
def run_node_passes(
    graph: GraphArrays,
    net: int,
    i: int,
    copy: int,
    x: Floats,
    state: NodeState,
    update_stats: bool,
    sums: Floats,
) -> None:
    """Run one row through a net; the outputs are in `state.z[i]`.

    Args:
        graph: The population.
        net: Which net.
        i: Row of the memory.
        copy: Row of the running statistics.
        x: `[inputs]`.
        state: `[rows, capacity]`, changed.
        update_stats: Whether the running statistics are updated.
        sums: `[capacity]`, scratch for the weighted sums of a pass.
    """
    source, inputs = graph.source, x.shape[0]
    for node in range(inputs):
        standardize(state, i, copy, node, x[node], update_stats)
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
    for i in range(member.shape[0]):
        run_node_passes(graph, member[i], i, stats_row[i], x[i], state, update_stats, sums)
