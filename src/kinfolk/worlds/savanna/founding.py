"""How an episode begins: founders and grass on free cells.

Plain numpy: it runs once per episode, for all worlds that begin together.
"""

from __future__ import annotations

import numpy as np

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import lean_kernel
from kinfolk.core.keys import below
from kinfolk.worlds.savanna.births import LONG_AGO
from kinfolk.worlds.savanna.rules import Rules
from kinfolk.worlds.savanna.state import GRASS, NO_CAUSE, NOTHING, PREDATOR, State

ZERO = (
    *("tick", "next_uid", "numbers", "active", "length", "ended_count"),
    *("alive", "terminated", "truncated", "carcass", "reward", "energy", "age"),
    *("shown", "tally", "accounts", "kickbacks", "group", "x", "y", "number"),
)
NOBODY = ("uid", "parents", "parent_rows", "top", "below", "patch")


@lean_kernel
def draw_cells(free: Ints, deck: Ints, keys: Ints, cells: Ints) -> None:
    """Distinct free cells for founders and grass, by chance: `cells` is `[keys, needed]`."""
    for i in range(keys.shape[0]):
        for j in range(free.shape[0]):
            deck[j] = free[j]
        for j in range(cells.shape[1]):
            other = j + below(keys[i], j, deck.shape[0] - j)
            chosen = deck[other]
            deck[other] = deck[j]
            deck[j] = chosen
            cells[i, j] = chosen


def clear(s: State, worlds: Ints) -> None:
    """Empty these worlds: nobody lives, nothing grows, nothing is counted."""
    rows = s.uid.shape[1]
    for name in ZERO:
        getattr(s, name)[worlds] = 0
    for name in NOBODY:
        getattr(s, name)[worlds] = -1
    s.just[worlds] = NOTHING
    s.cause[worlds] = NO_CAUSE
    s.bred[worlds] = LONG_AGO
    s.done[worlds] = False
    s.free_count[worlds] = rows
    s.free[worlds] = np.arange(rows)[::-1]  # a stack: the lowest row is taken first


def begin(s: State, r: Rules, founders: Ints, worlds: Ints, keys: Ints, cells: Ints) -> None:
    """Begin episodes: predators of type 1 and 2, prey of type 1 and 2, then grass, on `cells`."""
    clear(s, worlds)
    s.key[worlds] = keys
    column = worlds[:, None]
    first = 0
    for kind in range(4):
        k, number = kind // 2, int(founders[kind])
        rows = np.arange(first, first + number)
        where = cells[:, first : first + number]
        s.uid[column, rows] = rows
        s.number[column, rows] = np.arange(number)
        s.alive[column, rows] = True
        s.group[column, rows] = k * r.types + kind % 2
        s.x[column, rows] = where // r.size
        s.y[column, rows] = where % r.size
        s.energy[column, rows] = r.start[k]
        if k == PREDATOR and r.juvenile[kind] >= 0:
            s.age[column, rows] = r.juvenile[kind]
        s.top[column, k, where] = rows
        s.shown[column, k, where] = r.start[k]
        s.herd[column, k, s.length[column, k] + np.arange(number)] = rows
        s.length[worlds, k] += number
        s.numbers[worlds, kind] = number
        first += number
    s.active[worlds] = s.length[worlds]
    s.next_uid[worlds] = first
    s.free_count[worlds] -= first
    s.parent[column, np.arange(first)] = -1
    s.living[column, np.arange(first)] = True
    s.live_descendants[column, np.arange(first)] = 0
    s.prev_live_descendants[column, np.arange(first)] = 0
    grass = cells[:, first:]
    s.patch[column, grass] = np.arange(grass.shape[1])
    s.patch_cell[worlds] = grass
    s.grass[worlds] = r.grass_start
    s.shown[column, GRASS, grass] = r.grass_start
