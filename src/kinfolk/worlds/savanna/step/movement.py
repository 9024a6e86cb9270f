"""Moves, one agent after the other; predators and prey do not block each other."""

from __future__ import annotations

from math import sqrt

from kinfolk.core.arrays import Bools, Floats, Ints
from kinfolk.core.jit import allocation_free_kernel, inline
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
    """Return whether no wall lies strictly between two cells on Bresenham's line from the first.

    Args:
        wall: `[size * size]`.
        size: Side of the grid.
        x0: x of the first cell.
        y0: y of the first cell.
        x1: x of the second cell.
        y1: y of the second cell.
    """
    dx, dy = abs(x1 - x0), abs(y1 - y0)
    sx = 1 if x1 > x0 else -1
    sy = 1 if y1 > y0 else -1
    steep = dy > dx
    longer, shorter = (dy, dx) if steep else (dx, dy)
    error = longer  # everything doubled, so that it stays an integer
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
    """Return the counter of the reason why a move is blocked, or -1 if it is free.

    Args:
        wall: `[size * size]`.
        size: Side of the grid.
        check_line_of_sight: Whether walls block moves across them and around their corners.
        is_occupied: Whether an agent of the same species is on the target cell.
        x: x before the move.
        y: y before the move.
        to_x: x after the move.
        to_y: y after the move.
    """
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
    """Move the agents in `acting_rows` in that order, where nothing blocks them.

    Staying put counts as a move onto an occupied cell, as published.

    Args:
        occupancy: Writes positions, chains of cells, `energy` and `visible_energy`.
        rules: Rules of the batch.
        done: `[W]`, worlds that are skipped.
        group: `[W, N]`, group of each agent.
        carcass: `[W, N]`, which do not move.
        counters: `[W, COUNTERS]`, counts blocked moves by reason.
        energy_accounts: `[W, ENERGY_ACCOUNTS]`, adds the cost of moves.
        actions: `[W * N, 1]`.
        acting_rows: `[W, 2, N]`, rows of each species that move, in order.
        n_acting: `[W, 2]`, how many of them.
        first: First world.
        last: End of the range of worlds, exclusive.
    """
    wall, moves, check_line_of_sight, cell_erasure, move_cost = (
        rules.wall,
        rules.moves,
        rules.line_of_sight_moves,
        rules.cell_erasure,
        rules.move_cost,
    )
    rows, size, n_types = occupancy.alive.shape[1], rules.size, rules.n_types
    for w in range(first, last):
        if done[w]:
            continue
        for species in range(2):
            for i in range(n_acting[w, species]):
                row = acting_rows[w, species, i]
                if not occupancy.alive[w, row] or carcass[w, row]:
                    continue
                type_index = group[w, row] - species * n_types
                action = actions[w * rows + row, 0]
                x, y = occupancy.x[w, row], occupancy.y[w, row]
                to_x = min(max(x + moves[type_index, action, 0], 0), size - 1)
                to_y = min(max(y + moves[type_index, action, 1], 0), size - 1)
                cell, target = x * size + y, to_x * size + to_y
                is_occupied = occupancy.visible_energy[w, species, target] > 0.0
                block = find_move_block(
                    wall, size, check_line_of_sight, is_occupied, x, y, to_x, to_y
                )
                if block >= 0:
                    counters[w, block] += 1
                    target = cell
                if target != cell:
                    occupancy.x[w, row] = to_x
                    occupancy.y[w, row] = to_y
                    remove_from_cell(occupancy, w, species, cell, row)
                    add_to_cell(occupancy, w, species, target, row)
                    if move_cost > 0.0:
                        distance = sqrt(float((to_x - x) * (to_x - x) + (to_y - y) * (to_y - y)))
                        cost = distance * move_cost * occupancy.energy[w, row]
                        occupancy.energy[w, row] -= cost
                        energy_accounts[w, MOVE_COST] += cost
                    refresh_vacated_cell(occupancy, cell_erasure, w, species, cell)
                refresh_occupied_cell(occupancy, cell_erasure, w, species, target, row)


@allocation_free_kernel
def find_invalid_action(
    done: Bools, n_alive: Ints, alive_rows: RowIndices, group: Ints, choices: Ints, actions: Ints
) -> int:
    """Return the first batch row of a living agent whose action is out of range, -1 if none.

    Args:
        done: `[W]`, worlds that are skipped.
        n_alive: `[W, 2]`, entries of `alive_rows`.
        alive_rows: `[W, 2, N]`, rows of the living.
        group: `[W, N]`, group of each agent.
        choices: `[groups]`, number of actions.
        actions: `[W * N, 1]`.
    """
    rows = alive_rows.shape[2]
    for w in range(alive_rows.shape[0]):
        if done[w]:
            continue
        for species in range(2):
            for i in range(n_alive[w, species]):
                row = alive_rows[w, species, i]
                action = actions[w * rows + row, 0]
                if action < 0 or action >= choices[group[w, row]]:
                    return int(w * rows + row)
    return -1
