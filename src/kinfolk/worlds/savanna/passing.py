"""Time passes: rows are released, energy decays, bodies age, grass grows, the hungry starve.

Phases name the arrays they use before they loop: reaching into the state for every agent costs
more than the rules do, and so does handing the whole state to a function called per agent.
"""

from __future__ import annotations

from typing import NamedTuple

from kinfolk.core.arrays import Bools, Ints
from kinfolk.core.jit import inline
from kinfolk.worlds.savanna.cells import Ground, ground_of, leave, reveal, vacate
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
    State,
)


@inline
def release(s: State, log: Log, first: int, last: int) -> None:
    """Give away the rows of those whose life ended in the step before."""
    for w in range(first, last):
        log.kept[w] = 0
        if s.done[w]:
            continue
        for i in range(s.ended_count[w] - 1, -1, -1):
            row = s.ended[w, i]
            s.uid[w, row] = -1
            s.terminated[w, row] = False
            s.reward[w, row] = 0.0
            s.free[w, s.free_count[w]] = row
            s.free_count[w] += 1
        s.ended_count[w] = 0


class Ends(NamedTuple):
    """The part of the state that a death changes at once."""

    carcass: Bools
    cause: Ints
    active: Ints


@inline
def ends_of(s: State) -> Ends:
    """The ends of a state."""
    return Ends(s.carcass, s.cause, s.active)


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
def decay(s: State, r: Rules, log: Log, first: int, last: int) -> None:
    """Everybody loses energy, carcasses too; all but carcasses age, and may be too old."""
    g, e = ground_of(s), ends_of(s)
    done, count, herd, group, uid = s.done, s.count, s.herd, s.group, s.uid
    age, reward, just, accounts = s.age, s.reward, s.just, s.accounts
    size, types, erase, stay = r.size, r.types, r.erase, r.bite_dead
    fertility, oldest = r.fertility, r.oldest
    for w in range(first, last):
        if done[w]:
            continue
        for k in range(2):
            loss = r.loss[k]
            for i in range(count[w, k]):
                row = herd[w, k, i]
                g.energy[w, row] -= loss
                reward[w, row] = 0.0
                just[w, row] = NOTHING
                reveal(g, erase, w, k, g.x[w, row] * size + g.y[w, row], row)
                if e.carcass[w, row]:
                    continue
                years = age[w, row] + 1
                age[w, row] = years
                kind = 2 * k + group[w, row] - k * types
                if years == fertility[kind]:
                    note(log, w, FERTILITY_EXPIRED, uid[w, row], -1, years)
                if 0 <= oldest[kind] <= years:
                    fall(g, e, size, erase, stay, w, k, row, MAX_AGE)
                    # as published: the counter can be too low already, but not below nothing
                    e.active[w, k] = max(e.active[w, k], 0)
            accounts[w, DECAYED] += loss * count[w, k]


@inline
def grow(s: State, r: Rules, first: int, last: int) -> None:
    """Every patch of grass gains energy, up to its most."""
    done, grass, shown, patch_cell = s.done, s.grass, s.shown, s.patch_cell
    gain, most = r.grass_gain, r.grass_most
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
        s.accounts[w, GROWN] += grown


@inline
def starve(s: State, r: Rules, first: int, last: int) -> None:
    """Whoever has no energy left dies; starved carcasses vanish with the others."""
    g, e = ground_of(s), ends_of(s)
    done, count, herd = s.done, s.count, s.herd
    size, erase, stay = r.size, r.erase, r.bite_dead
    for w in range(first, last):
        if done[w]:
            continue
        for k in range(2):
            for i in range(count[w, k]):
                row = herd[w, k, i]
                if g.energy[w, row] <= 0.0:
                    if g.alive[w, row]:
                        fall(g, e, size, erase, stay, w, k, row, STARVED)
                    elif stay:  # published: too old and starved in one step counts twice
                        e.active[w, k] -= 1
