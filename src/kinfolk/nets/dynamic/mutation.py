"""Mutation of topology: scalars, then prunings, then growths, with a random key per member.

Rules after M. Le Clei's dynamic nets; see docs/neuroevolution.md.
"""

from __future__ import annotations

import math
from typing import Any

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline, kernel
from kinfolk.core.random import fold_in, randint
from kinfolk.nets.dynamic import graph
from kinfolk.nets.dynamic.graph import GraphArrays, MutationScratch, pick_nearby, pick_random
from kinfolk.nets.numerics import standard_normal

RATE_SIGMA = 0.01  # standard deviation of the mutation of scalars
_INNOVATION_BRANCH = 1 << 40  # beyond the numbers of draws, so that no draw is changed
PASSES_ODDS = 100  # a pass is lost with probability 1/100, and gained with the same


@inline
def _draw_normal(stream: Ints) -> Any:
    """Return the next draw from N(0, 1) of a random stream (see `MutationScratch`)."""
    stream[1] += 1
    return standard_normal(stream[0], stream[1])


@inline
def _count_in_edges(sources: Ints) -> int:
    """Return the number of in-edges of a node with these sources, `[3]`."""
    count = 0
    for edge in range(graph.MAX_SOURCES):
        count += 1 if sources[edge] >= 0 else 0
    return count


@inline
def _mark_outgoing(g: GraphArrays, net: int, s: MutationScratch) -> None:
    """Write to `s.has_outgoing` which nodes of member `net` are a source of another."""
    s.has_outgoing[:] = False
    for node in range(g.top[net]):
        for edge in range(graph.MAX_SOURCES):
            if g.source[net, node, edge] >= 0:
                s.has_outgoing[g.source[net, node, edge]] = True


@inline
def _connect(g: GraphArrays, net: int, source: int, target: int, s: MutationScratch) -> None:
    """Add an edge with a weight from N(0, 1).

    Args:
        g: The population, changed.
        net: Which member.
        source: Node at which the edge begins.
        target: Node at which it ends; it must have room.
        s: Scratch; its random stream advances.
    """
    edge = _count_in_edges(g.source[net, target])
    g.source[net, target, edge] = source
    g.weight[net, target, edge] = _draw_normal(s.stream)


@inline
def _disconnect(g: GraphArrays, net: int, target: int, edge: int) -> None:
    """Remove an in-edge; later edges of the node move up.

    Args:
        g: The population, changed.
        net: Which member.
        target: Node at which the edge ends.
        edge: Index of the edge among those of the node.
    """
    source, weight = g.source[net, target], g.weight[net, target]
    for later in range(edge, graph.MAX_SOURCES - 1):
        source[later], weight[later] = source[later + 1], weight[later + 1]
    source[graph.MAX_SOURCES - 1], weight[graph.MAX_SOURCES - 1] = -1, 0.0


@inline
def _reset_node(g: GraphArrays, net: int, node: int, kind: int) -> None:
    """Make a slot a new unconnected node, or a free slot.

    Args:
        g: The population, changed.
        net: Which member.
        node: The slot.
        kind: `HIDDEN` or `FREE`.
    """
    g.kind[net, node], g.fresh[net, node] = kind, True
    g.n[net, node] = g.mean[net, node] = g.m2[net, node] = 0.0
    g.source[net, node] = -1
    g.weight[net, node] = 0.0
    g.innovation[net, node] = 0


@inline
def _remove_node(g: GraphArrays, net: int, node: int) -> None:
    """Free a slot of member `net` and remove all edges from it."""
    _reset_node(g, net, node, graph.FREE)
    for target in range(g.top[net]):
        edge = 0
        while edge < graph.MAX_SOURCES:
            if g.source[net, target, edge] == node:
                _disconnect(g, net, target, edge)
            else:
                edge += 1


@inline
def remove_disconnected(g: GraphArrays, net: int, s: MutationScratch) -> None:
    """Remove every hidden node of member `net` without in-edges or out-edges, until none is left.

    Args:
        g: The population, changed.
        net: Which member.
        s: Scratch; `has_outgoing` is overwritten.
    """
    again = True
    while again:
        again = False
        _mark_outgoing(g, net, s)
        for node in range(g.top[net]):
            disconnected = _count_in_edges(g.source[net, node]) == 0 or not s.has_outgoing[node]
            if g.kind[net, node] == graph.HIDDEN and disconnected:
                _remove_node(g, net, node)
                again = True
    while g.kind[net, g.top[net] - 1] == graph.FREE:
        g.top[net] -= 1


@inline
def prune(g: GraphArrays, net: int, s: MutationScratch) -> None:
    """Remove a random hidden node, and then every hidden node without in-edges or out-edges.

    Args:
        g: The population, changed.
        net: Which member.
        s: Scratch; its random stream advances.
    """
    for node in range(s.candidates.shape[0]):
        s.candidates[node] = g.kind[net, node] == graph.HIDDEN
    removed = pick_random(s.candidates, s.stream)
    if removed < 0:
        return
    _remove_node(g, net, removed)
    remove_disconnected(g, net, s)


