"""Mutation of topology: scalars, then prunings, then growths, with a random key per member.

Rules after M. Le Clei's dynamic nets; see docs/neuroevolution.md.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from kinfolk.core.arrays import Bools, Ints
from kinfolk.core.jit import inline, kernel
from kinfolk.core.random import randint
from kinfolk.nets.dynamic.graph import FREE, HIDDEN, INPUT, MAX_SOURCES, OUTPUT, GraphArrays
from kinfolk.nets.dynamic.locality import draw_uniform, pick_nearby, pick_random
from kinfolk.nets.gaussian import standard_normal

RATE_SIGMA = 0.01  # standard deviation of the mutation of scalars
PASSES_ODDS = 100  # a pass is lost with probability 1/100, and gained with the same


class MutationScratch(NamedTuple):
    """Scratch arrays for the mutation of one member."""

    cursor: Ints  # [1] number of draws so far
    distance: Ints  # [capacity] see `pick_nearby`
    candidates: Bools  # [capacity]
    in_radius: Bools  # [capacity]
    has_outgoing: Bools  # [capacity] whether the node is a source of another


def allocate_scratch(capacity: int) -> MutationScratch:
    """Return scratch arrays for nets with `capacity` slots."""
    cursor, distance = np.zeros(1, dtype=np.int64), np.zeros(capacity, dtype=np.int64)
    masks = (np.zeros(capacity, dtype=np.bool_) for _ in range(3))
    return MutationScratch(cursor, distance, *masks)


@inline
def _draw_normal(key: Any, cursor: Ints) -> Any:
    """Return the next draw from N(0, 1), and advance the cursor."""
    cursor[0] += 1
    return standard_normal(key, cursor[0])


@inline
def _in_degree(source: Ints, node: int) -> int:
    """Return the number of in-edges of a node."""
    count = 0
    for edge in range(MAX_SOURCES):
        count += 1 if source[node, edge] >= 0 else 0
    return count


@inline
def _mark_outgoing(source: Ints, top: int, has_outgoing: Bools) -> None:
    """Write to `has_outgoing` which nodes are a source of another.

    Args:
        source: `[capacity, 3]`.
        top: One past the last slot in use.
        has_outgoing: `[capacity]`, written.
    """
    for node in range(has_outgoing.shape[0]):
        has_outgoing[node] = False
    for node in range(top):
        for edge in range(MAX_SOURCES):
            if source[node, edge] >= 0:
                has_outgoing[source[node, edge]] = True


@inline
def _connect(g: GraphArrays, net: int, source: int, target: int, key: Any, cursor: Ints) -> None:
    """Add an edge with a weight from N(0, 1).

    Args:
        g: The population, changed.
        net: Which member.
        source: Node at which the edge begins.
        target: Node at which it ends; it must have room.
        key: Random key of the member.
        cursor: `[1]`, number of draws so far, advanced.
    """
    edge = _in_degree(g.source[net], target)
    g.source[net, target, edge] = source
    g.weight[net, target, edge] = _draw_normal(key, cursor)


@inline
def _disconnect(g: GraphArrays, net: int, target: int, edge: int) -> None:
    """Remove an in-edge; later edges of the node move up.

    Args:
        g: The population, changed.
        net: Which member.
        target: Node at which the edge ends.
        edge: Index of the edge among those of the node.
    """
    for later in range(edge, MAX_SOURCES - 1):
        g.source[net, target, later] = g.source[net, target, later + 1]
        g.weight[net, target, later] = g.weight[net, target, later + 1]
    g.source[net, target, MAX_SOURCES - 1] = -1
    g.weight[net, target, MAX_SOURCES - 1] = 0.0


@inline
def _reset_node(g: GraphArrays, net: int, node: int, kind: int) -> None:
    """Make a slot a new unconnected node, or a free slot.

    Args:
        g: The population, changed.
        net: Which member.
        node: The slot.
        kind: `HIDDEN` or `FREE`.
    """
    g.kind[net, node] = kind
    g.fresh[net, node] = True
    g.n[net, node] = 0.0
    g.mean[net, node] = 0.0
    g.m2[net, node] = 0.0
    for edge in range(MAX_SOURCES):
        g.source[net, node, edge] = -1
        g.weight[net, node, edge] = 0.0


@inline
def _remove_node(g: GraphArrays, net: int, node: int) -> None:
    """Free a slot of member `net` and remove all edges from it."""
    _reset_node(g, net, node, FREE)
    for target in range(g.top[net]):
        edge = 0
        while edge < MAX_SOURCES:
            if g.source[net, target, edge] == node:
                _disconnect(g, net, target, edge)
            else:
                edge += 1


@inline
def prune(g: GraphArrays, net: int, key: Any, s: MutationScratch) -> None:
    """Remove a random hidden node, and then every hidden node without in-edges or out-edges.

    Args:
        g: The population, changed.
        net: Which member.
        key: Random key of the member.
        s: Scratch; its cursor is advanced.
    """
    count = 0
    for node in range(s.candidates.shape[0]):
        s.candidates[node] = g.kind[net, node] == HIDDEN
        count += 1 if s.candidates[node] else 0
    if count == 0:
        return
    _remove_node(g, net, pick_random(s.candidates, count, key, s.cursor))
    again = True
    while again:
        again = False
        _mark_outgoing(g.source[net], g.top[net], s.has_outgoing)
        for node in range(g.top[net]):
            disconnected = _in_degree(g.source[net], node) == 0 or not s.has_outgoing[node]
            if g.kind[net, node] == HIDDEN and disconnected:
                _remove_node(g, net, node)
                again = True
    while g.kind[net, g.top[net] - 1] == FREE:
        g.top[net] -= 1


@inline
def _mark_sources(
    g: GraphArrays, net: int, s: MutationScratch, excluded: int, new_node: int
) -> int:
    """Mark the possible sources of a new node, and return their number.

    These are the inputs without out-edges; if there are none, all inputs and nodes with in-edges.

    Args:
        g: The population.
        net: Which member.
        s: Scratch: `has_outgoing` is read, `candidates` written.
        excluded: A node that is not marked; -1 for none.
        new_node: The new node, which is not marked either.
    """
    count = 0
    for idle_only in range(1, -1, -1):
        for node in range(s.candidates.shape[0]):
            kind = g.kind[net, node]
            receives = kind == INPUT or _in_degree(g.source[net], node) > 0
            fits = (kind == INPUT and not s.has_outgoing[node]) if idle_only else receives
            s.candidates[node] = fits and node != excluded and node != new_node
            count += 1 if s.candidates[node] else 0
        if count > 0:
            return count
    return count


@inline
def _mark_targets(g: GraphArrays, net: int, s: MutationScratch, new_node: int) -> None:
    """Mark the possible targets of a new node.

    These are the outputs without in-edges; if there are none, hidden nodes and outputs with room
    for another edge.

    Args:
        g: The population.
        net: Which member.
        s: Scratch: `candidates` is written.
        new_node: The new node, which is not marked.
    """
    count = 0
    for node in range(s.candidates.shape[0]):
        idle = g.kind[net, node] == OUTPUT and _in_degree(g.source[net], node) == 0
        s.candidates[node] = idle
        count += 1 if idle else 0
    if count == 0:
        for node in range(s.candidates.shape[0]):
            kind = g.kind[net, node]
            accepts = kind in (HIDDEN, OUTPUT) and node != new_node
            s.candidates[node] = accepts and _in_degree(g.source[net], node) < MAX_SOURCES


@inline
def grow(g: GraphArrays, net: int, first_source: int, key: Any, s: MutationScratch) -> int:
    """Add a hidden node with two sources and a target.

    Where there is no second source, as with a single input, the node has one.

    Args:
        g: The population, changed.
        net: Which member.
        first_source: First source of the new node; -1 draws one.
        key: Random key of the member.
        s: Scratch; its cursor is advanced.

    Returns:
        The new node, or -1 if there is no free slot or no possible target.
    """
    node = 0
    while node < g.kind.shape[1] and g.kind[net, node] != FREE:
        node += 1
    if node == g.kind.shape[1]:
        return -1
    _reset_node(g, net, node, HIDDEN)
    g.top[net] = max(g.top[net], node + 1)
    source, locality = g.source[net], g.locality[net]
    _mark_outgoing(source, g.top[net], s.has_outgoing)
    if first_source < 0:
        count = _mark_sources(g, net, s, -1, node)
        first_source = pick_random(s.candidates, count, key, s.cursor)
    _connect(g, net, first_source, node, key, s.cursor)
    _mark_sources(g, net, s, first_source, node)
    second = pick_nearby(
        source,
        g.top[net],
        first_source,
        s.candidates,
        locality,
        key,
        s.cursor,
        s.distance,
        s.in_radius,
    )
    if second >= 0:
        _connect(g, net, second, node, key, s.cursor)
    _mark_targets(g, net, s, node)
    near = second if second >= 0 else first_source
    target = pick_nearby(
        source, g.top[net], near, s.candidates, locality, key, s.cursor, s.distance, s.in_radius
    )
    if target < 0:
        _remove_node(g, net, node)
        return -1
    _connect(g, net, node, target, key, s.cursor)
    return node


@inline
def _stochastic_round(average: float, key: Any, cursor: Ints) -> int:
    """Round up with the probability of the fractional part, otherwise down.

    Args:
        average: Expected value of the result.
        key: Random key of the member.
        cursor: `[1]`, number of draws so far, advanced.
    """
    down = math.floor(average)
    return int(down) + (1 if draw_uniform(key, cursor) < average - down else 0)


@inline
def _mutate_scalars(g: GraphArrays, net: int, key: Any, cursor: Ints) -> None:
    """Mutate the rates of growth and pruning, the number of passes and the locality.

    Args:
        g: The population, changed.
        net: Which member.
        key: Random key of the member.
        cursor: `[1]`, number of draws so far, advanced.
    """
    g.growths[net] *= 1.0 + RATE_SIGMA * _draw_normal(key, cursor)
    g.prunings[net] *= 1.0 + RATE_SIGMA * _draw_normal(key, cursor)
    cursor[0] += 1
    draw = randint(key, cursor[0], PASSES_ODDS)
    if draw == 0 and g.passes[net] > 1:
        g.passes[net] -= 1
    elif draw == PASSES_ODDS - 1:
        g.passes[net] += 1
    locality = g.locality[net] + RATE_SIGMA * _draw_normal(key, cursor)
    g.locality[net] = min(1.0, max(0.0, locality))


@kernel
def mutate_graphs(g: GraphArrays, keys: Ints, n_elites: int, s: MutationScratch) -> None:
    """Mutate all nets but the first `n_elites`.

    Args:
        g: The population, changed; `fresh` marks the slots whose node changed.
        keys: `[nets]`; the draws of a net depend on its own key only.
        n_elites: How many of the first nets stay as they are.
        s: Scratch, overwritten.
    """
    for net in range(keys.shape[0]):
        for node in range(g.fresh.shape[1]):
            g.fresh[net, node] = False
        if net < n_elites:
            continue
        key, s.cursor[0] = keys[net], 0
        _mutate_scalars(g, net, key, s.cursor)
        for _ in range(_stochastic_round(g.prunings[net], key, s.cursor)):
            prune(g, net, key, s)
        last = -1
        for _ in range(_stochastic_round(g.growths[net], key, s.cursor)):
            last = grow(g, net, last, key, s)
