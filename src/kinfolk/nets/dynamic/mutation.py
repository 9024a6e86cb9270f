"""Mutation of topology: scalars, then prunings, then growths, each member from its own key.

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

RATE_SIGMA = 0.01
PASSES_ODDS = 100  # 1 in so many to lose a pass, and as many to gain one


class MutationScratch(NamedTuple):
    """Room for the member at hand."""

    cursor: Ints  # [1] draws so far
    distance: Ints  # [room]
    candidates: Bools  # [room]
    in_radius: Bools  # [room]
    has_outgoing: Bools  # [room] whether a node is anybody's source


def allocate_scratch(capacity: int) -> MutationScratch:
    """Empty scratch."""
    cursor, distance = np.zeros(1, dtype=np.int64), np.zeros(capacity, dtype=np.int64)
    wanted, within, feeds = (np.zeros(capacity, dtype=np.bool_) for _ in range(3))
    return MutationScratch(cursor, distance, wanted, within, feeds)


@inline
def _draw_normal(key: Any, cursor: Ints) -> Any:
    cursor[0] += 1
    return standard_normal(key, cursor[0])


@inline
def _degree(source: Ints, node: int) -> int:
    count = 0
    for edge in range(MAX_SOURCES):
        count += 1 if source[node, edge] >= 0 else 0
    return count


@inline
def _mark_feeds(source: Ints, top: int, feeds: Bools) -> None:
    for node in range(feeds.shape[0]):
        feeds[node] = False
    for node in range(top):
        for edge in range(MAX_SOURCES):
            if source[node, edge] >= 0:
                feeds[source[node, edge]] = True


@inline
def _connect(g: GraphArrays, net: int, source: int, target: int, key: Any, cursor: Ints) -> None:
    edge = _degree(g.source[net], target)
    g.source[net, target, edge] = source
    g.weight[net, target, edge] = _draw_normal(key, cursor)


@inline
def _disconnect(g: GraphArrays, net: int, target: int, edge: int) -> None:
    """Remove an edge; the later ones move up."""
    for later in range(edge, MAX_SOURCES - 1):
        g.source[net, target, later] = g.source[net, target, later + 1]
        g.weight[net, target, later] = g.weight[net, target, later + 1]
    g.source[net, target, MAX_SOURCES - 1] = -1
    g.weight[net, target, MAX_SOURCES - 1] = 0.0


@inline
def _reset_node(g: GraphArrays, net: int, node: int, kind: int) -> None:
    """Make the slot a new, unconnected node, or a hole."""
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
    """Remove a random hidden node, and every hidden node left without an in- or out-edge."""
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
        _mark_feeds(g.source[net], g.top[net], s.has_outgoing)
        for node in range(g.top[net]):
            lost = _degree(g.source[net], node) == 0 or not s.has_outgoing[node]
            if g.kind[net, node] == HIDDEN and lost:
                _remove_node(g, net, node)
                again = True
    while g.kind[net, g.top[net] - 1] == FREE:
        g.top[net] -= 1


@inline
def _mark_sources(g: GraphArrays, net: int, s: MutationScratch, but: int, fresh: int) -> int:
    """Want inputs that feed nothing; if there are none, all that receive. Count them."""
    count = 0
    for idle_only in range(1, -1, -1):
        for node in range(s.candidates.shape[0]):
            kind = g.kind[net, node]
            receives = kind == INPUT or _degree(g.source[net], node) > 0
            fits = (kind == INPUT and not s.has_outgoing[node]) if idle_only else receives
            s.candidates[node] = fits and node != but and node != fresh
            count += 1 if s.candidates[node] else 0
        if count > 0:
            return count
    return count


@inline
def _mark_targets(g: GraphArrays, net: int, s: MutationScratch, fresh: int) -> None:
    """Want outputs that receive nothing; if there are none, nodes with room for an edge."""
    count = 0
    for node in range(s.candidates.shape[0]):
        idle = g.kind[net, node] == OUTPUT and _degree(g.source[net], node) == 0
        s.candidates[node] = idle
        count += 1 if idle else 0
    if count == 0:
        for node in range(s.candidates.shape[0]):
            kind = g.kind[net, node]
            takes = kind in (HIDDEN, OUTPUT) and node != fresh
            s.candidates[node] = takes and _degree(g.source[net], node) < MAX_SOURCES


@inline
def grow(g: GraphArrays, net: int, first_source: int, key: Any, s: MutationScratch) -> int:
    """Add a node with two sources and a target; `first_source` is its first source, -1 for any.

    Where there is no second source, as with a single input, it has one. Returns the node, or -1
    if there is no slot or nobody could take its edge.
    """
    node = 0
    while node < g.kind.shape[1] and g.kind[net, node] != FREE:
        node += 1
    if node == g.kind.shape[1]:
        return -1
    _reset_node(g, net, node, HIDDEN)
    g.top[net] = max(g.top[net], node + 1)
    source, locality = g.source[net], g.locality[net]
    _mark_feeds(source, g.top[net], s.has_outgoing)
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
    """A whole number with this average: rounded down, or up with the chance of what is left."""
    down = math.floor(average)
    return int(down) + (1 if draw_uniform(key, cursor) < average - down else 0)


@inline
def _mutate_scalars(g: GraphArrays, net: int, key: Any, cursor: Ints) -> None:
    g.growths[net] *= 1.0 + RATE_SIGMA * _draw_normal(key, cursor)
    g.prunings[net] *= 1.0 + RATE_SIGMA * _draw_normal(key, cursor)
    cursor[0] += 1
    chance = randint(key, cursor[0], PASSES_ODDS)
    if chance == 0 and g.passes[net] > 1:
        g.passes[net] -= 1
    elif chance == PASSES_ODDS - 1:
        g.passes[net] += 1
    moved = g.locality[net] + RATE_SIGMA * _draw_normal(key, cursor)
    g.locality[net] = min(1.0, max(0.0, moved))


@kernel
def mutate_graphs(g: GraphArrays, keys: Ints, n_elites: int, s: MutationScratch) -> None:
    """Mutate all nets but the first `n_elites`; draws of net `i` follow from `keys[i]` alone."""
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
