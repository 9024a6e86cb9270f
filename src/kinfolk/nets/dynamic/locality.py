"""Choose a node near another by breadth-first search over edges in both directions."""

from __future__ import annotations

from typing import Any

from kinfolk.core.arrays import Bools, Ints
from kinfolk.core.jit import inline
from kinfolk.core.random import randint, uniform


@inline
def draw_uniform(key: Any, cursor: Ints) -> Any:
    """Return the next uniform number in [0, 1), and advance the cursor."""
    cursor[0] += 1
    return uniform(key, cursor[0])


@inline
def pick_random(candidates: Bools, count: int, key: Any, cursor: Ints) -> int:
    """Return a candidate drawn uniformly.

    Args:
        candidates: `[capacity]`.
        count: How many there are.
        key: Random key.
        cursor: `[1]`, number of draws so far, advanced.
    """
    cursor[0] += 1
    remaining = randint(key, cursor[0], count)
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
def pick_nearby(
    source: Ints, top: int, start: int, candidates: Bools, locality: float, key: Any, cursor: Ints,
    distance: Ints, in_radius: Bools,
) -> int:  # fmt: skip
    """Return a random candidate near `start`; -1 if there are no candidates.

    At each radius a candidate within it is chosen with probability `locality`, otherwise the radius
    grows. Beyond the connected component any candidate may be chosen. `start` itself counts as at
    radius 2, there and back.

    Args:
        source: `[capacity, 3]`, sources of each node.
        top: One past the last slot in use.
        start: Node at which the search begins.
        candidates: `[capacity]`.
        locality: Probability to stop at a radius that has candidates.
        key: Random key.
        cursor: `[1]`, number of draws so far, advanced.
        distance: `[capacity]`, overwritten.
        in_radius: `[capacity]`, overwritten.
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
