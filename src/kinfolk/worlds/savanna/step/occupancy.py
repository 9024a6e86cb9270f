"""Which agents are on which cell: a linked list of rows per cell and species.

Two agents of one species share a cell only while one of them is out of energy and about to starve,
so lists nearly always have one row.
"""

from __future__ import annotations

import numpy as np

from kinfolk.core.arrays import Bools
from kinfolk.core.jit import inline, inline_always
from kinfolk.worlds.savanna.codes import PREDATOR, PREY, SECOND_PREY
from kinfolk.worlds.savanna.rules import SavannaRules
from kinfolk.worlds.savanna.state import Links
from kinfolk.worlds.savanna.step.context import SavannaAgents

_NEIGHBORS = ((-1, 0), (1, 0), (0, -1), (0, 1))


@inline
def get_cell(occupancy: SavannaAgents, w: int, row: int) -> int:
    """Return the cell of an agent, `x * size + y`.

    Args:
        occupancy: Reads positions.
        w: World.
        row: Row of the agent.
    """
    cell: int = occupancy.x[w, row] * occupancy.size + occupancy.y[w, row]
    return cell


@inline
def add_to_cell(occupancy: SavannaAgents, w: int, species: int, cell: int, row: int) -> None:
    """Add `row` to the list of a cell.

    Args:
        occupancy: Writes the list.
        w: World.
        species: PREDATOR or PREY.
        cell: The agent's cell.
        row: Row of the agent.
    """
    occupancy.next_in_cell[w, row] = occupancy.first_in_cell[w, species, cell]
    occupancy.first_in_cell[w, species, cell] = row


@inline
def remove_from_cell(occupancy: SavannaAgents, w: int, species: int, cell: int, row: int) -> None:
    """Remove `row` from the list of its cell.

    Args:
        occupancy: Writes the list.
        w: World.
        species: PREDATOR or PREY.
        cell: The agent's cell.
        row: Row of the agent.
    """
    other = occupancy.first_in_cell[w, species, cell]
    if other == row:
        occupancy.first_in_cell[w, species, cell] = occupancy.next_in_cell[w, row]
        return
    while other >= 0:
        if occupancy.next_in_cell[w, other] == row:
            occupancy.next_in_cell[w, other] = occupancy.next_in_cell[w, row]
            return
        other = occupancy.next_in_cell[w, other]


@inline
def get_plane(occupancy: SavannaAgents, w: int, species: int, row: int) -> int:
    """Return the plane of `visible_energy` that shows an agent.

    Args:
        occupancy: Reads groups.
        w: World.
        species: PREDATOR or PREY.
        row: Row of the agent.
    """
    if occupancy.separate_prey and species == PREY and occupancy.group[w, row] == SECOND_PREY:
        return SECOND_PREY
    return species


@inline
def refresh_cell(occupancy: SavannaAgents, w: int, species: int, cell: int, plane: int) -> None:
    """Show the highest energy of the living agents on a cell; those without energy are not shown.

    Args:
        occupancy: Writes `visible_energy`.
        w: World.
        species: PREDATOR or PREY.
        cell: Cell to refresh.
        plane: Plane to refresh.
    """
    highest = 0.0
    row = occupancy.first_in_cell[w, species, cell]
    while row >= 0:
        is_shown = occupancy.alive[w, row] and occupancy.energy[w, row] > highest
        if is_shown and get_plane(occupancy, w, species, row) == plane:
            highest = occupancy.energy[w, row]
        row = occupancy.next_in_cell[w, row]
    occupancy.visible_energy[w, plane, cell] = highest


@inline
def refresh_vacated_cell(
    occupancy: SavannaAgents, w: int, species: int, cell: int, row: int
) -> None:
    """Refresh a cell that the agent in `row` left.

    With the quirk `cell_erasure` the cell becomes blank even if another agent is on it.

    Args:
        occupancy: Writes `visible_energy`.
        w: World.
        species: PREDATOR or PREY.
        cell: Cell to refresh.
        row: Row of the agent.
    """
    plane = get_plane(occupancy, w, species, row)
    if occupancy.cell_erasure or occupancy.first_in_cell[w, species, cell] < 0:
        occupancy.visible_energy[w, plane, cell] = 0.0
    else:
        refresh_cell(occupancy, w, species, cell, plane)


@inline
def refresh_occupied_cell(occupancy: SavannaAgents, w: int, species: int, row: int) -> None:
    """Show the energy of the agent in `row` on its cell.

    With the quirk `cell_erasure` it is shown even if another agent on the cell has more energy.

    Args:
        occupancy: Writes `visible_energy`.
        w: World.
        species: PREDATOR or PREY.
        row: Row of the agent.
    """
    cell, plane = get_cell(occupancy, w, row), get_plane(occupancy, w, species, row)
    if occupancy.cell_erasure or (
        occupancy.first_in_cell[w, species, cell] == row
        and occupancy.next_in_cell[w, row] < 0
        and occupancy.energy[w, row] > 0.0
    ):
        occupancy.visible_energy[w, plane, cell] = occupancy.energy[w, row]
    else:
        refresh_cell(occupancy, w, species, cell, plane)


