"""Removal: the dead leave the herds, their kin are told, and the accounts are closed."""

from __future__ import annotations

from typing import NamedTuple

from kinfolk.core.arrays import Bools, Floats, Ints
from kinfolk.core.jit import inline
from kinfolk.lineage.kernels import kin_death
from kinfolk.worlds.savanna.cells import Ground, leave
from kinfolk.worlds.savanna.log import DEATH, Log, note
from kinfolk.worlds.savanna.passing import Ends, Herds
from kinfolk.worlds.savanna.state import DEATHS, LOST, PREY


class Kin(NamedTuple):
    """Family trees, by uid: see `kinfolk.lineage.kernels`."""

    parent: Ints
    living: Bools
    live: Ints
    prev: Ints


@inline
def bury(
    h: Herds,
    g: Ground,
    e: Ends,
    kin: Kin,
    log: Log,
    terminated: Bools,
    tally: Ints,
    accounts: Floats,
    size: int,
    stayed: bool,
    first: int,
    last: int,
) -> None:
    """Compact the herds. The rows of the dead stay theirs until the next step.

    A prey that became a carcass is dead to its kin from the first bite on. With `stayed`, dead
    prey are still on the ground.
    """
    for w in range(first, last):
        if h.done[w]:
            continue
        for k in range(2):
            kept = 0
            for i in range(h.length[w, k]):
                row = h.herd[w, k, i]
                if g.alive[w, row]:
                    h.herd[w, k, kept] = row
                    kept += 1
                    if e.carcass[w, row]:
                        kin_death(kin.parent, kin.living, kin.live, w, h.uid[w, row])
                    continue
                kin_death(kin.parent, kin.living, kin.live, w, h.uid[w, row])
                terminated[w, row] = True
                h.ended[w, h.ended_count[w]] = row
                h.ended_count[w] += 1
                accounts[w, LOST] += g.energy[w, row]
                tally[w, DEATHS + 2 * (e.cause[w, row] - 1) + k] += 1
                if k == PREY and stayed:
                    leave(g, w, k, g.x[w, row] * size + g.y[w, row], row)
                note(log, w, DEATH, h.uid[w, row], -1, e.cause[w, row])
            h.length[w, k] = kept
