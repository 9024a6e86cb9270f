"""Nets whose topology changes, as arrays: `[nets, room]`, a slot per node.

Slots hold the inputs first, then the outputs, then hidden nodes and holes they left. A node has up
to three sources, kept without gaps; -1 is none.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinfolk.core.arrays import AnyArray, Bools, Floats, Ints

FREE, INPUT, OUTPUT, HIDDEN = 0, 1, 2, 3
SOURCES = 3
ROOM = 8  # slots added at a time


class Graph(NamedTuple):
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


BY_SLOT = ("kind", "source", "weight", "n", "mean", "m2", "fresh")
CALIBRATION = ("n", "mean", "m2")


def empty_graph(nets: int, inputs: int, outputs: int) -> Graph:
    """Inputs and outputs, and nothing between them."""
    room = inputs + outputs + ROOM

    def floats(*shape: int) -> Floats:
        return np.zeros((nets, *shape), dtype=np.float64)

    kind = np.zeros((nets, room), dtype=np.int64)
    kind[:, :inputs] = INPUT
    kind[:, inputs : inputs + outputs] = OUTPUT
    return Graph(
        kind=kind,
        source=np.full((nets, room, SOURCES), -1, dtype=np.int64),
        weight=floats(room, SOURCES),
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


def with_room(graph: Graph, room: int) -> Graph:
    """The same nets with at least `room` slots."""
    missing = room - graph.kind.shape[1]
    if missing <= 0:
        return graph
    return graph._replace(**{name: widened(getattr(graph, name), 1, missing) for name in BY_SLOT})


def widened(array: AnyArray, axis: int, missing: int) -> AnyArray:
    """`missing` empty slots more; an empty source is -1, all else is 0."""
    pads = [(0, 0)] * array.ndim
    pads[axis] = (0, missing)
    is_source = array.ndim == 3 and array.dtype == np.int64
    return np.pad(array, pads, constant_values=-1 if is_source else 0)
