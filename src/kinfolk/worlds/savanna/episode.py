"""An episode: how it begins, and one step as a list of phases."""

from __future__ import annotations

from kinfolk.core.arrays import Bools, Ints
from kinfolk.core.jit import inline, lean_kernel
from kinfolk.core.keys import below
from kinfolk.lineage.kernels import kin_birth
from kinfolk.worlds.savanna.births import breed, settle
from kinfolk.worlds.savanna.bites import hunt_alone
from kinfolk.worlds.savanna.cells import ground_of
from kinfolk.worlds.savanna.ending import finish, pay_kin
from kinfolk.worlds.savanna.log import Log
from kinfolk.worlds.savanna.meals import table_of
from kinfolk.worlds.savanna.moves import move
from kinfolk.worlds.savanna.passing import Ends, Herds, decay, grow, release, starve
from kinfolk.worlds.savanna.removal import Kin, bury
from kinfolk.worlds.savanna.rules import Rules
from kinfolk.worlds.savanna.state import GRASS, State
from kinfolk.worlds.savanna.team import Pack, hunt_in_teams

# Worlds that go through a phase together: few enough to stay in the cache of one core.
BLOCK = 4


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


@inline
def clear(s: State, w: int) -> None:
    """Empty world `w`: nobody lives, nothing grows, nothing is counted."""
    rows = s.uid.shape[1]
    s.tick[w] = 0
    s.done[w] = False
    s.next_uid[w] = 0
    s.numbers[w, :] = 0
    s.active[w, :] = 0
    s.length[w, :] = 0
    s.ended_count[w] = 0
    s.free_count[w] = rows
    s.uid[w, :] = -1
    s.alive[w, :] = False
    s.terminated[w, :] = False
    s.truncated[w, :] = False
    s.reward[w, :] = 0.0
    s.top[w, :, :] = -1
    s.shown[w, :, :] = 0.0
    s.patch[w, :] = -1
    s.tally[w, :] = 0
    s.accounts[w, :] = 0.0
    for row in range(rows):
        s.free[w, row] = rows - 1 - row


@lean_kernel
def begin(s: State, r: Rules, founders: Ints, worlds: Ints, keys: Ints, cells: Ints) -> None:
    """Begin episodes: predators of type 1 and 2, prey of type 1 and 2, then grass, on `cells`."""
    for i in range(worlds.shape[0]):
        w = worlds[i]
        clear(s, w)
        s.key[w] = keys[i]
        placed = 0
        for kind in range(4):
            for _ in range(founders[kind]):
                s.free_count[w] -= 1
                row = s.free[w, s.free_count[w]]
                uid = s.next_uid[w]
                settle(s, r, w, row, kind, cells[i, placed], r.start[kind // 2])
                kin_birth(
                    s.parent, s.living, s.live_descendants, s.prev_live_descendants, w, uid, -1
                )
                if kind < 2 and r.juvenile[kind] >= 0:
                    s.age[w, row] = r.juvenile[kind]
                placed += 1
        for patch in range(s.grass.shape[1]):
            cell = cells[i, placed + patch]
            s.patch[w, cell] = patch
            s.patch_cell[w, patch] = cell
            s.grass[w, patch] = r.grass_start
            s.shown[w, GRASS, cell] = r.grass_start


@lean_kernel
def step_in_teams(
    s: State,
    r: Rules,
    log: Log,
    actions: Ints,
    acting: Ints,
    counts: Ints,
    cells: Ints,
    helpers: Ints,
    first: int,
    last: int,
) -> int:
    """One step with team capture; returns the most uids a world has used.

    The two step kernels differ in one line. Who needs only one of them compiles only that.
    """
    h = Herds(s.done, s.length, s.herd, s.ended, s.ended_count, s.uid, s.reward)
    g, e, t = ground_of(s), Ends(s.carcass, s.cause, s.active), table_of(s, r)
    kin = Kin(s.parent, s.living, s.live_descendants, s.prev_live_descendants)
    p = Pack(s.just, s.age, s.uid, s.group, s.tally, r.juvenile)
    most = 0
    for a in range(first, last, BLOCK):
        b = min(a + BLOCK, last)
        release(h, log, s.terminated, s.free, s.free_count, a, b)
        decay(h, g, e, r, log, s.tick, s.group, s.age, s.just, s.accounts, a, b)
        grow(s.done, s.grass, s.shown, s.patch_cell, s.accounts, r.grass_gain, r.grass_most, a, b)
        move(g, r, s.done, s.group, s.carcass, s.tally, s.accounts, actions, acting, counts, a, b)
        starve(h, g, e, r.size, r.erase, r.bite_dead, a, b)
        hunt_in_teams(h, g, e, t, p, r, log, helpers, a, b)
        bury(h, g, e, kin, log, s.terminated, s.tally, s.accounts, r.size, r.bite_dead, a, b)
        breed(s, r, log, cells, a, b)
        pay_kin(h, kin, log, s.group, r.kin, r.types, r.symmetric, a, b)
        finish(h, s.tick, s.active, s.truncated, r.max_steps, r.zero_terminal, a, b)
        for w in range(a, b):
            most = max(most, s.next_uid[w])
    return most


@lean_kernel
def step_alone(
    s: State,
    r: Rules,
    log: Log,
    actions: Ints,
    acting: Ints,
    counts: Ints,
    cells: Ints,
    first: int,
    last: int,
) -> int:
    """One step with bites on one's own cell."""
    h = Herds(s.done, s.length, s.herd, s.ended, s.ended_count, s.uid, s.reward)
    g, e, t = ground_of(s), Ends(s.carcass, s.cause, s.active), table_of(s, r)
    kin = Kin(s.parent, s.living, s.live_descendants, s.prev_live_descendants)
    most = 0
    for a in range(first, last, BLOCK):
        b = min(a + BLOCK, last)
        release(h, log, s.terminated, s.free, s.free_count, a, b)
        decay(h, g, e, r, log, s.tick, s.group, s.age, s.just, s.accounts, a, b)
        grow(s.done, s.grass, s.shown, s.patch_cell, s.accounts, r.grass_gain, r.grass_most, a, b)
        move(g, r, s.done, s.group, s.carcass, s.tally, s.accounts, actions, acting, counts, a, b)
        starve(h, g, e, r.size, r.erase, r.bite_dead, a, b)
        hunt_alone(h, g, e, t, s.group, s.age, r, log, a, b)
        bury(h, g, e, kin, log, s.terminated, s.tally, s.accounts, r.size, r.bite_dead, a, b)
        breed(s, r, log, cells, a, b)
        pay_kin(h, kin, log, s.group, r.kin, r.types, r.symmetric, a, b)
        finish(h, s.tick, s.active, s.truncated, r.max_steps, r.zero_terminal, a, b)
        for w in range(a, b):
            most = max(most, s.next_uid[w])
    return most


@lean_kernel
def first_bad_action(
    done: Bools, count: Ints, herd: Ints, group: Ints, choices: Ints, actions: Ints
) -> int:
    """The first place of a living agent whose action is out of range, -1 if all are good."""
    rows = herd.shape[2]
    for w in range(herd.shape[0]):
        if done[w]:
            continue
        for k in range(2):
            for i in range(count[w, k]):
                row = herd[w, k, i]
                action = actions[w * rows + row, 0]
                if action < 0 or action >= choices[group[w, row]]:
                    return int(w * rows + row)
    return -1
