"""Time passes: rows are released, energy decays, bodies age, grass grows, the hungry starve."""

from __future__ import annotations

from kinfolk.core.jit import inline
from kinfolk.worlds.savanna.cells import leave, reveal, show
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


@inline
def fall(s: State, r: Rules, w: int, k: int, row: int, cause: int) -> None:
    """End a life at once on the grid; `removal.bury` does the rest later in the step."""
    cell = s.x[w, row] * r.size + s.y[w, row]
    s.alive[w, row] = False
    s.carcass[w, row] = False
    s.cause[w, row] = cause
    s.active[w, k] -= 1
    if k == PREDATOR or not r.bite_dead:
        leave(s.top, s.below, w, k, cell, row)
    if r.erase:
        s.shown[w, k, cell] = 0.0
    else:
        show(s.shown, s.top, s.below, s.alive, s.energy, w, k, cell)


@inline
def decay(s: State, r: Rules, log: Log, first: int, last: int) -> None:
    """Everybody loses energy, carcasses too; all but carcasses age, and may be too old."""
    for w in range(first, last):
        if s.done[w]:
            continue
        decayed = 0.0
        for k in range(2):
            loss = r.loss[k]
            for i in range(s.count[w, k]):
                row = s.herd[w, k, i]
                cell = s.x[w, row] * r.size + s.y[w, row]
                s.energy[w, row] -= loss
                decayed += loss
                s.reward[w, row] = 0.0
                s.just[w, row] = NOTHING
                reveal(
                    s.shown, s.top, s.below, s.alive, s.energy, r.erase, w, k, cell, row
                )
                if s.carcass[w, row]:
                    continue
                s.age[w, row] += 1
                kind = 2 * k + s.group[w, row] - k * r.types
                if s.age[w, row] == r.fertility[kind]:
                    note(log, w, FERTILITY_EXPIRED, s.uid[w, row], -1, s.age[w, row])
                if 0 <= r.oldest[kind] <= s.age[w, row]:
                    fall(s, r, w, k, row, MAX_AGE)
                    if s.active[w, k] < 0:
                        s.active[w, k] = 0  # as published; it can be too low already
        s.accounts[w, DECAYED] += decayed


@inline
def grow(s: State, r: Rules, first: int, last: int) -> None:
    """Every patch of grass gains energy, up to its most."""
    for w in range(first, last):
        if s.done[w]:
            continue
        grown = 0.0
        for patch in range(s.grass.shape[1]):
            before = s.grass[w, patch]
            if before != r.grass_most:
                after = min(before + r.grass_gain, r.grass_most)
                s.grass[w, patch] = after
                grown += after - before
                s.shown[w, GRASS, s.patch_cell[w, patch]] = after
        s.accounts[w, GROWN] += grown


@inline
def starve(s: State, r: Rules, first: int, last: int) -> None:
    """Whoever has no energy left dies; starved carcasses vanish with the others."""
    for w in range(first, last):
        if s.done[w]:
            continue
        for k in range(2):
            for i in range(s.count[w, k]):
                row = s.herd[w, k, i]
                if s.energy[w, row] <= 0.0:
                    if s.alive[w, row]:
                        fall(s, r, w, k, row, STARVED)
                    elif r.bite_dead:  # published: too old and starved in one step counts twice
                        s.active[w, k] -= 1
