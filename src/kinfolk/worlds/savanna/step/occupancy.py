"""Who stands where: a chain of rows per cell and species, and the energies shown there.

Two of one species share a cell only while one of them is out of energy and about to starve, so
chains are nearly always of one row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kinfolk.core.arrays import Bools, Floats, Ints
from kinfolk.core.jit import inline
from kinfolk.worlds.savanna.state import SavannaState


class OccupancyArrays(NamedTuple):
    """The part of the state that says who stands where: small, so cheap to hand on."""

    first_in_cell: npt.NDArray[np.int32]
    next_in_cell: npt.NDArray[np.int32]
    visible_energy: npt.NDArray[np.float32]
    x: Ints
    y: Ints
    energy: Floats
    alive: Bools


@inline
def get_occupancy(state: SavannaState) -> OccupancyArrays:
    """The ground of a state."""
    return OccupancyArrays(
        state.first_in_cell,
        state.next_in_cell,
        state.visible_energy,
        state.x,
        state.y,
        state.energy,
        state.alive,
    )


@inline
def add_to_cell(occupancy: OccupancyArrays, w: int, species: int, cell: int, row: int) -> None:
    """Put `row` on a cell."""
    occupancy.next_in_cell[w, row] = occupancy.first_in_cell[w, species, cell]
    occupancy.first_in_cell[w, species, cell] = row


@inline
def remove_from_cell(occupancy: OccupancyArrays, w: int, species: int, cell: int, row: int) -> None:
    """Take `row` off its cell."""
    at = occupancy.first_in_cell[w, species, cell]
    if at == row:
        occupancy.first_in_cell[w, species, cell] = occupancy.next_in_cell[w, row]
        return
    while at >= 0:
        if occupancy.next_in_cell[w, at] == row:
            occupancy.next_in_cell[w, at] = occupancy.next_in_cell[w, row]
            return
        at = occupancy.next_in_cell[w, at]


@inline
def refresh_cell(occupancy: OccupancyArrays, w: int, species: int, cell: int) -> None:
    """Let a cell show the strongest of the living on it; who has no energy is not there."""
    most = 0.0
    at = occupancy.first_in_cell[w, species, cell]
    while at >= 0:
        if occupancy.alive[w, at] and occupancy.energy[w, at] > most:
            most = occupancy.energy[w, at]
        at = occupancy.next_in_cell[w, at]
    occupancy.visible_energy[w, species, cell] = most


@inline
def refresh_vacated_cell(
    occupancy: OccupancyArrays, cell_erasure: bool, w: int, species: int, cell: int
) -> None:
    """Show a cell that somebody left; with `cell_erasure` it is blank, whoever else stands there."""
    if cell_erasure or occupancy.first_in_cell[w, species, cell] < 0:
        occupancy.visible_energy[w, species, cell] = 0.0
    else:
        refresh_cell(occupancy, w, species, cell)


@inline
def refresh_occupied_cell(
    occupancy: OccupancyArrays, cell_erasure: bool, w: int, species: int, cell: int, row: int
) -> None:
    """Show `row` on its cell; with `cell_erasure` whoever else stands there is written over."""
    if cell_erasure or (
        occupancy.first_in_cell[w, species, cell] == row
        and occupancy.next_in_cell[w, row] < 0
        and occupancy.energy[w, row] > 0.0
    ):
        occupancy.visible_energy[w, species, cell] = occupancy.energy[w, row]
    else:
        refresh_cell(occupancy, w, species, cell)
