"""The forward pass of dynamic nets, and the running standardisation of each node.

All nodes update at once from what the others said a pass ago. A node says standardise(w . x),
with the mean and deviation of what it has seen (Welford 1962).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from kinfolk.core.arrays import AnyArray, Bools, Floats, Ints
from kinfolk.core.jit import allocation_free_kernel, inline
from kinfolk.nets.dynamic.graph import FREE, MAX_SOURCES

MIN_STD = 1e-8


class NodeState(NamedTuple):
    """What runs along with dynamic nets, `[nets, batch, room]` or `[rows, room]`.

    `x` and `z` are memory: what each node last took in and said; they are forgotten at episodes.
    `n`, `mean` and `m2` are this copy's calibration, which is not.
    """

    x: Floats
    z: Floats
    n: Floats
    mean: Floats
    m2: Floats


@inline
def standardize(
    state: NodeState, row: int, stats_row: int, node: int, value: float, update_stats: bool
) -> None:
    """Let a node take in `value`. Zero says nothing; the same value again teaches nothing."""
    if value == 0.0:
        state.z[row, node] = 0.0
        return
    n, mean, m2 = state.n[stats_row, node], state.mean[stats_row, node], state.m2[stats_row, node]
    if update_stats and value != state.x[row, node]:
        n += 1.0
        away = value - mean
        mean += away / n
        m2 += away * (value - mean)
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
    """Row `i` of `x` through net `member[i]`, with the calibration `at[i]`; rows not `active` rest.

    Inputs take in their value once, the other nodes once per pass; each net has its own number of
    passes. `raw` is scratch.
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
