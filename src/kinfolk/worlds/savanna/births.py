"""Reproduction: whoever has the energy has one child per step, on a free cell beside it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kinfolk.core.arrays import Bools, Ints
from kinfolk.core.jit import inline
from kinfolk.core.keys import below, fold, uniform
from kinfolk.lineage.kernels import kin_birth
from kinfolk.worlds.savanna.cells import enter, ground_of, reveal
from kinfolk.worlds.savanna.log import (
    BIRTH,
    CAPACITY_BLOCK,
    FERTILITY_BLOCK,
    KICK_BACK,
    REPRODUCTION_REWARD,
    Log,
    note,
)
from kinfolk.worlds.savanna.rules import Rules
from kinfolk.worlds.savanna.state import (
    CAPACITY_BLOCKS,
    FERTILITY_BLOCKS,
    KICKBACKS,
    MUTATIONS,
    NO_CAUSE,
    NOTHING,
    PREDATOR,
    PREY,
    RANDOM_PLACES,
    SPAWNED,
    WASTED,
    State,
)

Links = npt.NDArray[np.int32]
LONG_AGO = -(1 << 40)
_PLACE_BRANCH, _CHANCE_BRANCH = 1, 2  # of a tick's key


@inline
def is_free(wall: Bools, top: Links, w: int, cell: int) -> bool:
    """Whether a cell has neither a wall nor an agent of either species."""
    return not wall[cell] and top[w, PREDATOR, cell] < 0 and top[w, PREY, cell] < 0


@inline
def neighbour(wall: Bools, size: int, top: Links, w: int, x: int, y: int) -> int:
    """The first free of the cells at (x-1, y), (x+1, y), (x, y-1), (x, y+1); -1 if none is."""
    if x > 0 and is_free(wall, top, w, (x - 1) * size + y):
        return (x - 1) * size + y
    if x < size - 1 and is_free(wall, top, w, (x + 1) * size + y):
        return (x + 1) * size + y
    if y > 0 and is_free(wall, top, w, x * size + y - 1):
        return x * size + y - 1
    if y < size - 1 and is_free(wall, top, w, x * size + y + 1):
        return x * size + y + 1
    return -1


@inline
def anywhere(wall: Bools, top: Links, w: int, key: int) -> int:
    """A free cell of the whole grid by chance, -1 if there is none. Rare, so it may be slow."""
    free = 0
    for cell in range(wall.shape[0]):
        if is_free(wall, top, w, cell):
            free += 1
    if free == 0:
        return -1
    chosen = below(key, 0, free)
    for cell in range(wall.shape[0]):
        if is_free(wall, top, w, cell):
            if chosen == 0:
                return cell
            chosen -= 1
    return -1


@inline
def kick_back(s: State, log: Log, w: int, row: int, pay: float, child: int) -> None:
    """The parent of a new parent is paid, if it is alive."""
    grand, uid = s.parent_rows[w, row, 0], s.parents[w, row, 0]
    if uid >= 0 and s.uid[w, grand] == uid and s.alive[w, grand] and not s.carcass[w, grand]:
        s.reward[w, grand] += pay
        s.kickbacks[w, grand] += 1
        s.tally[w, KICKBACKS] += 1
        note(log, w, KICK_BACK, uid, child, pay)


@inline
def settle(s: State, w: int, row: int, parent: int, energy: float) -> int:
    """Begin a life in `row` as a child of the life in the row `parent`; returns its uid."""
    uid: int = s.next_uid[w]
    s.next_uid[w] += 1
    s.uid[w, row] = uid
    s.alive[w, row] = True
    s.terminated[w, row] = False
    s.truncated[w, row] = False
    s.reward[w, row] = 0.0
    s.energy[w, row] = energy
    s.age[w, row] = 0
    s.carcass[w, row] = False
    s.just[w, row] = NOTHING
    s.cause[w, row] = NO_CAUSE
    s.bred[w, row] = LONG_AGO
    s.kickbacks[w, row] = 0
    s.parents[w, row, 0] = s.uid[w, parent]
    s.parent_rows[w, row, 0] = parent
    return uid


@inline
def bear(s: State, r: Rules, log: Log, w: int, k: int, row: int, kind: int, cell: int) -> None:
    """A child on `cell`: energy goes from parent to child, and the parent's reward is set."""
    g = ground_of(s)
    s.free_count[w] -= 1
    child = s.free[w, s.free_count[w]]
    parent = s.uid[w, row]
    own = 2 * k + s.group[w, row] - k * r.types
    given = r.start[k] * r.birth_transfer
    s.energy[w, row] -= r.start[k]
    s.accounts[w, WASTED] += r.start[k] - given
    uid = settle(s, w, child, row, given)
    s.number[w, child] = s.numbers[w, kind]
    s.numbers[w, kind] += 1
    s.group[w, child] = k * r.types + kind - 2 * k
    s.x[w, child] = cell // r.size
    s.y[w, child] = cell % r.size
    enter(g, w, k, cell, child)
    reveal(g, r.erase, w, k, cell, child)
    reveal(g, r.erase, w, k, s.x[w, row] * r.size + s.y[w, row], row)
    s.herd[w, k, s.length[w, k]] = child
    s.length[w, k] += 1
    s.active[w, k] += 1
    kin_birth(s.parent, s.living, s.live_descendants, s.prev_live_descendants, w, uid, parent)
    s.bred[w, row] = s.tick[w]
    s.reward[w, row] = r.birth_reward[own]
    s.tally[w, SPAWNED + k] += 1
    note(log, w, BIRTH, uid, parent, 1.0 if kind != own else 0.0)
    note(log, w, REPRODUCTION_REWARD, parent, uid, r.birth_reward[own])
    grand = s.parent_rows[w, row, 0]
    if grand >= 0:
        pay = r.kick_back[2 * k + s.group[w, grand] - k * r.types]
        if pay != 0.0:
            kick_back(s, log, w, row, pay, uid)