@inline
def _mark_sources(g: GraphArrays, net: int, s: MutationScratch, excluded: int, new: int) -> None:
    """Mark the possible sources of a new node.

    These are the inputs without out-edges; if there are none, all inputs and nodes with in-edges.

    Args:
        g: The population.
        net: Which member.
        s: Scratch: `has_outgoing` is read, `candidates` written.
        excluded: A node that is not marked; -1 for none.
        new: The new node, which is not marked either.
    """
    for idle_only in (True, False):
        for node in range(s.candidates.shape[0]):
            is_input = g.kind[net, node] == graph.INPUT
            receives = is_input or _count_in_edges(g.source[net, node]) > 0
            fits = (is_input and not s.has_outgoing[node]) if idle_only else receives
            s.candidates[node] = fits and node != excluded and node != new
        if s.candidates.any():
            return


@inline
def _mark_targets(g: GraphArrays, net: int, s: MutationScratch, new: int) -> None:
    """Mark the possible targets of a new node.

    These are the outputs without in-edges; if there are none, hidden nodes and outputs with room
    for another edge.

    Args:
        g: The population.
        net: Which member.
        s: Scratch: `candidates` is written.
        new: The new node, which is not marked.
    """
    for node in range(s.candidates.shape[0]):
        idle = _count_in_edges(g.source[net, node]) == 0
        s.candidates[node] = idle and g.kind[net, node] == graph.OUTPUT
    if not s.candidates.any():
        for node in range(s.candidates.shape[0]):
            accepts = g.kind[net, node] in (graph.HIDDEN, graph.OUTPUT) and node != new
            s.candidates[node] = (
                accepts and _count_in_edges(g.source[net, node]) < graph.MAX_SOURCES
            )


@inline
def grow(g: GraphArrays, net: int, first_source: int, s: MutationScratch) -> int:
    """Add a hidden node with two sources and a target.

    Where there is no second source, as with a single input, the node has one.

    Args:
        g: The population, changed.
        net: Which member.
        first_source: First source of the new node; -1 draws one.
        s: Scratch; its random stream advances.

    Returns:
        The new node, or -1 if there is no free slot or no possible target.
    """
    node = 0
    while node < g.kind.shape[1] and g.kind[net, node] != graph.FREE:
        node += 1
    if node == g.kind.shape[1]:
        return -1
    _reset_node(g, net, node, graph.HIDDEN)
    g.innovation[net, node] = fold_in(s.stream[0], _INNOVATION_BRANCH + s.stream[1])
    g.top[net] = max(g.top[net], node + 1)
    _mark_outgoing(g, net, s)
    if first_source < 0:
        _mark_sources(g, net, s, -1, node)
        first_source = pick_random(s.candidates, s.stream)
    _connect(g, net, first_source, node, s)
    _mark_sources(g, net, s, first_source, node)
    second_source = pick_nearby(g, net, first_source, s)
    if second_source >= 0:
        _connect(g, net, second_source, node, s)
    _mark_targets(g, net, s, node)
    target = pick_nearby(g, net, second_source if second_source >= 0 else first_source, s)
    if target < 0:
        _remove_node(g, net, node)
        return -1
    _connect(g, net, node, target, s)
    return node


@inline
def _stochastic_round(average: float, s: MutationScratch) -> int:
    """Round up with the probability of the fractional part, otherwise down."""
    down = math.floor(average)
    return int(down) + (1 if graph.draw_uniform(s.stream) < average - down else 0)


@inline
def _mutate_scalars(g: GraphArrays, net: int, s: MutationScratch) -> None:
    """Mutate the rates of growth and pruning, the number of passes and the locality.

    Args:
        g: The population, changed.
        net: Which member.
        s: Scratch; its random stream advances.
    """
    g.growths[net] *= 1.0 + RATE_SIGMA * _draw_normal(s.stream)
    g.prunings[net] *= 1.0 + RATE_SIGMA * _draw_normal(s.stream)
    s.stream[1] += 1
    draw = randint(s.stream[0], s.stream[1], PASSES_ODDS)
    if draw == 0 and g.passes[net] > 1:
        g.passes[net] -= 1
    elif draw == PASSES_ODDS - 1:
        g.passes[net] += 1
    locality = g.locality[net] + RATE_SIGMA * _draw_normal(s.stream)
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
    g.fresh[:] = False
    for net in range(n_elites, keys.shape[0]):
        s.stream[0], s.stream[1] = keys[net], 0
        _mutate_scalars(g, net, s)
        for _ in range(_stochastic_round(g.prunings[net], s)):
            prune(g, net, s)
        last = -1
        for _ in range(_stochastic_round(g.growths[net], s)):
            last = grow(g, net, last, s)
