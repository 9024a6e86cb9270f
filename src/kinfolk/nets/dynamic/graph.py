"""Nets whose topology changes, as arrays: `[nets, room]`, a slot per node.

Slots hold the inputs first, then the outputs, then hidden nodes and holes they left. A node has up
to three sources, kept without gaps; -1 is none.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinfolk.core.arrays import AnyArray, Bools, Floats, Ints

FREE, INPUT, OUTPUT, HIDDEN = 0, 1, 2, 3
MAX_SOURCES = 3
CAPACITY_STEP = 8  # slots added at a time


class GraphArrays(NamedTuple):
    """Everything that makes a population of such nets, calibration included."""

    kind: Ints  # [nets, room] FREE, INPUT, OUTPUT or HIDDEN
    source: Ints  # [nets, room, 3]
    weight: Floats  # [nets, room, 3] drawn when the edge was made, then frozen
    top: Ints  # [nets] one past the last slot in use
    growths: Floats  # [nets] average per mutation
    prunings: Floats  # [nets] average per mutation
    passes: Ints  # [nets] per input
    locality: Floats  # [nets] chance to stay within a radius
    n: Floats  # [nets, room] calibration: how many values a node has seen
    mean: Floats  # [nets, room]
    m2: Floats  # [nets, room] sum of squared deviations
    fresh: Bools  # [nets, room] slots whose node changed in the last mutation


SLOT_ARRAYS = ("kind", "source", "weight", "n", "mean", "m2", "fresh")
RUNNING_STATS_FIELDS = ("n", "mean", "m2")


def empty_graph(nets: int, inputs: int, outputs: int) -> GraphArrays:
    """Inputs and outputs, and nothing between them."""
    room = inputs + outputs + CAPACITY_STEP

    def floats(*shape: int) -> Floats:
        return np.zeros((nets, *shape), dtype=np.float64)

    kind = np.zeros((nets, room), dtype=np.int64)
    kind[:, :inputs] = INPUT
    kind[:, inputs : inputs + outputs] = OUTPUT
    return GraphArrays(
        kind=kind,
        source=np.full((nets, room, MAX_SOURCES), -1, dtype=np.int64),
        weight=floats(room, MAX_SOURCES),
        top=np.full(nets, inputs + outputs, dtype=np.int64),
        growths=np.full(nets, 1.0),
        prunings=np.full(nets, 0.5),
        passes=np.ones(nets, dtype=np.int64),
        locality=np.full(nets, 0.5),
        n=floats(room),
        mean=floats(room),
        m2=floats(room),
        fresh=np.zeros((nets, room), dtype=np.bool_),
    )


def with_capacity(graph: GraphArrays, capacity: int) -> GraphArrays:
    """The same nets with at least `capacity` slots."""
    missing = capacity - graph.kind.shape[1]
    if missing <= 0:
        return graph
    return graph._replace(
        **{name: pad_slots(getattr(graph, name), 1, missing) for name in SLOT_ARRAYS}
    )


def pad_slots(array: AnyArray, axis: int, extra: int) -> AnyArray:
    """`extra` empty slots more; an empty source is -1, all else is 0."""
    pads = [(0, 0)] * array.ndim
    pads[axis] = (0, extra)
    is_source = array.ndim == 3 and array.dtype == np.int64
    return np.pad(array, pads, constant_values=-1 if is_source else 0)