@inline
def attempt(
    s: State, r: Rules, log: Log, cells: Ints, w: int, k: int, row: int, newborns: int
) -> int:
    """One that has the energy tries to breed; returns how many children it had."""
    own = 2 * k + s.group[w, row] - k * r.types
    uid = s.uid[w, row]
    if 0 <= r.fertility[own] <= s.age[w, row]:
        s.tally[w, FERTILITY_BLOCKS + k] += 1
        note(log, w, FERTILITY_BLOCK, uid, -1, s.age[w, row])
        return 0
    if s.tick[w] - s.bred[w, row] < r.cooldown:
        return 0
    kind = own
    if r.chance[own] < 1.0 or r.mutation[k] > 0.0:
        key = fold(fold(fold(s.key[w], s.tick[w]), _CHANCE_BRANCH), uid)
        if uniform(key, 0) >= r.chance[own]:
            return 0
        if uniform(key, 1) < r.mutation[k]:
            kind = 4 * k + 1 - own
    cell = -1
    if s.free_count[w] > 0:
        cell = neighbour(r.wall, r.size, s.top, w, s.x[w, row], s.y[w, row])
        if cell < 0:
            s.tally[w, RANDOM_PLACES] += 1
            if newborns < cells.shape[1]:
                cell = cells[w, newborns]
            else:
                key = fold(fold(fold(s.key[w], s.tick[w]), _PLACE_BRANCH), uid)
                cell = anywhere(r.wall, s.top, w, key)
    if cell < 0:
        s.tally[w, CAPACITY_BLOCKS + k] += 1
        note(log, w, CAPACITY_BLOCK, uid, -1, 0.0)
        return 0
    if kind != own:
        s.tally[w, MUTATIONS] += 1
    bear(s, r, log, w, k, row, kind, cell)
    return 1


@inline
def breed(s: State, r: Rules, log: Log, cells: Ints, first: int, last: int) -> None:
    """Predators first, then prey, in uid order; children do not breed in the step of their birth.

    A newborn without a free neighbour cell goes to the cell `cells` names for the n-th birth of
    the step (a replay does that), or else anywhere by chance.
    """
    done, length, herd, energy, carcass = s.done, s.length, s.herd, s.energy, s.carcass
    threshold = r.threshold
    for w in range(first, last):
        if done[w]:
            continue
        newborns = 0
        for k in range(2):
            for i in range(length[w, k]):
                row = herd[w, k, i]
                if energy[w, row] >= threshold[k] and not carcass[w, row]:
                    newborns += attempt(s, r, log, cells, w, k, row, newborns)
