"""Bites: prey graze first, then every predator bites the first prey on its own cell.

A bite that leaves something makes a carcass: it neither moves, eats, breeds nor ages, still
decays, can still be bitten, and still counts as one of the prey until it is gone.
"""

from __future__ import annotations

from kinfolk.core.jit import inline
from kinfolk.worlds.savanna.cells import reveal
from kinfolk.worlds.savanna.log import BITE, CARCASS, CARCASS_BITE, CARCASS_ONLY_BLOCK, Log, note
from kinfolk.worlds.savanna.meals import gain, graze
from kinfolk.worlds.savanna.passing import fall
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
def prey_at(s: State, w: int, cell: int) -> int:
    """The prey of lowest uid on a cell, -1 if there is none."""
    found = -1
    at = s.top[w, PREY, cell]
    while at >= 0:
        if found < 0 or s.uid[w, at] < s.uid[w, found]:
            found = at
        at = s.below[w, at]
    return int(found)


@inline
def bite(s: State, r: Rules, log: Log, w: int, row: int, prey: int, cell: int) -> None:
    """Transfer energy; the prey becomes a carcass, or is gone."""
    was_carcass = s.carcass[w, prey]
    meal = s.energy[w, prey]
    taken = min(meal, r.prey_bite)
    s.just[w, row] = ATE
    s.reward[w, row] = r.meal_reward[s.group[w, row]]
    got = gain(s.energy, s.accounts, w, row, taken, r.transfer, r.most[PREDATOR])
    reveal(s.shown, s.top, s.below, s.alive, s.energy, r.erase, w, PREDATOR, cell, row)
    s.tally[w, CARCASS_BITES if was_carcass else LIVE_BITES] += 1
    note(log, w, CARCASS_BITE if was_carcass else BITE, s.uid[w, row], s.uid[w, prey], got)
    rest = meal - taken
    s.energy[w, prey] = rest
    if rest > 0.0:
        reveal(s.shown, s.top, s.below, s.alive, s.energy, r.erase, w, PREY, cell, prey)
        if not was_carcass and s.alive[w, prey]:
            s.carcass[w, prey] = True
            s.tally[w, CARCASSES] += 1
            note(log, w, CARCASS, s.uid[w, prey], s.uid[w, row], rest)
    elif s.alive[w, prey]:
        fall(s, r, w, PREY, prey, EATEN)
        s.reward[w, prey] = r.caught_reward[2 + s.group[w, prey] - r.types]
    else:
        s.active[w, PREY] -= 1  # published: who died before the bite is counted twice


@inline
def hunt_alone(s: State, r: Rules, log: Log, first: int, last: int) -> None:
    """Prey graze; predators bite. Juveniles bite carcasses only."""
    for w in range(first, last):
        if s.done[w]:
            continue
        for i in range(s.count[w, PREY]):
            prey = s.herd[w, PREY, i]
            if s.carcass[w, prey]:
                s.reward[w, prey] = r.step_reward[2 + s.group[w, prey] - r.types]
            elif s.alive[w, prey]:
                graze(s, r, log, w, prey)
        for i in range(s.count[w, PREDATOR]):
            row = s.herd[w, PREDATOR, i]
            if not s.alive[w, row]:
                continue
            cell = s.x[w, row] * r.size + s.y[w, row]
            prey = prey_at(s, w, cell)
            s.reward[w, row] = r.step_reward[s.group[w, row]]
            if prey < 0:
                continue
            if not s.carcass[w, prey] and s.age[w, row] < r.juvenile[s.group[w, row]]:
                s.just[w, row] = DIET_BLOCKED
                s.tally[w, DIET_BLOCKS] += 1
                note(log, w, CARCASS_ONLY_BLOCK, s.uid[w, row], s.uid[w, prey], s.age[w, row])
            else:
                bite(s, r, log, w, row, prey, cell)
