"""Populations of graphs as arrays, `[nets, capacity]`, and random choices of nodes in them.

A graph has a slot per node: the inputs first, then the outputs, then hidden nodes and free slots. A
node has up to three sources, stored without gaps; -1 is none.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kinfolk.core.arrays import AnyArray, Bools, Floats, Ints
from kinfolk.core.jit import inline
from kinfolk.core.random import randint, uniform

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
    innovation: Ints  # [nets, capacity] identity of a node, which its copies in offspring share


def empty_graph(nets: int, inputs: int, outputs: int) -> GraphArrays:
    """Return graphs of unconnected inputs and outputs, with the initial scalars."""
    slots, edges = (nets, inputs + outputs + CAPACITY_STEP), MAX_SOURCES
    kind = np.zeros(slots, dtype=np.int64)
    kind[:, :inputs] = INPUT
    kind[:, inputs : inputs + outputs] = OUTPUT
    return GraphArrays(
        kind=kind,
        source=np.full((*slots, edges), -1, dtype=np.int64),
        weight=np.zeros((*slots, edges)),
        top=np.full(nets, inputs + outputs, dtype=np.int64),
        growths=np.full(nets, 1.0),
        prunings=np.full(nets, 0.5),
        passes=np.ones(nets, dtype=np.int64),
        locality=np.full(nets, 0.5),
        n=np.zeros(slots),
        mean=np.zeros(slots),
        m2=np.zeros(slots),
        fresh=np.zeros(slots, dtype=np.bool_),
        innovation=np.broadcast_to(np.arange(slots[1]), slots) * (kind != FREE),
    )


def with_capacity(graph: GraphArrays, capacity: int) -> GraphArrays:
    """Return the same graphs with at least `capacity` slots."""
    missing = capacity - graph.kind.shape[1]
    if missing <= 0:
        return graph
    return GraphArrays._make(a if a.ndim == 1 else pad_slots(a, 1, missing) for a in graph)


def pad_slots(array: AnyArray, axis: int, extra: int) -> AnyArray:
    """Append `extra` free slots along an axis; sources are filled with -1, all else with 0."""
    pads = [(0, 0)] * array.ndim
    pads[axis] = (0, extra)
    is_source = array.ndim == 3 and array.dtype == np.int64
    return np.pad(array, pads, constant_values=-1 if is_source else 0)


class MutationScratch(NamedTuple):
    """Random stream of one member, and scratch arrays for its mutation."""

    stream: Ints  # [2] random key of the member, and the number of its draws so far
    distance: Ints  # [capacity] edges from the start of a search, -1 where it has not arrived
    candidates: Bools  # [capacity] nodes that may be chosen
    in_radius: Bools  # [capacity] candidates that a search has reached
    has_outgoing: Bools  # [capacity] whether the node is a source of another


def allocate_scratch(capacity: int) -> MutationScratch:
    """Return scratch arrays for nets with `capacity` slots."""
    stream, distance = np.zeros(2, dtype=np.int64), np.zeros(capacity, dtype=np.int64)
    masks = (np.zeros(capacity, dtype=np.bool_) for _ in range(3))
    return MutationScratch(stream, distance, *masks)


@inline
def draw_uniform(stream: Ints) -> Any:
    """Return the next uniform number in [0, 1) of a random stream (see `MutationScratch`)."""
    stream[1] += 1
    return uniform(stream[0], stream[1])


@inline
def pick_random(candidates: Bools, stream: Ints) -> int:
    """Return a node drawn uniformly from the marked `candidates`.

    Without candidates it returns -1 and draws no number.
    """
    count = np.count_nonzero(candidates)
    if count > 0:
        stream[1] += 1
        remaining = randint(stream[0], stream[1], count)
        for node in range(candidates.shape[0]):
            if candidates[node]:
                if remaining == 0:
                    return node
                remaining -= 1
    return -1


@inline
def expand_radius(source: Ints, top: int, distance: Ints, radius: int) -> bool:
    """Write the distance of nodes at `radius`, and return whether there are any.

    Args:
        source: `[capacity, 3]`, sources of each node.
        top: One past the last slot in use.
        distance: `[capacity]`, changed: edges from the start, -1 where not reached yet.
        radius: Edges from the start; smaller radii are done.
    """
    any_reached = False
    for node in range(top):
        for edge in range(source.shape[1]):
            other = source[node, edge]
            if other < 0:
                break
            if distance[other] == radius - 1 and distance[node] < 0:
                distance[node] = radius
                any_reached = True
            elif distance[node] == radius - 1 and distance[other] < 0:
                distance[other] = radius
                any_reached = True
    return any_reached


@inline
def pick_nearby(g: GraphArrays, net: int, start: int, s: MutationScratch) -> int:
    """Return a random node of `s.candidates` near `start`; -1 if there are no candidates.

    A breadth-first search follows edges in both directions. At each radius a candidate within it is
    chosen with the net's probability `locality`, otherwise the radius grows. Beyond the connected
    component any candidate may be chosen. `start` itself counts as at radius 2, there and back.

    Args:
        g: The population.
        net: Which member.
        start: Node at which the search begins.
        s: Scratch; `distance` and `in_radius` are overwritten.
    """
    s.distance[:] = -1
    s.in_radius[:] = False
    s.distance[start] = 0
    radius = 1
    while expand_radius(g.source[net], g.top[net], s.distance, radius):
        for node in range(g.top[net]):
            near = s.distance[node] > 0 or (s.distance[node] == 0 and radius >= 2)
            s.in_radius[node] = s.candidates[node] and near
        if s.in_radius.any() and draw_uniform(s.stream) < g.locality[net]:
            return pick_random(s.in_radius, s.stream)
        radius += 1
    return pick_random(s.candidates, s.stream)
