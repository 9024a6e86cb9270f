"""Eating: what one body gains, and what a prey takes from the grass under it."""

from __future__ import annotations

from kinfolk.core.arrays import Floats
from kinfolk.core.jit import inline
from kinfolk.worlds.savanna.cells import reveal
from kinfolk.worlds.savanna.log import EAT, Log, note
from kinfolk.worlds.savanna.rules import Rules
from kinfolk.worlds.savanna.state import ATE, GRASS, GRASS_BITES, PREY, WASTED, State


@inline
def gain(
    energy: Floats, accounts: Floats, w: int, row: int, bite: float, transfer: float, most: float
) -> float:
    """Feed a body; what is lost on the way, or does not fit in, is wasted."""
    before = energy[w, row]
    after = before + bite * transfer
    if after <= most and transfer == 1.0:
        energy[w, row] = after
        return bite
    after = min(after, max(before, most))
    energy[w, row] = after
    accounts[w, WASTED] += bite - (after - before)
    return after - before


@inline
def graze(s: State, r: Rules, log: Log, w: int, row: int) -> None:
    """A prey bites off the grass on its cell, or else gets what a step is worth."""
    cell = s.x[w, row] * r.size + s.y[w, row]
    patch = s.patch[w, cell]
    kind = 2 + s.group[w, row] - r.types
    if patch < 0:
        s.reward[w, row] = r.step_reward[kind]
        return
    s.reward[w, row] = r.meal_reward[kind]
    s.just[w, row] = ATE
    bite = min(s.grass[w, patch], r.grass_bite)
    rest = s.grass[w, patch] - bite
    s.grass[w, patch] = rest
    s.shown[w, GRASS, cell] = rest
    got = gain(s.energy, s.accounts, w, row, bite, r.transfer, r.most[PREY])
    reveal(s.shown, s.top, s.below, s.alive, s.energy, r.erase, w, PREY, cell, row)
    s.tally[w, GRASS_BITES] += 1
    note(log, w, EAT, s.uid[w, row], patch, got)
