"""Crossover of dynamic nets after NEAT (Stanley and Miikkulainen 2002).

Nodes of two nets match if they descend from the same growth. A child has the topology of its first,
fitter parent; each node that matches takes its in-edges, their weights and its running statistics from
either parent with equal probability. Of the second parent's edges it takes those whose source has a
match in the child too; a node without any such edge keeps its own.
"""

from __future__ import annotations

from kinfolk.core.arrays import Bools, Ints
from kinfolk.core.jit import inline, kernel
from kinfolk.nets.dynamic.graph import (
    FREE,
    MAX_SOURCES,
    GraphArrays,
    MutationScratch,
    draw_uniform,
)
from kinfolk.nets.dynamic.mutation import remove_disconnected


@inline
def _find_match(g: GraphArrays, net: int, innovation: int) -> int:
    """Return the node of member `net` with this identity; -1 if it has none."""
    for node in range(g.top[net]):
        if g.kind[net, node] != FREE and g.innovation[net, node] == innovation:
            return node
    return -1


@inline
def _take_node(g: GraphArrays, mates: GraphArrays, net: int, node: int, match: int) -> None:
    """Take a node's in-edges and running statistics from the mate, if a source has a match.

    Args:
        g: The population, changed.
        mates: The mates.
        net: Which member, and which mate.
        node: The node in the member.
        match: The same node in the mate.
    """
    count = 0
    for edge in range(MAX_SOURCES):
        source = mates.source[net, match, edge]
        if source >= 0 and _find_match(g, net, mates.innovation[net, source]) >= 0:
            count += 1
    if count == 0:
        return
    position = 0
    for edge in range(MAX_SOURCES):
        source, matched = mates.source[net, match, edge], -1
        if source >= 0:
            matched = _find_match(g, net, mates.innovation[net, source])
        if matched >= 0:
            g.source[net, node, position] = matched
            g.weight[net, node, position] = mates.weight[net, match, edge]
            position += 1
    for edge in range(position, MAX_SOURCES):
        g.source[net, node, edge], g.weight[net, node, edge] = -1, 0.0
    g.n[net, node], g.mean[net, node] = mates.n[net, match], mates.mean[net, match]
    g.m2[net, node] = mates.m2[net, match]


@kernel
def cross_graphs(
    g: GraphArrays,
    mates: GraphArrays,
    crossed: Bools,
    keys: Ints,
    inputs: int,
    s: MutationScratch,
) -> None:
    """Cross members with their mates.

    Args:
        g: The population, changed.
        mates: `[nets, capacity]`, the mate of each member.
        crossed: `[nets]`, which members cross.
        keys: `[nets]`; the draws of a net depend on its own key only.
        inputs: Number of inputs, which have no in-edges.
        s: Scratch, overwritten.
    """
    for net in range(keys.shape[0]):
        if not crossed[net]:
            continue
        s.stream[0], s.stream[1] = keys[net], 0
        for node in range(inputs, g.top[net]):
            if g.kind[net, node] == FREE:
                continue
            match = _find_match(mates, net, g.innovation[net, node])
            if match >= 0 and draw_uniform(s.stream) < 0.5:
                _take_node(g, mates, net, node, match)
        remove_disconnected(g, net, s)
