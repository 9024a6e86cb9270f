"""Team capture: predators in a prey's Moore neighbourhood pull together, without a choice.

One kill per predator and step. After a failure the same predators still attack the next prey in
reach, and pay again. A carcass does not resist: those around it share it.
"""

from __future__ import annotations

from typing import NamedTuple

from kinfolk.core.arrays import Floats, Ints
from kinfolk.core.jit import expanded, inline
from kinfolk.worlds.savanna.cells import Ground, reveal
from kinfolk.worlds.savanna.log import (
    CAPTURE,
    CARCASS,
    CARCASS_BITE,
    CARCASS_ONLY_BLOCK,
    FAILED_CAPTURE,
    Log,
    note,
)
from kinfolk.worlds.savanna.meals import Table, gain, graze
from kinfolk.worlds.savanna.passing import Ends, Herds, fall
from kinfolk.worlds.savanna.rules import Rules
from kinfolk.worlds.savanna.state import (
    ATE,
    CARCASS_BITES,
    CARCASSES,
    COOP_FAILURES,
    COOP_SUCCESSES,
    DIET_BLOCKED,
    DIET_BLOCKS,
    EATEN,
    FAILED,
    FAILURES,
    HELPER_TOTAL,
    LAST_HELPERS,
    PREDATOR,
    PREY,
    STARVED,
    SUCCESSES,
    Rows,
)

_ROUNDING = 1e-9  # a tie is a tie in spite of rounding, as published


class Pack(NamedTuple):
    """The part of the state that says which predators may hunt."""

    just: Ints
    age: Ints
    uid: Ints
    group: Ints
    tally: Ints
    juvenile: Ints


@expanded
def mark_reach(h: Herds, g: Ground, near: Ints, size: int, w: int) -> int:
    """Stamp the cells that predators reach, and return the stamp: most prey are out of it.

    `near` is scratch with a border of one cell all round; its last entry is the stamp used last.
    Nine stores per predator are far fewer than nine looks per prey.
    """
    wide = size + 2
    stamp = near[near.shape[0] - 1] + 1
    near[near.shape[0] - 1] = stamp
    for i in range(h.length[w, PREDATOR]):
        row = h.herd[w, PREDATOR, i]
        if g.alive[w, row]:
            corner = g.x[w, row] * wide + g.y[w, row]
            for line in range(3):
                for column in range(3):
                    near[corner + line * wide + column] = stamp
    return int(stamp)


@expanded
def gather(
    g: Ground, p: Pack, log: Log, size: int, dead: bool, w: int, prey: int, helpers: Rows
) -> int:
    """List the predators that take part, in uid order; juveniles may not, unless it is dead."""
    found = 0
    x, y = g.x[w, prey], g.y[w, prey]
    for to_x in range(max(x - 1, 0), min(x + 2, size)):
        for to_y in range(max(y - 1, 0), min(y + 2, size)):
            row = g.top[w, PREDATOR, to_x * size + to_y]
            while row >= 0:
                if g.alive[w, row] and p.just[w, row] != ATE:
                    if not dead and p.age[w, row] < p.juvenile[p.group[w, row]]:
                        if p.just[w, row] != DIET_BLOCKED:
                            p.just[w, row] = DIET_BLOCKED
                            p.tally[w, DIET_BLOCKS] += 1
                            note(
                                log,
                                w,
                                CARCASS_ONLY_BLOCK,
                                p.uid[w, row],
                                p.uid[w, prey],
                                p.age[w, row],
                            )
                    else:
                        at = found
                        while at > 0 and p.uid[w, helpers[at - 1]] > p.uid[w, row]:
                            helpers[at] = helpers[at - 1]
                            at -= 1
                        helpers[at] = row
                        found += 1
                row = g.below[w, row]
    return found


@expanded
def fail(
    g: Ground,
    e: Ends,
    p: Pack,
    r: Rules,
    log: Log,
    accounts: Floats,
    w: int,
    prey: int,
    helpers: Rows,
    n: int,
    total: float,
) -> None:
    """The attack fails; its cost is shared in proportion to energy, and may kill."""
    p.tally[w, FAILURES] += 1
    if n > 1:
        p.tally[w, COOP_FAILURES] += 1
    whole = g.energy[w, prey] * r.failure_cost
    for i in range(n):
        row = helpers[i]
        cost = 0.0
        if whole > 0.0 and total > 0.0:
            cost = whole * (g.energy[w, row] / total)
            g.energy[w, row] -= cost
            accounts[w, FAILED] += cost
            if g.energy[w, row] <= 0.0:
                fall(g, e, r.size, r.erase, r.bite_dead, w, PREDATOR, row, STARVED)
            else:
                cell = g.x[w, row] * r.size + g.y[w, row]
                reveal(g, r.erase, w, PREDATOR, cell, row)
        note(log, w, FAILED_CAPTURE, p.uid[w, row], p.uid[w, prey], cost)


