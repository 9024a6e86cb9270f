"""Who stands where: a chain of rows per cell and species, and the energies shown there.

Two of one species share a cell only while one of them is out of energy and about to starve, so
chains are nearly always of one row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinfolk.core.arrays import Bools, Floats
from kinfolk.core.jit import inline

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Links = npt.NDArray[np.int32]
    Shown = npt.NDArray[np.float32]


@inline
def enter(top: Links, below: Links, w: int, k: int, cell: int, row: int) -> None:
    """Put `row` on a cell."""
    below[w, row] = top[w, k, cell]
    top[w, k, cell] = row


@inline
def leave(top: Links, below: Links, w: int, k: int, cell: int, row: int) -> None:
    """Take `row` off its cell."""
    at = top[w, k, cell]
    if at == row:
        top[w, k, cell] = below[w, row]
        return
    while at >= 0:
        if below[w, at] == row:
            below[w, at] = below[w, row]
            return
        at = below[w, at]


@inline
def show(
    shown: Shown, top: Links, below: Links, alive: Bools, energy: Floats, w: int, k: int, cell: int
) -> None:
    """Let a cell show the strongest of the living on it; who has no energy is not there."""
    most = 0.0
    at = top[w, k, cell]
    while at >= 0:
        if alive[w, at] and energy[w, at] > most:
            most = energy[w, at]
        at = below[w, at]
    shown[w, k, cell] = most


@inline
def reveal(
    shown: Shown,
    top: Links,
    below: Links,
    alive: Bools,
    energy: Floats,
    erase: bool,
    w: int,
    k: int,
    cell: int,
    row: int,
) -> None:
    """Show `row` on its cell; with `erase` whoever else stands there is written over."""
    if erase or (top[w, k, cell] == row and below[w, row] < 0 and energy[w, row] > 0.0):
        shown[w, k, cell] = energy[w, row]
    else:
        show(shown, top, below, alive, energy, w, k, cell)
