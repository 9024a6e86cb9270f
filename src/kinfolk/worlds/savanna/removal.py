"""Removal: the dead leave the herds, their kin are told, and the accounts are closed."""

from __future__ import annotations

from kinfolk.core.jit import inline
from kinfolk.lineage.kernels import kin_death
from kinfolk.worlds.savanna.cells import ground_of, leave
from kinfolk.worlds.savanna.log import DEATH, Log, note
from kinfolk.worlds.savanna.rules import Rules
from kinfolk.worlds.savanna.state import DEATHS, LOST, PREY, State


@inline
def bury(s: State, r: Rules, log: Log, first: int, last: int) -> None:
    """Compact the herds. The rows of the dead stay theirs until the next step.

    A prey that became a carcass is dead to its kin from the first bite on.
    """
    g = ground_of(s)
    done, count, herd, carcass, uid = s.done, s.count, s.herd, s.carcass, s.uid
    parent, living, live = s.parent, s.living, s.live_descendants
    for w in range(first, last):
        if done[w]:
            continue
        for k in range(2):
            kept = 0
            for i in range(count[w, k]):
                row = herd[w, k, i]
                if g.alive[w, row]:
                    herd[w, k, kept] = row
                    kept += 1
                    if carcass[w, row]:
                        kin_death(parent, living, live, w, uid[w, row])
                    continue
                kin_death(parent, living, live, w, uid[w, row])
                s.terminated[w, row] = True
                s.ended[w, s.ended_count[w]] = row
                s.ended_count[w] += 1
                s.accounts[w, LOST] += g.energy[w, row]
                s.tally[w, DEATHS + 2 * (s.cause[w, row] - 1) + k] += 1
                if k == PREY and r.bite_dead:
                    leave(g, w, k, g.x[w, row] * r.size + g.y[w, row], row)
                note(log, w, DEATH, uid[w, row], -1, s.cause[w, row])
            count[w, k] = kept