@expanded
def share(
    g: Ground,
    e: Ends,
    p: Pack,
    r: Rules,
    log: Log,
    reward: Floats,
    accounts: Floats,
    w: int,
    prey: int,
    helpers: Rows,
    n: int,
    total: float,
) -> None:
    """Helpers eat their shares, each up to one bite; what is left over is a carcass."""
    meal = g.energy[w, prey]
    was_carcass = e.carcass[w, prey]
    rest, mean = 0.0, 0.0
    if was_carcass:
        p.tally[w, CARCASS_BITES] += n
    else:
        p.tally[w, SUCCESSES] += 1
        p.tally[w, HELPER_TOTAL] += n
        p.tally[w, LAST_HELPERS] = n
        if n > 1:
            p.tally[w, COOP_SUCCESSES] += 1
    for i in range(n):
        mean += r.meal_reward[p.group[w, helpers[i]]]
    for i in range(n):
        row = helpers[i]
        part = meal / n
        if not r.equal_split:
            part = meal * (g.energy[w, row] / total) if total > 0.0 else 0.0
        bite = min(part, r.prey_bite)
        rest += part - bite
        p.just[w, row] = ATE
        got = gain(g.energy, accounts, w, row, bite, r.transfer, r.most[PREDATOR])
        cell = g.x[w, row] * r.size + g.y[w, row]
        reveal(g, r.erase, w, PREDATOR, cell, row)
        own = mean if r.mean_catch else r.meal_reward[p.group[w, row]]
        reward[w, row] = own / n
        note(log, w, CARCASS_BITE if was_carcass else CAPTURE, p.uid[w, row], p.uid[w, prey], got)
    g.energy[w, prey] = rest
    if rest > 0.0:
        cell = g.x[w, prey] * r.size + g.y[w, prey]
        reveal(g, r.erase, w, PREY, cell, prey)
        if not was_carcass:
            e.carcass[w, prey] = True
            p.tally[w, CARCASSES] += 1
            note(log, w, CARCASS, p.uid[w, prey], p.uid[w, helpers[0]], rest)
    else:
        fall(g, e, r.size, r.erase, r.bite_dead, w, PREY, prey, EATEN)
        reward[w, prey] = r.caught_reward[2 + p.group[w, prey] - r.types]


@inline
def hunt_in_teams(
    h: Herds,
    g: Ground,
    e: Ends,
    t: Table,
    p: Pack,
    r: Rules,
    log: Log,
    helpers: Rows,
    near: Ints,
    first: int,
    last: int,
) -> None:
    """Prey after prey: is it caught? If not, it grazes."""
    step_reward, meal_reward = r.step_reward, r.meal_reward
    size, types, erase, margin = r.size, r.types, r.erase, r.margin
    for w in range(first, last):
        if h.done[w]:
            continue
        for i in range(h.length[w, PREDATOR]):
            row = h.herd[w, PREDATOR, i]
            if g.alive[w, row]:
                h.reward[w, row] = step_reward[p.group[w, row]]
        stamp = mark_reach(h, g, near, size, w)
        for i in range(h.length[w, PREY]):
            prey = h.herd[w, PREY, i]
            if not g.alive[w, prey]:
                continue
            dead = e.carcass[w, prey]
            n = 0
            if near[(g.x[w, prey] + 1) * (size + 2) + g.y[w, prey] + 1] == stamp:
                n = gather(g, p, log, size, dead, w, prey, helpers)
            if n > 0:
                total = 0.0
                for j in range(n):
                    total += g.energy[w, helpers[j]]
                needed = g.energy[w, prey] + margin
                if dead or total > needed or (r.tie_succeeds and total + _ROUNDING >= needed):
                    share(g, e, p, r, log, h.reward, t.accounts, w, prey, helpers, n, total)
                    continue
                fail(g, e, p, r, log, t.accounts, w, prey, helpers, n, total)
            kind = 2 + p.group[w, prey] - types
            cell = g.x[w, prey] * size + g.y[w, prey]
            if dead or t.patch[w, cell] < 0:
                h.reward[w, prey] = step_reward[kind]
            else:
                graze(g, t, log, erase, w, prey, cell, meal_reward[kind])
