"""Choosing a node that is near another: rings of a breadth-first walk that ignores direction."""

from __future__ import annotations

from typing import Any

from kinfolk.core.arrays import Bools, Ints
from kinfolk.core.jit import inline
from kinfolk.core.random import randint, uniform


@inline
def draw_uniform(key: Any, cursor: Ints) -> Any:
    """The next number in [0, 1)."""
    cursor[0] += 1
    return uniform(key, cursor[0])


@inline
def pick_random(candidates: Bools, count: int, key: Any, cursor: Ints) -> int:
    """One of the `count` nodes that are `candidates`."""
    cursor[0] += 1
    left = randint(key, cursor[0], count)
    for node in range(candidates.shape[0]):
        if candidates[node]:
            if left == 0:
                return node
            left -= 1
    return -1


@inline
def expand_radius(source: Ints, top: int, distance: Ints, radius: int) -> bool:
    """Mark the nodes at `radius`; whether there were any."""
    found = False
    for node in range(top):
        for edge in range(source.shape[1]):
            other = source[node, edge]
            if other < 0:
                break
            if distance[other] == radius - 1 and distance[node] < 0:
                distance[node] = radius
                found = True
            elif distance[node] == radius - 1 and distance[other] < 0:
                distance[other] = radius
                found = True
    return found


@inline
def pick_nearby(
    source: Ints, top: int, start: int, candidates: Bools, locality: float, key: Any, cursor: Ints,
    distance: Ints, in_radius: Bools,
) -> int:  # fmt: skip
    """A wanted node near `start`; -1 if none is wanted.

    At each radius one of the wanted nodes so far is taken with the chance `locality`, else the
    circle widens. Beyond the edge of what is connected, any wanted node will do. `start` itself
    is at the radius 2: there and back.
    """
    total = 0
    for node in range(candidates.shape[0]):
        distance[node] = -1
        in_radius[node] = False
        total += 1 if candidates[node] else 0
    if total == 0:
        return -1
    distance[start] = 0
    radius = 1
    while expand_radius(source, top, distance, radius):
        count = 0
        for node in range(top):
            near = distance[node] > 0 or (distance[node] == 0 and radius >= 2)
            in_radius[node] = candidates[node] and near
            count += 1 if in_radius[node] else 0
        if count > 0 and draw_uniform(key, cursor) < locality:
            return pick_random(in_radius, count, key, cursor)
        radius += 1
    return pick_random(candidates, total, key, cursor)
