"""One step of an episode, as a list of phases."""

from __future__ import annotations

from kinfolk.core.arrays import Bools, Ints
from kinfolk.core.jit import lean_kernel
from kinfolk.worlds.savanna.births import breed
from kinfolk.worlds.savanna.bites import hunt_alone
from kinfolk.worlds.savanna.cells import ground_of
from kinfolk.worlds.savanna.ending import finish, pay_kin
from kinfolk.worlds.savanna.log import Log
from kinfolk.worlds.savanna.meals import table_of
from kinfolk.worlds.savanna.moves import move
from kinfolk.worlds.savanna.passing import Ends, Herds, decay, grow, release, starve
from kinfolk.worlds.savanna.removal import Kin, bury
from kinfolk.worlds.savanna.rules import Rules
from kinfolk.worlds.savanna.state import Rows, State
from kinfolk.worlds.savanna.team import Pack, hunt_in_teams

# Worlds that go through a phase together: few enough to stay in the cache of one core.
BLOCK = 4


@lean_kernel
def act_in_teams(
    s: State,
    r: Rules,
    log: Log,
    actions: Ints,
    acting: Rows,
    counts: Ints,
    all_act: bool,
    helpers: Rows,
    near: Ints,
    first: int,
    last: int,
) -> None:
    """The living move and eat, with team capture; the dead are buried.

    The two kernels that begin a step differ in one line. Who needs only one compiles only that.
    """
    h = Herds(s.done, s.length, s.herd, s.ended, s.ended_count, s.uid, s.reward)
    g, e, t = ground_of(s), Ends(s.carcass, s.cause, s.active), table_of(s, r)
    kin = Kin(s.parent, s.living, s.live_descendants, s.prev_live_descendants)
    p = Pack(s.just, s.age, s.uid, s.group, s.tally, r.juvenile)
    for a in range(first, last, BLOCK):
        b = min(a + BLOCK, last)
        release(h, log, s.terminated, s.free, s.free_count, a, b)
        decay(h, g, e, r, log, s.tick, s.group, s.age, s.just, s.accounts, all_act, a, b)
        grow(s.done, s.grass, s.shown, s.patch_cell, s.accounts, r.grass_gain, r.grass_most, a, b)
        move(g, r, s.done, s.group, s.carcass, s.tally, s.accounts, actions, acting, counts, a, b)
        starve(h, g, e, r.size, r.erase, r.bite_dead, a, b)
        hunt_in_teams(h, g, e, t, p, r, log, helpers, near, a, b)
        bury(h, g, e, kin, log, s.terminated, s.tally, s.accounts, r.size, r.bite_dead, a, b)


@lean_kernel
def act_alone(
    s: State,
    r: Rules,
    log: Log,
    actions: Ints,
    acting: Rows,
    counts: Ints,
    all_act: bool,
    first: int,
    last: int,
) -> None:
    """The living move and eat, with bites on one's own cell; the dead are buried."""
    h = Herds(s.done, s.length, s.herd, s.ended, s.ended_count, s.uid, s.reward)
    g, e, t = ground_of(s), Ends(s.carcass, s.cause, s.active), table_of(s, r)
    kin = Kin(s.parent, s.living, s.live_descendants, s.prev_live_descendants)
    for a in range(first, last, BLOCK):
        b = min(a + BLOCK, last)
        release(h, log, s.terminated, s.free, s.free_count, a, b)
        decay(h, g, e, r, log, s.tick, s.group, s.age, s.just, s.accounts, all_act, a, b)
        grow(s.done, s.grass, s.shown, s.patch_cell, s.accounts, r.grass_gain, r.grass_most, a, b)
        move(g, r, s.done, s.group, s.carcass, s.tally, s.accounts, actions, acting, counts, a, b)
        starve(h, g, e, r.size, r.erase, r.bite_dead, a, b)
        hunt_alone(h, g, e, t, s.group, s.age, r, log, a, b)
        bury(h, g, e, kin, log, s.terminated, s.tally, s.accounts, r.size, r.bite_dead, a, b)


@lean_kernel
def renew(s: State, r: Rules, log: Log, cells: Ints, first: int, last: int) -> int:
    """The rest of the step: births, what kin pay, endings; returns the most uids a world used.

    A kernel of its own, so that it can compile beside the one before it.
    """
    h = Herds(s.done, s.length, s.herd, s.ended, s.ended_count, s.uid, s.reward)
    kin = Kin(s.parent, s.living, s.live_descendants, s.prev_live_descendants)
    most = 0
    for a in range(first, last, BLOCK):
        b = min(a + BLOCK, last)
        breed(s, r, log, cells, a, b)
        pay_kin(h, kin, log, s.group, r.kin, r.types, r.symmetric, a, b)
        finish(h, s.tick, s.active, s.truncated, r.max_steps, r.zero_terminal, a, b)
        for w in range(a, b):
            most = max(most, s.next_uid[w])
    return most


@lean_kernel
def first_bad_action(
    done: Bools, count: Ints, herd: Rows, group: Ints, choices: Ints, actions: Ints
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
