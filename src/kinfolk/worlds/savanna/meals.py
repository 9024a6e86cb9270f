"""Eating: what one body gains, and what a prey takes from the grass under it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kinfolk.core.arrays import Floats, Ints
from kinfolk.core.jit import inline
from kinfolk.worlds.savanna.cells import Ground, reveal
from kinfolk.worlds.savanna.log import EAT, Log, note
from kinfolk.worlds.savanna.rules import Rules
from kinfolk.worlds.savanna.state import ATE, GRASS, GRASS_BITES, PREY, WASTED, State


class Table(NamedTuple):
    """The part of the state and of the rules that eating grass needs."""

    patch: npt.NDArray[np.int32]
    grass: Floats
    reward: Floats
    just: Ints
    uid: Ints
    tally: Ints
    accounts: Floats
    bite: float
    transfer: float
    most: float


@inline
def table_of(s: State, r: Rules) -> Table:
    """The table of a state."""
    return Table(
        s.patch,
        s.grass,
        s.reward,
        s.just,
        s.uid,
        s.tally,
        s.accounts,
        r.grass_bite,
        r.transfer,
        r.most[PREY],
    )


@inline
def gain(
    energy: Floats, accounts: Floats, w: int, row: int, bite: float, transfer: float, most: float
) -> float:
    """Feed a body; what is lost on the way, or does not fit in, is wasted."""
    before: float = energy[w, row]
    after = before + bite * transfer
    if after <= most and transfer == 1.0:
        energy[w, row] = after
        return bite
    after = min(after, max(before, most))
    energy[w, row] = after
    accounts[w, WASTED] += bite - (after - before)
    return after - before


@inline
def graze(
    g: Ground, t: Table, log: Log, erase: bool, w: int, row: int, cell: int, pay: float
) -> None:
    """A prey bites off the grass on its cell."""
    patch = t.patch[w, cell]
    t.reward[w, row] = pay
    t.just[w, row] = ATE
    bite = min(t.grass[w, patch], t.bite)
    rest = t.grass[w, patch] - bite
    t.grass[w, patch] = rest
    g.shown[w, GRASS, cell] = rest
    got = gain(g.energy, t.accounts, w, row, bite, t.transfer, t.most)
    reveal(g, erase, w, PREY, cell, row)
    t.tally[w, GRASS_BITES] += 1
    note(log, w, EAT, t.uid[w, row], patch, got)
