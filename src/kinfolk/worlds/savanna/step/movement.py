"""Moves: one agent after the other. Predators and prey do not stand in each other's way."""

from __future__ import annotations

from math import sqrt

from kinfolk.core.arrays import Bools, Floats, Ints
from kinfolk.core.jit import inline
from kinfolk.worlds.savanna.rules import SavannaRules
from kinfolk.worlds.savanna.state import (
    BLOCKED_CORNER,
    BLOCKED_LOS,
    BLOCKED_OCCUPIED,
    BLOCKED_WALL,
    MOVE_COST,
    RowIndices,
)
from kinfolk.worlds.savanna.step.occupancy import (
    OccupancyArrays,
    add_to_cell,
    refresh_occupied_cell,
    refresh_vacated_cell,
    remove_from_cell,
)


@inline
def has_clear_line(wall: Bools, size: int, x0: int, y0: int, x1: int, y1: int) -> bool:
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
def find_move_block(
    wall: Bools,
    size: int,
    check_line_of_sight: bool,
    is_occupied: bool,
    x: int,
    y: int,
    to_x: int,
    to_y: int,
) -> int:
    """Which counter says why the way is barred, or -1 if it is free."""
    if wall[to_x * size + to_y]:
        return BLOCKED_WALL
    if is_occupied:
        return BLOCKED_OCCUPIED
    if check_line_of_sight and (to_x != x or to_y != y):
        if abs(to_x - x) == 1 and abs(to_y - y) == 1:
            if wall[to_x * size + y] or wall[x * size + to_y]:
                return BLOCKED_CORNER
        elif not has_clear_line(wall, size, x, y, to_x, to_y):
            return BLOCKED_LOS
    return -1


@inline
def move_agents(
    occupancy: OccupancyArrays,
    rules: SavannaRules,
    done: Bools,
    group: Ints,
    carcass: Bools,
    counters: Ints,
    energy_accounts: Floats,
    actions: Ints,
    acting_rows: RowIndices,
    n_acting: Ints,
    first: int,
    last: int,
) -> None:
    """Those in `acting_rows` go where they want, in that order, if nothing bars the way.

    Staying put counts as a move onto an occupied cell, as published.
    """
    wall, moves, look, erase, price = (
        rules.wall,
        rules.moves,
        rules.line_of_sight_moves,
        rules.cell_erasure,
        rules.move_cost,
    )
    rows, size, types = occupancy.alive.shape[1], rules.size, rules.n_types
    for w in range(first, last):
        if done[w]:
            continue
        for k in range(2):
            for i in range(n_acting[w, k]):
                row = acting_rows[w, k, i]
                if not occupancy.alive[w, row] or carcass[w, row]:
                    continue
                breed = group[w, row] - k * types
                action = actions[w * rows + row, 0]
                x, y = occupancy.x[w, row], occupancy.y[w, row]
                to_x = min(max(x + moves[breed, action, 0], 0), size - 1)
                to_y = min(max(y + moves[breed, action, 1], 0), size - 1)
                cell, target = x * size + y, to_x * size + to_y
                taken = occupancy.visible_energy[w, k, target] > 0.0
                bar = find_move_block(wall, size, look, taken, x, y, to_x, to_y)
                if bar >= 0:
                    counters[w, bar] += 1
                    target = cell
                if target != cell:
                    occupancy.x[w, row] = to_x
                    occupancy.y[w, row] = to_y
                    remove_from_cell(occupancy, w, k, cell, row)
                    add_to_cell(occupancy, w, k, target, row)
                    if price > 0.0:
                        far = sqrt(float((to_x - x) * (to_x - x) + (to_y - y) * (to_y - y)))
                        cost = far * price * occupancy.energy[w, row]
                        occupancy.energy[w, row] -= cost
                        energy_accounts[w, MOVE_COST] += cost
                    refresh_vacated_cell(occupancy, erase, w, k, cell)
                refresh_occupied_cell(occupancy, erase, w, k, target, row)
