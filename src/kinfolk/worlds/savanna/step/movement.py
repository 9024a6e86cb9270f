"""Moves, one agent after the other; predators and prey do not block each other."""

from __future__ import annotations

from math import sqrt

import numpy as np

from kinfolk.core.arrays import Bools
from kinfolk.core.jit import inline, inline_always, prefetch
from kinfolk.worlds.savanna import codes
from kinfolk.worlds.savanna.rules import SavannaRules
from kinfolk.worlds.savanna.state import EventBuffer, add_event_details, record_event
from kinfolk.worlds.savanna.step.context import LOOKAHEAD, SavannaAgents, StepActions
from kinfolk.worlds.savanna.step.occupancy import move_to_cell, refresh_occupied_cell


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


def list_line(x0: int, y0: int, x1: int, y1: int) -> list[tuple[int, int]]:
    """Return the cells strictly between two cells on Bresenham's line, as `has_clear_line` goes.

    Args:
        x0: x of the first cell.
        y0: y of the first cell.
        x1: x of the second cell.
        y1: y of the second cell.
    """
    size = 1 + 2 * max(abs(v) for v in (x0, y0, x1, y1))
    cells, half = [], size // 2
    for cell in range(size * size):
        x, y = cell // size - half, cell % size - half
        wall = np.zeros(size * size, dtype=np.bool_)
        wall[cell] = True
        corners = (x0 + half, y0 + half, x1 + half, y1 + half)
        if not has_clear_line(wall, size, *corners):
            cells.append((x, y))
    return cells


@inline_always
def find_wall_block(wall: Bools, size: int, x: int, y: int, to_x: int, to_y: int) -> int:
    """Return the counter of the reason why walls block a line of sight, or -1 if it is free.

    Args:
        wall: `[size * size]`.
        size: Side of the grid.
        x: x before the move.
        y: y before the move.
        to_x: x after the move.
        to_y: y after the move.
    """
    if abs(to_x - x) == 1 and abs(to_y - y) == 1:
        if wall[to_x * size + y] or wall[x * size + to_y]:
            return codes.BLOCKED_CORNER
    elif not has_clear_line(wall, size, x, y, to_x, to_y):
        return codes.BLOCKED_LOS
    return -1


@inline_always
def prefetch_move(
    occupancy: SavannaAgents,
    rules: SavannaRules,
    w: int,
    species: int,
    row: int,
    moves: StepActions,
) -> None:
    """Start to load what the move of an agent will read: its cell and the cell it wants to enter.

    Args:
        occupancy: Cells of agents.
        rules: Reads walls and moves.
        w: World.
        species: PREDATOR or PREY.
        row: Row of the agent.
        moves: Actions.
    """
    size = rules.size
    type_index = occupancy.group[w, row] - species * rules.n_types
    action = moves.actions[w * occupancy.alive.shape[1] + row, 0]
    cell = occupancy.x[w, row] * size + occupancy.y[w, row]
    target = cell + rules.moves[type_index, action, 0] * size + rules.moves[type_index, action, 1]
    if rules.has_walls:
        prefetch(rules.wall, target)
    shown = (w * occupancy.visible_energy.shape[1] + species) * size * size
    prefetch(occupancy.visible_energy, shown + target)
    prefetch(occupancy.visible_energy, shown + cell)
    first = (w * 2 + species) * size * size
    prefetch(occupancy.first_in_cell, first + target)
    prefetch(occupancy.first_in_cell, first + cell)


@inline_always
def aim(
    occupancy: SavannaAgents,
    rules: SavannaRules,
    w: int,
    species: int,
    row: int,
    moves: StepActions,
) -> tuple[int, int]:
    """Turn an agent to where it wants to go, and return the cell that it wants to enter, as x and y.

    Args:
        occupancy: Reads positions; writes headings.
        rules: Reads moves.
        w: World.
        species: PREDATOR or PREY.
        row: Row of the agent.
        moves: Actions.
    """
    # Unsigned indices need no check for negative values.
    type_index = np.uint64(occupancy.group[w, row] - species * rules.n_types)
    action = np.uint64(moves.actions[np.uint64(w * occupancy.alive.shape[1] + row), 0])
    dx, dy = rules.moves[type_index, action, 0], rules.moves[type_index, action, 1]
    if rules.forward_view and (dx != 0 or dy != 0):
        turn_x, turn_y = min(max(dx, -1), 1), min(max(dy, -1), 1)
        occupancy.heading[w, row] = 3 * (turn_x + 1) + turn_y + 1
    to_x = min(max(occupancy.x[w, row] + dx, 0), rules.size - 1)
    to_y = min(max(occupancy.y[w, row] + dy, 0), rules.size - 1)
    return to_x, to_y


