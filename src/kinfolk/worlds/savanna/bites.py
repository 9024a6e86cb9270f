"""Bites: prey graze first, then every predator bites the first prey on its own cell.

A bite that leaves something makes a carcass: it neither moves, eats, breeds nor ages, still
decays, can still be bitten, and still counts as one of the prey until it is gone.
"""

from __future__ import annotations

import numpy as np

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline
from kinfolk.worlds.savanna.cells import Ground, ground_of, reveal
from kinfolk.worlds.savanna.log import BITE, CARCASS, CARCASS_BITE, CARCASS_ONLY_BLOCK, Log, note
from kinfolk.worlds.savanna.meals import gain, graze, table_of
from kinfolk.worlds.savanna.passing import ends_of, fall
from kinfolk.worlds.savanna.rules import Rules
from kinfolk.worlds.savanna.state import (
    ATE,
    CARCASS_BITES,
    CARCASSES,
    DIET_BLOCKED,
    DIET_BLOCKS,
    EATEN,
    LIVE_BITES,
    PREDATOR,
    PREY,
    State,
)


@inline
def prey_at(g: Ground, uid: Ints, w: int, cell: int) -> int:
    """The prey of lowest uid on a cell, -1 if there is none."""
    found = -1
    at = np.int64(g.top[w, PREY, cell])
    while at >= 0:
        if found < 0 or uid[w, at] < uid[w, found]:
            found = at
        at = np.int64(g.below[w, at])
    return found


@inline
def bite(s: State, r: Rules, log: Log, w: int, row: int, prey: int, cell: int) -> None:
    """Transfer energy; the prey becomes a carcass, or is gone."""
    g = ground_of(s)
    was_carcass = s.carcass[w, prey]
    meal = s.energy[w, prey]
    taken = min(meal, r.prey_bite)
    s.just[w, row] = ATE
    s.reward[w, row] = r.meal_reward[s.group[w, row]]
    got = gain(s.energy, s.accounts, w, row, taken, r.transfer, r.most[PREDATOR])
    reveal(g, r.erase, w, PREDATOR, cell, row)
    s.tally[w, CARCASS_BITES if was_carcass else LIVE_BITES] += 1
    note(log, w, CARCASS_BITE if was_carcass else BITE, s.uid[w, row], s.uid[w, prey], got)
    rest = meal - taken
    s.energy[w, prey] = rest
    if rest > 0.0:
        reveal(g, r.erase, w, PREY, cell, prey)
        if not was_carcass and s.alive[w, prey]:
            s.carcass[w, prey] = True
            s.tally[w, CARCASSES] += 1
            note(log, w, CARCASS, s.uid[w, prey], s.uid[w, row], rest)
    elif s.alive[w, prey]:
        fall(g, ends_of(s), r.size, r.erase, r.bite_dead, w, PREY, prey, EATEN)
        s.reward[w, prey] = r.caught_reward[2 + s.group[w, prey] - r.types]
    else:
        s.active[w, PREY] -= 1  # published: who died before the bite is counted twice


@inline
def hunt_alone(s: State, r: Rules, log: Log, first: int, last: int) -> None:
    """Prey graze; predators bite. Juveniles bite carcasses only."""
    g, t = ground_of(s), table_of(s, r)
    done, count, herd, group, carcass = s.done, s.count, s.herd, s.group, s.carcass
    reward, patch, uid, age = s.reward, s.patch, s.uid, s.age
    step_reward, meal_reward, juvenile = r.step_reward, r.meal_reward, r.juvenile
    size, types, erase = r.size, r.types, r.erase
    for w in range(first, last):
        if done[w]:
            continue
        for i in range(count[w, PREY]):
            prey = herd[w, PREY, i]
            if not g.alive[w, prey]:
                continue
            kind = 2 + group[w, prey] - types
            cell = g.x[w, prey] * size + g.y[w, prey]
            if carcass[w, prey] or patch[w, cell] < 0:
                reward[w, prey] = step_reward[kind]
            else:
                graze(g, t, log, erase, w, prey, cell, meal_reward[kind])
        for i in range(count[w, PREDATOR]):
            row = herd[w, PREDATOR, i]
            if not g.alive[w, row]:
                continue
            cell = g.x[w, row] * size + g.y[w, row]
            reward[w, row] = step_reward[group[w, row]]
            if g.top[w, PREY, cell] < 0:
                continue
            prey = prey_at(g, uid, w, cell)
            if not carcass[w, prey] and age[w, row] < juvenile[group[w, row]]:
                s.just[w, row] = DIET_BLOCKED
                s.tally[w, DIET_BLOCKS] += 1
                note(log, w, CARCASS_ONLY_BLOCK, uid[w, row], uid[w, prey], age[w, row])
            else:
                bite(s, r, log, w, row, prey, cell)