@inline_always
def move_to_cell(
    occupancy: SavannaAgents, w: int, species: int, row: int, cell: int, target: int
) -> None:
    """Take an agent, whose position is already the new one, from one cell to another.

    Args:
        occupancy: Writes the lists of both cells and what they show.
        w: World.
        species: PREDATOR or PREY.
        row: Row of the agent.
        cell: Cell that it leaves.
        target: Cell that it enters.
    """
    first, shown = occupancy.first_in_cell[w, species], occupancy.visible_energy
    energy, source, goal = occupancy.energy[w, row], np.uint64(cell), np.uint64(target)
    is_alone = first[source] == row and first[goal] < 0 and occupancy.next_in_cell[w, row] < 0
    if is_alone and energy > 0.0:  # as nearly always
        plane = get_plane(occupancy, w, species, row)
        first[source] = -1
        first[goal] = row
        shown[w, plane, source] = 0.0
        shown[w, plane, goal] = energy
        return
    remove_from_cell(occupancy, w, species, cell, row)
    add_to_cell(occupancy, w, species, target, row)
    refresh_vacated_cell(occupancy, w, species, cell, row)
    refresh_occupied_cell(occupancy, w, species, row)


@inline
def kill_agent(occupancy: SavannaAgents, w: int, species: int, row: int, cause: int) -> None:
    """Mark an agent as dead and take it off the grid; `remove_dead` completes the removal.

    With the quirk `dead_prey_bitten`, dead prey stay on their cells and can be bitten until then.

    Args:
        occupancy: Writes `alive`, `carcass`, `death_cause`, `active` and the agent's cell.
        w: World.
        species: PREDATOR or PREY.
        row: Row of the agent.
        cause: Index into `DEATH_CAUSES`.
    """
    cell = get_cell(occupancy, w, row)
    occupancy.alive[w, row] = False
    occupancy.carcass[w, row] = False
    occupancy.death_cause[w, row] = cause
    occupancy.active[w, species] -= 1
    if species == PREDATOR or not occupancy.dead_prey_stay:
        remove_from_cell(occupancy, w, species, cell, row)
    refresh_vacated_cell(occupancy, w, species, cell, row)


@inline
def save_view(
    occupancy: SavannaAgents, rules: SavannaRules, w: int, species: int, row: int
) -> None:
    """Keep what an agent sees, for its last observation under the quirk `view_at_death`.

    Args:
        occupancy: Writes `death_view`: predators, prey and grass, as in the observation.
        rules: Reads the size of windows.
        w: World.
        species: PREDATOR or PREY.
        row: Row of the agent.
    """
    reach, size = rules.radius[species], rules.size
    side = 2 * reach + 1
    for plane in range(3):
        for i in range(side * side):
            x = occupancy.x[w, row] + i // side - reach
            y = occupancy.y[w, row] + i % side - reach
            energy = 0.0
            if 0 <= x < size and 0 <= y < size:
                energy = occupancy.visible_energy[w, plane, x * size + y]
            occupancy.death_view[w, row, plane * side * side + i] = energy


@inline
def is_cell_free(wall: Bools, first_in_cell: Links, w: int, cell: int) -> bool:
    """Return whether a cell has neither a wall nor an agent of either species.

    Args:
        wall: `[cells]`.
        first_in_cell: `[W, 2, cells]`, first agent on each cell, -1 if none.
        w: World.
        cell: Cell to check.
    """
    return (
        not wall[cell] and first_in_cell[w, PREDATOR, cell] < 0 and first_in_cell[w, PREY, cell] < 0
    )


@inline
def find_free_neighbor(wall: Bools, size: int, first_in_cell: Links, w: int, x: int, y: int) -> int:
    """Return the first free cell of (x-1, y), (x+1, y), (x, y-1), (x, y+1); -1 if none is free.

    Args:
        wall: `[cells]`.
        size: Side of the grid.
        first_in_cell: `[W, 2, cells]`, first agent on each cell, -1 if none.
        w: World.
        x: The parent's x.
        y: The parent's y.
    """
    for dx, dy in _NEIGHBORS:
        to_x, to_y = x + dx, y + dy
        cell = to_x * size + to_y
        on_grid = 0 <= to_x < size and 0 <= to_y < size
        if on_grid and is_cell_free(wall, first_in_cell, w, cell):
            return cell
    return -1
