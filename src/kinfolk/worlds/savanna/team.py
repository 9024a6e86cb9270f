"""Team capture: predators in a prey's Moore neighbourhood pull together, without a choice.

One kill per predator and step. After a failure the same predators still attack the next prey in
reach, and pay again. A carcass does not resist: those around it share it.
"""

from __future__ import annotations

from typing import NamedTuple

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline
from kinfolk.worlds.savanna.cells import Ground, ground_of, reveal
from kinfolk.worlds.savanna.log import (
    CAPTURE,
    CARCASS,
    CARCASS_BITE,
    CARCASS_ONLY_BLOCK,
    FAILED_CAPTURE,
    Log,
    note,
)
from kinfolk.worlds.savanna.meals import gain, graze, table_of
from kinfolk.worlds.savanna.passing import ends_of, fall
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
    State,
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


@inline
def gather(g: Ground, p: Pack, log: Log, size: int, dead: bool, w: int, prey: int, helpers: Ints) -> int:
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
                                log, w, CARCASS_ONLY_BLOCK, p.uid[w, row], p.uid[w, prey], p.age[w, row]
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


@inline
def fail(s: State, r: Rules, log: Log, w: int, prey: int, helpers: Ints, n: int, total: float) -> None:
    """The attack fails; its cost is shared in proportion to energy, and may kill."""
    s.tally[w, FAILURES] += 1
    if n > 1:
        s.tally[w, COOP_FAILURES] += 1
    g, e = ground_of(s), ends_of(s)
    whole = s.energy[w, prey] * r.failure_cost
    for i in range(n):
        row = helpers[i]
        cost = 0.0
        if whole > 0.0 and total > 0.0:
            cost = whole * (s.energy[w, row] / total)
            s.energy[w, row] -= cost
            s.accounts[w, FAILED] += cost
            if s.energy[w, row] <= 0.0:
                fall(g, e, r.size, r.erase, r.bite_dead, w, PREDATOR, row, STARVED)
            else:
                cell = s.x[w, row] * r.size + s.y[w, row]
                reveal(g, r.erase, w, PREDATOR, cell, row)
        note(log, w, FAILED_CAPTURE, s.uid[w, row], s.uid[w, prey], cost)


@inline
def share(s: State, r: Rules, log: Log, w: int, prey: int, helpers: Ints, n: int, total: float) -> None:
    """Helpers eat their shares, each up to one bite; what is left over is a carcass."""
    g = ground_of(s)
    meal = s.energy[w, prey]
    was_carcass = s.carcass[w, prey]
    rest, mean = 0.0, 0.0
    if was_carcass:
        s.tally[w, CARCASS_BITES] += n
    else:
        s.tally[w, SUCCESSES] += 1
        s.tally[w, HELPER_TOTAL] += n
        s.tally[w, LAST_HELPERS] = n
        if n > 1:
            s.tally[w, COOP_SUCCESSES] += 1
    for i in range(n):
        mean += r.meal_reward[s.group[w, helpers[i]]]
    for i in range(n):
        row = helpers[i]
        part = meal / n
        if not r.equal_split:
            part = meal * (s.energy[w, row] / total) if total > 0.0 else 0.0
        bite = min(part, r.prey_bite)
        rest += part - bite
        s.just[w, row] = ATE
        got = gain(s.energy, s.accounts, w, row, bite, r.transfer, r.most[PREDATOR])
        cell = s.x[w, row] * r.size + s.y[w, row]
        reveal(g, r.erase, w, PREDATOR, cell, row)
        own = mean if r.mean_catch else r.meal_reward[s.group[w, row]]
        s.reward[w, row] = own / n
        note(log, w, CARCASS_BITE if was_carcass else CAPTURE, s.uid[w, row], s.uid[w, prey], got)
    s.energy[w, prey] = rest
    if rest > 0.0:
        cell = s.x[w, prey] * r.size + s.y[w, prey]
        reveal(g, r.erase, w, PREY, cell, prey)
        if not was_carcass:
            s.carcass[w, prey] = True
            s.tally[w, CARCASSES] += 1
            note(log, w, CARCASS, s.uid[w, prey], s.uid[w, helpers[0]], rest)
    else:
        fall(g, ends_of(s), r.size, r.erase, r.bite_dead, w, PREY, prey, EATEN)
        s.reward[w, prey] = r.caught_reward[2 + s.group[w, prey] - r.types]


@inline
def hunt_in_teams(s: State, r: Rules, log: Log, helpers: Ints, first: int, last: int) -> None:
    """Prey after prey: is it caught? If not, it grazes."""
    g, t = ground_of(s), table_of(s, r)
    p = Pack(s.just, s.age, s.uid, s.group, s.tally, r.juvenile)
    done, count, herd, group, carcass = s.done, s.count, s.herd, s.group, s.carcass
    reward, patch = s.reward, s.patch
    step_reward, meal_reward = r.step_reward, r.meal_reward
    size, types, erase, margin = r.size, r.types, r.erase, r.margin
    for w in range(first, last):
        if done[w]:
            continue
        for i in range(count[w, PREDATOR]):
            row = herd[w, PREDATOR, i]
            if g.alive[w, row]:
                reward[w, row] = step_reward[group[w, row]]
        for i in range(count[w, PREY]):
            prey = herd[w, PREY, i]
            if not g.alive[w, prey]:
                continue
            dead = carcass[w, prey]
            n = gather(g, p, log, size, dead, w, prey, helpers)
            if n > 0:
                total = 0.0
                for j in range(n):
                    total += g.energy[w, helpers[j]]
                needed = g.energy[w, prey] + margin
                if dead or total > needed or (r.tie_succeeds and total + _ROUNDING >= needed):
                    share(s, r, log, w, prey, helpers, n, total)
                    continue
                fail(s, r, log, w, prey, helpers, n, total)
            kind = 2 + group[w, prey] - types
            cell = g.x[w, prey] * size + g.y[w, prey]
            if dead or patch[w, cell] < 0:
                reward[w, prey] = step_reward[kind]
            else:
                graze(g, t, log, erase, w, prey, cell, meal_reward[kind])