@inline_always
def find_block(
    occupancy: SavannaAgents,
    rules: SavannaRules,
    w: int,
    species: int,
    x: int,
    y: int,
    to_x: int,
    to_y: int,
) -> int:
    """Return the counter of the reason why an agent may not enter a cell, or -1 if it may.

    Staying put counts as a move onto an occupied cell, as in PredPreyGrass.

    Args:
        occupancy: Reads what cells show.
        rules: Reads walls.
        w: World.
        species: PREDATOR or PREY.
        x: x of its cell.
        y: y of its cell.
        to_x: x of the cell that it wants to enter.
        to_y: y of the cell that it wants to enter.
    """
    size, target = rules.size, np.uint64(to_x * rules.size + to_y)
    shares_cells = species == codes.PREY and rules.separate_prey
    sees_walls = rules.has_walls and rules.line_of_sight_moves
    if species == codes.PREDATOR and rules.predators_ignore_lines:
        sees_walls = False
    if rules.has_walls and rules.wall[target]:
        return codes.BLOCKED_WALL
    if occupancy.visible_energy[w, species, target] > 0.0 or (
        shares_cells and occupancy.visible_energy[w, codes.SECOND_PREY, target] > 0.0
    ):
        return codes.BLOCKED_OCCUPIED
    if sees_walls and (to_x != x or to_y != y):
        return find_wall_block(rules.wall, size, x, y, to_x, to_y)
    return -1


@inline_always
def move_agent(
    occupancy: SavannaAgents,
    rules: SavannaRules,
    events: EventBuffer,
    w: int,
    species: int,
    row: int,
    x: int,
    y: int,
    to_x: int,
    to_y: int,
) -> None:
    """Move an agent to the cell that it wants to enter, unless something blocks it.

    Args:
        occupancy: Writes positions, cells, energies, counters and accounts.
        rules: Reads walls and the cost of moves.
        events: Buffer, appended to.
        w: World.
        species: PREDATOR or PREY.
        row: Row of the agent.
        x: x of its cell.
        y: y of its cell.
        to_x: x of the cell that it wants to enter.
        to_y: y of the cell that it wants to enter.
    """
    size, move_cost, flat_cost = rules.size, rules.move_cost, rules.flat_move_cost[species]
    recorded = events.entries.shape[1] > 0
    target, moves_away = to_x * size + to_y, to_x != x or to_y != y
    energy, distance = occupancy.energy[w, row], 0.0
    block = find_block(occupancy, rules, w, species, x, y, to_x, to_y)
    if block >= 0:
        occupancy.counters[w, block] += 1
    elif moves_away:
        if move_cost > 0.0 or flat_cost > 0.0 or recorded:
            distance = sqrt(float((to_x - x) * (to_x - x) + (to_y - y) * (to_y - y)))
        if move_cost > 0.0 or flat_cost > 0.0:
            cost = distance * move_cost * energy + flat_cost * distance
            occupancy.energy[w, row] -= cost
            occupancy.energy_accounts[w, codes.MOVE_COST] += cost
        occupancy.x[w, row] = to_x
        occupancy.y[w, row] = to_y
        move_to_cell(occupancy, w, species, row, x * size + y, target)
    if block >= 0 or not moves_away:
        refresh_occupied_cell(occupancy, w, species, row)
    if recorded:
        after = occupancy.energy[w, row]
        record_event(events, w, codes.MOVE, occupancy.uid[w, row], -1, after)
        add_event_details(events, w, distance, energy, target, target, 0.0)


@inline_always
def move_agents(
    occupancy: SavannaAgents, rules: SavannaRules, events: EventBuffer, w: int, moves: StepActions
) -> None:
    """Move the agents in `acting_rows` in that order, where nothing blocks them.

    Args:
        occupancy: Writes positions, cells, energies, counters and accounts.
        rules: Reads walls, moves and their cost.
        events: Buffer, appended to.
        w: World.
        moves: Actions, and the order of moves.
    """
    for species in range(2):
        n_acting = moves.n_acting[w, species]
        for i in range(n_acting):
            row = moves.acting_rows[w, species, i]
            if rules.exceeds_cache and i + LOOKAHEAD < n_acting:
                ahead = moves.acting_rows[w, species, i + LOOKAHEAD]
                prefetch_move(occupancy, rules, w, species, ahead, moves)
            if not occupancy.alive[w, row] or occupancy.carcass[w, row]:
                continue
            x, y = occupancy.x[w, row], occupancy.y[w, row]
            to_x, to_y = aim(occupancy, rules, w, species, row, moves)
            move_agent(occupancy, rules, events, w, species, row, x, y, to_x, to_y)
