"""Removal: the dead leave the herds, their kin are told, and the accounts are closed."""

from __future__ import annotations

from kinfolk.core.jit import inline
from kinfolk.lineage.kernels import kin_death
from kinfolk.worlds.savanna.cells import leave
from kinfolk.worlds.savanna.log import DEATH, Log, note
from kinfolk.worlds.savanna.rules import Rules
from kinfolk.worlds.savanna.state import DEATHS, LOST, PREY, State


@inline
def bury(s: State, r: Rules, log: Log, first: int, last: int) -> None:
    """Compact the herds. The rows of the dead stay theirs until the next step.

    A prey that became a carcass is dead to its kin from the first bite on.
    """
    for w in range(first, last):
        if s.done[w]:
            continue
        for k in range(2):
            kept = 0
            for i in range(s.count[w, k]):
                row = s.herd[w, k, i]
                if s.alive[w, row]:
                    s.herd[w, k, kept] = row
                    kept += 1
                    if s.carcass[w, row]:
                        kin_death(s.parent, s.living, s.live_descendants, w, s.uid[w, row])
                    continue
                kin_death(s.parent, s.living, s.live_descendants, w, s.uid[w, row])
                s.terminated[w, row] = True
                s.ended[w, s.ended_count[w]] = row
                s.ended_count[w] += 1
                s.accounts[w, LOST] += s.energy[w, row]
                s.tally[w, DEATHS + 2 * (s.cause[w, row] - 1) + k] += 1
                if k == PREY and r.bite_dead:
                    cell = s.x[w, row] * r.size + s.y[w, row]
                    leave(s.top, s.below, w, k, cell, row)
                note(log, w, DEATH, s.uid[w, row], -1, s.cause[w, row])
            s.count[w, k] = kept
