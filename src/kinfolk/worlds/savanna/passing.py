"""Time passes: rows are released, energy decays, bodies age, grass grows, the hungry starve.

Functions get the parts of the state that they use: handing on all of it costs time, when they
are compiled and at every call.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kinfolk.core.arrays import Bools, Floats, Ints
from kinfolk.core.jit import inline
from kinfolk.worlds.savanna.cells import Ground, leave, reveal, vacate
from kinfolk.worlds.savanna.log import FERTILITY_EXPIRED, Log, note
from kinfolk.worlds.savanna.rules import Rules
from kinfolk.worlds.savanna.state import (
    DECAYED,
    GRASS,
    GROWN,
    MAX_AGE,
    NOTHING,
    PREDATOR,
    STARVED,
    Rows,
)


class Herds(NamedTuple):
    """The part of the state that says who is alive in which world."""

    done: Bools
    length: Ints
    herd: Rows
    ended: Rows
    ended_count: Ints
    uid: Ints
    reward: Floats


@inline
def release(
    h: Herds, log: Log, terminated: Bools, free: Rows, free_count: Ints, first: int, last: int
) -> None:
    """Give away the rows of those whose life ended in the step before."""
    for w in range(first, last):
        log.kept[w] = 0
        if h.done[w]:
            continue
        for i in range(h.ended_count[w] - 1, -1, -1):
            row = h.ended[w, i]
            h.uid[w, row] = -1
            h.reward[w, row] = 0.0
            terminated[w, row] = False
            free[w, free_count[w]] = row
            free_count[w] += 1
        h.ended_count[w] = 0


class Ends(NamedTuple):
    """The part of the state that a death changes at once."""

    carcass: Bools
    cause: Ints
    active: Ints


@inline
def fall(
    g: Ground, e: Ends, size: int, erase: bool, stay: bool, w: int, k: int, row: int, cause: int
) -> None:
    """End a life at once on the grid; `removal.bury` does the rest later in the step.

    With `stay` dead prey keep their place until then, and can be bitten.
    """
    cell = g.x[w, row] * size + g.y[w, row]
    g.alive[w, row] = False
    e.carcass[w, row] = False
    e.cause[w, row] = cause
    e.active[w, k] -= 1
    if k == PREDATOR or not stay:
        leave(g, w, k, cell, row)
    vacate(g, erase, w, k, cell)


@inline
def retire(h: Herds, g: Ground, e: Ends, r: Rules, group: Ints, age: Ints, w: int, k: int) -> None:
    """Those of one species that are too old die, after all of it have lost energy and aged."""
    for i in range(h.length[w, k]):
        row = h.herd[w, k, i]
        oldest = r.oldest[2 * k + group[w, row] - k * r.types]
        if 0 <= oldest <= age[w, row] and not e.carcass[w, row]:
            fall(g, e, r.size, r.erase, r.bite_dead, w, k, row, MAX_AGE)
            # as published: the counter can be too low already, but not below nothing
            e.active[w, k] = max(e.active[w, k], 0)


@inline
def decay(
    h: Herds,
    g: Ground,
    e: Ends,
    r: Rules,
    log: Log,
    tick: Ints,
    group: Ints,
    age: Ints,
    just: Ints,
    accounts: Floats,
    all_act: bool,
    first: int,
    last: int,
) -> None:
    """Everybody loses energy, carcasses too; all but carcasses age, and may be too old.

    Where `all_act`, the move that follows shows what is left; until then it is enough to show
    who has nothing left.
    """
    lazy = all_act and not r.erase
    size, types, erase = r.size, r.types, r.erase
    fertility, oldest = r.fertility, r.oldest
    for w in range(first, last):
        if h.done[w]:
            continue
        for k in range(2):
            loss, too_old = r.loss[k], False
            for i in range(h.length[w, k]):
                row = h.herd[w, k, i]
                g.energy[w, row] -= loss
                h.reward[w, row] = 0.0
                just[w, row] = NOTHING
                if not lazy or e.carcass[w, row] or g.energy[w, row] <= 0.0:
                    reveal(g, erase, w, k, g.x[w, row] * size + g.y[w, row], row)
                if e.carcass[w, row]:
                    continue
                years = age[w, row] + 1
                age[w, row] = years
                kind = 2 * k + group[w, row] - k * types
                limit = fertility[kind]
                new = years == 1 or tick[w] == 0  # founders and limits of 0 can be past it at once
                if years == limit or (new and 0 <= limit < years):
                    note(log, w, FERTILITY_EXPIRED, h.uid[w, row], -1, years)
                too_old = too_old or 0 <= oldest[kind] <= years
            accounts[w, DECAYED] += loss * h.length[w, k]
            if too_old:
                retire(h, g, e, r, group, age, w, k)


@inline
def grow(
    done: Bools,
    grass: Floats,
    shown: npt.NDArray[np.float32],
    patch_cell: Ints,
    accounts: Floats,
    gain: float,
    most: float,
    first: int,
    last: int,
) -> None:
    """Every patch of grass gains energy, up to its most."""
    for w in range(first, last):
        if done[w]:
            continue
        grown = 0.0
        for patch in range(grass.shape[1]):
            before = grass[w, patch]
            if before != most:
                after = min(before + gain, most)
                grass[w, patch] = after
                grown += after - before
                shown[w, GRASS, patch_cell[w, patch]] = after
        accounts[w, GROWN] += grown


@inline
def starve(
    h: Herds, g: Ground, e: Ends, size: int, erase: bool, stay: bool, first: int, last: int
) -> None:
    """Whoever has no energy left dies; starved carcasses vanish with the others."""
    for w in range(first, last):
        if h.done[w]:
            continue
        for k in range(2):
            for i in range(h.length[w, k]):
                row = h.herd[w, k, i]
                if g.energy[w, row] <= 0.0:
                    if g.alive[w, row]:
                        fall(g, e, size, erase, stay, w, k, row, STARVED)
                    elif stay:  # published: too old and starved in one step dies twice
                        e.active[w, k] -= 1
                        vacate(g, erase, w, k, g.x[w, row] * size + g.y[w, row])
