"""Populations of graphs as arrays, `[nets, capacity]`, with a slot per node.

Slots hold the inputs first, then the outputs, then hidden nodes and free slots. A node has up to
three sources, stored without gaps; -1 is none.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinfolk.core.arrays import AnyArray, Bools, Floats, Ints

FREE, INPUT, OUTPUT, HIDDEN = 0, 1, 2, 3  # kinds of slots
MAX_SOURCES = 3  # in-edges of a node
CAPACITY_STEP = 8  # slots added at a time


class GraphArrays(NamedTuple):
    """Topology, weights, evolvable scalars and running statistics of a population."""

    kind: Ints  # [nets, capacity] FREE, INPUT, OUTPUT or HIDDEN
    source: Ints  # [nets, capacity, 3]
    weight: Floats  # [nets, capacity, 3] drawn when the edge was made, then frozen
    top: Ints  # [nets] one past the last slot in use
    growths: Floats  # [nets] mean number of nodes added per mutation
    prunings: Floats  # [nets] mean number of nodes pruned per mutation
    passes: Ints  # [nets] forward passes per input
    locality: Floats  # [nets] probability to choose within a radius before widening it
    n: Floats  # [nets, capacity] running statistics: count of values
    mean: Floats  # [nets, capacity]
    m2: Floats  # [nets, capacity] sum of squared deviations
    fresh: Bools  # [nets, capacity] slots whose node changed in the last mutation


SLOT_ARRAYS = ("kind", "source", "weight", "n", "mean", "m2", "fresh")
RUNNING_STATS_FIELDS = ("n", "mean", "m2")


def empty_graph(nets: int, inputs: int, outputs: int) -> GraphArrays:
    """Return graphs of unconnected inputs and outputs, with the initial scalars."""
    capacity = inputs + outputs + CAPACITY_STEP

    def floats(*shape: int) -> Floats:
        return np.zeros((nets, *shape), dtype=np.float64)

    kind = np.zeros((nets, capacity), dtype=np.int64)
    kind[:, :inputs] = INPUT
    kind[:, inputs : inputs + outputs] = OUTPUT
    return GraphArrays(
        kind=kind,
        source=np.full((nets, capacity, MAX_SOURCES), -1, dtype=np.int64),
        weight=floats(capacity, MAX_SOURCES),
        top=np.full(nets, inputs + outputs, dtype=np.int64),
        growths=np.full(nets, 1.0),
        prunings=np.full(nets, 0.5),
        passes=np.ones(nets, dtype=np.int64),
        locality=np.full(nets, 0.5),
        n=floats(capacity),
        mean=floats(capacity),
        m2=floats(capacity),
        fresh=np.zeros((nets, capacity), dtype=np.bool_),
    )


def with_capacity(graph: GraphArrays, capacity: int) -> GraphArrays:
    """Return the same graphs with at least `capacity` slots."""
    missing = capacity - graph.kind.shape[1]
    if missing <= 0:
        return graph
    return graph._replace(
        **{name: pad_slots(getattr(graph, name), 1, missing) for name in SLOT_ARRAYS}
    )


def pad_slots(array: AnyArray, axis: int, extra: int) -> AnyArray:
    """Append `extra` free slots along an axis; sources are filled with -1, all else with 0."""
    pads = [(0, 0)] * array.ndim
    pads[axis] = (0, extra)
    is_source = array.ndim == 3 and array.dtype == np.int64
    return np.pad(array, pads, constant_values=-1 if is_source else 0)
