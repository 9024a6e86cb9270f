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
from kinfolk.worlds.savanna.state import State


class Ground(NamedTuple):
    """The part of the state that says who stands where: small, so cheap to hand on."""

    top: npt.NDArray[np.int32]
    below: npt.NDArray[np.int32]
    shown: npt.NDArray[np.float32]
    x: Ints
    y: Ints
    energy: Floats
    alive: Bools


@inline
def ground_of(s: State) -> Ground:
    """The ground of a state."""
    return Ground(s.top, s.below, s.shown, s.x, s.y, s.energy, s.alive)


@inline
def enter(g: Ground, w: int, k: int, cell: int, row: int) -> None:
    """Put `row` on a cell."""
    g.below[w, row] = g.top[w, k, cell]
    g.top[w, k, cell] = row


@inline
def leave(g: Ground, w: int, k: int, cell: int, row: int) -> None:
    """Take `row` off its cell."""
    at = g.top[w, k, cell]
    if at == row:
        g.top[w, k, cell] = g.below[w, row]
        return
    while at >= 0:
        if g.below[w, at] == row:
            g.below[w, at] = g.below[w, row]
            return
        at = g.below[w, at]


@inline
def show(g: Ground, w: int, k: int, cell: int) -> None:
    """Let a cell show the strongest of the living on it; who has no energy is not there."""
    most = 0.0
    at = g.top[w, k, cell]
    while at >= 0:
        if g.alive[w, at] and g.energy[w, at] > most:
            most = g.energy[w, at]
        at = g.below[w, at]
    g.shown[w, k, cell] = most


@inline
def vacate(g: Ground, erase: bool, w: int, k: int, cell: int) -> None:
    """Show a cell that somebody left; with `erase` it is blank, whoever else stands there."""
    if erase or g.top[w, k, cell] < 0:
        g.shown[w, k, cell] = 0.0
    else:
        show(g, w, k, cell)


@inline
def reveal(g: Ground, erase: bool, w: int, k: int, cell: int, row: int) -> None:
    """Show `row` on its cell; with `erase` whoever else stands there is written over."""
    if erase or (g.top[w, k, cell] == row and g.below[w, row] < 0 and g.energy[w, row] > 0.0):
        g.shown[w, k, cell] = g.energy[w, row]
    else:
        show(g, w, k, cell)
