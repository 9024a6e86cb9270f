"""Bites: prey graze first, then every predator bites the first prey on its own cell.

A bite that leaves something makes a carcass: it neither moves, eats, breeds nor ages, still
decays, can still be bitten, and still counts as one of the prey until it is gone.

With the quirk `dead_prey_bitten`, prey that died in this step are still on their cell. Each bite
that finishes one off, the first and any later one, then does all that the published code does:
it counts the prey off, blanks its cell and makes it a carcass to the next predator, and it leaves
the prey's energy as it was, so that the next one gains it again.
"""

from __future__ import annotations

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline
from kinfolk.worlds.savanna.cells import Ground, reveal, vacate
from kinfolk.worlds.savanna.log import BITE, CARCASS, CARCASS_BITE, CARCASS_ONLY_BLOCK, Log, note
from kinfolk.worlds.savanna.meals import Table, gain, graze
from kinfolk.worlds.savanna.passing import Ends, Herds, fall
from kinfolk.worlds.savanna.rules import Rules
from kinfolk.worlds.savanna.state import (
    ATE,
    CARCASS_BITES,
    CARCASSES,
    DIET_BLOCKED,
    DIET_BLOCKS,
    EATEN,
    LIVE_BITES,
    LOST,
    PREDATOR,
    PREY,
)


@inline
def prey_at(g: Ground, uid: Ints, w: int, cell: int) -> int:
    """The prey of lowest uid on a cell, -1 if there is none."""
    found = -1
    at = int(g.top[w, PREY, cell])
    while at >= 0:
        if found < 0 or uid[w, at] < uid[w, found]:
            found = at
        at = int(g.below[w, at])
    return found


@inline
def bite(
    h: Herds,
    g: Ground,
    e: Ends,
    t: Table,
    group: Ints,
    r: Rules,
    log: Log,
    w: int,
    row: int,
    prey: int,
    cell: int,
) -> None:
    """Transfer energy; the prey becomes a carcass, or is gone."""
    was_carcass = e.carcass[w, prey]
    meal = g.energy[w, prey]
    taken = min(meal, r.prey_bite)
    t.just[w, row] = ATE
    h.reward[w, row] = r.meal_reward[group[w, row]]
    got = gain(g.energy, t.accounts, w, row, taken, r.transfer, r.most[PREDATOR])
    reveal(g, r.erase, w, PREDATOR, cell, row)
    t.tally[w, CARCASS_BITES if was_carcass else LIVE_BITES] += 1
    note(log, w, CARCASS_BITE if was_carcass else BITE, h.uid[w, row], h.uid[w, prey], got)
    rest = meal - taken
    if rest > 0.0:
        g.energy[w, prey] = rest
        reveal(g, r.erase, w, PREY, cell, prey)
        e.carcass[w, prey] = True
        if not was_carcass and g.alive[w, prey]:
            t.tally[w, CARCASSES] += 1
            note(log, w, CARCASS, h.uid[w, prey], h.uid[w, row], rest)
        return
    if g.alive[w, prey]:
        fall(g, e, r.size, r.erase, r.bite_dead, w, PREY, prey, EATEN)
        h.reward[w, prey] = r.caught_reward[2 + group[w, prey] - r.types]
    else:  # published: who died before the bite is counted off again
        e.active[w, PREY] -= 1
        vacate(g, r.erase, w, PREY, cell)
    if r.bite_dead:
        e.carcass[w, prey] = True
        t.accounts[w, LOST] -= taken  # `removal.bury` adds all of its energy, taken or not
    else:
        g.energy[w, prey] = rest


@inline
def hunt_alone(
    h: Herds,
    g: Ground,
    e: Ends,
    t: Table,
    group: Ints,
    age: Ints,
    r: Rules,
    log: Log,
    first: int,
    last: int,
) -> None:
    """Prey graze; predators bite. Juveniles bite carcasses only."""
    step_reward, meal_reward, juvenile = r.step_reward, r.meal_reward, r.juvenile
    size, types, erase = r.size, r.types, r.erase
    for w in range(first, last):
        if h.done[w]:
            continue
        for i in range(h.length[w, PREY]):
            prey = h.herd[w, PREY, i]
            if not g.alive[w, prey]:
                continue
            kind = 2 + group[w, prey] - types
            cell = g.x[w, prey] * size + g.y[w, prey]
            if e.carcass[w, prey] or t.patch[w, cell] < 0:
                h.reward[w, prey] = step_reward[kind]
            else:
                graze(g, t, log, erase, w, prey, cell, meal_reward[kind])
        for i in range(h.length[w, PREDATOR]):
            row = h.herd[w, PREDATOR, i]
            if not g.alive[w, row]:
                continue
            cell = g.x[w, row] * size + g.y[w, row]
            h.reward[w, row] = step_reward[group[w, row]]
            if g.top[w, PREY, cell] < 0:
                continue
            prey = prey_at(g, h.uid, w, cell)
            if not e.carcass[w, prey] and age[w, row] < juvenile[group[w, row]]:
                t.just[w, row] = DIET_BLOCKED
                t.tally[w, DIET_BLOCKS] += 1
                note(log, w, CARCASS_ONLY_BLOCK, h.uid[w, row], h.uid[w, prey], age[w, row])
            else:
                bite(h, g, e, t, group, r, log, w, row, prey, cell)
