"""Moves: one agent after the other. Predators and prey do not stand in each other's way."""

from __future__ import annotations

from math import sqrt

from kinfolk.core.arrays import Bools, Floats, Ints
from kinfolk.core.jit import inline
from kinfolk.worlds.savanna.cells import Ground, enter, leave, reveal, vacate
from kinfolk.worlds.savanna.rules import Rules
from kinfolk.worlds.savanna.state import (
    BLOCKED_CORNER,
    BLOCKED_LOS,
    BLOCKED_OCCUPIED,
    BLOCKED_WALL,
    MOVED,
    Rows,
)


@inline
def clear_line(wall: Bools, size: int, x0: int, y0: int, x1: int, y1: int) -> bool:
    """Whether no wall lies strictly between two cells, on Bresenham's line from the first."""
    dx, dy = abs(x1 - x0), abs(y1 - y0)
    sx = 1 if x1 > x0 else -1
    sy = 1 if y1 > y0 else -1
    steep = dy > dx
    longer, shorter = (dy, dx) if steep else (dx, dy)
    error = longer  # twice the usual half, so that all stays whole
    x, y = x0, y0
    for step in range(longer):
        if step > 0 and 0 <= x < size and 0 <= y < size and wall[x * size + y]:
            return False
        error -= 2 * shorter
        if error < 0:
            error += 2 * longer
            x += sx
            y += sy
        elif steep:
            y += sy
        else:
            x += sx
    return True


@inline
def obstacle(
    wall: Bools, size: int, look: bool, taken: bool, x: int, y: int, to_x: int, to_y: int
) -> int:
    """Which counter says why the way is barred, or -1 if it is free."""
    if wall[to_x * size + to_y]:
        return BLOCKED_WALL
    if taken:
        return BLOCKED_OCCUPIED
    if look and (to_x != x or to_y != y):
        if abs(to_x - x) == 1 and abs(to_y - y) == 1:
            if wall[to_x * size + y] or wall[x * size + to_y]:
                return BLOCKED_CORNER
        elif not clear_line(wall, size, x, y, to_x, to_y):
            return BLOCKED_LOS
    return -1


@inline
def move(
    g: Ground,
    r: Rules,
    done: Bools,
    group: Ints,
    carcass: Bools,
    tally: Ints,
    accounts: Floats,
    actions: Ints,
    acting: Rows,
    counts: Ints,
    first: int,
    last: int,
) -> None:
    """Those in `acting` go where they want, in that order, if nothing bars the way.

    Staying put counts as a move onto an occupied cell, as published.
    """
    wall, moves, look, erase, price = r.wall, r.moves, r.los_moves, r.erase, r.move_cost
    rows, size, types = g.alive.shape[1], r.size, r.types
    for w in range(first, last):
        if done[w]:
            continue
        for k in range(2):
            for i in range(counts[w, k]):
                row = acting[w, k, i]
                if not g.alive[w, row] or carcass[w, row]:
                    continue
                breed = group[w, row] - k * types
                action = actions[w * rows + row, 0]
                x, y = g.x[w, row], g.y[w, row]
                to_x = min(max(x + moves[breed, action, 0], 0), size - 1)
                to_y = min(max(y + moves[breed, action, 1], 0), size - 1)
                cell, target = x * size + y, to_x * size + to_y
                taken = g.shown[w, k, target] > 0.0
                bar = obstacle(wall, size, look, taken, x, y, to_x, to_y)
                if bar >= 0:
                    tally[w, bar] += 1
                    target = cell
                if target != cell:
                    g.x[w, row] = to_x
                    g.y[w, row] = to_y
                    leave(g, w, k, cell, row)
                    enter(g, w, k, target, row)
                    if price > 0.0:
                        far = sqrt(float((to_x - x) * (to_x - x) + (to_y - y) * (to_y - y)))
                        cost = far * price * g.energy[w, row]
                        g.energy[w, row] -= cost
                        accounts[w, MOVED] += cost
                    vacate(g, erase, w, k, cell)
                reveal(g, erase, w, k, target, row)
