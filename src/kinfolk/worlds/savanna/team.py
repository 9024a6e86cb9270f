"""Team capture: predators in a prey's Moore neighbourhood pull together, without a choice.

One kill per predator and step. After a failure the same predators still attack the next prey in
reach, and pay again. A carcass does not resist: those around it share it.
"""

from __future__ import annotations

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline
from kinfolk.worlds.savanna.cells import reveal
from kinfolk.worlds.savanna.log import (
    CAPTURE,
    CARCASS,
    CARCASS_BITE,
    CARCASS_ONLY_BLOCK,
    FAILED_CAPTURE,
    Log,
    note,
)
from kinfolk.worlds.savanna.meals import gain, graze
from kinfolk.worlds.savanna.passing import fall
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


@inline
def gather(s: State, r: Rules, log: Log, w: int, prey: int, helpers: Ints) -> int:
    """List the predators that take part, in uid order; juveniles may not, unless it is dead."""
    found = 0
    x, y = s.x[w, prey], s.y[w, prey]
    for to_x in range(max(x - 1, 0), min(x + 2, r.size)):
        for to_y in range(max(y - 1, 0), min(y + 2, r.size)):
            row = s.top[w, PREDATOR, to_x * r.size + to_y]
            while row >= 0:
                if s.alive[w, row] and s.just[w, row] != ATE:
                    if not s.carcass[w, prey] and s.age[w, row] < r.juvenile[s.group[w, row]]:
                        if s.just[w, row] != DIET_BLOCKED:
                            s.just[w, row] = DIET_BLOCKED
                            s.tally[w, DIET_BLOCKS] += 1
                            note(
                                log, w, CARCASS_ONLY_BLOCK, s.uid[w, row], s.uid[w, prey], s.age[w, row]
                            )
                    else:
                        at = found
                        while at > 0 and s.uid[w, helpers[at - 1]] > s.uid[w, row]:
                            helpers[at] = helpers[at - 1]
                            at -= 1
                        helpers[at] = row
                        found += 1
                row = s.below[w, row]
    return found


@inline
def fail(s: State, r: Rules, log: Log, w: int, prey: int, helpers: Ints, n: int, total: float) -> None:
    """The attack fails; its cost is shared in proportion to energy, and may kill."""
    s.tally[w, FAILURES] += 1
    if n > 1:
        s.tally[w, COOP_FAILURES] += 1
    whole = s.energy[w, prey] * r.failure_cost
    for i in range(n):
        row = helpers[i]
        cost = 0.0
        if whole > 0.0 and total > 0.0:
            cost = whole * (s.energy[w, row] / total)
            s.energy[w, row] -= cost
            s.accounts[w, FAILED] += cost
            if s.energy[w, row] <= 0.0:
                fall(s, r, w, PREDATOR, row, STARVED)
            else:
                cell = s.x[w, row] * r.size + s.y[w, row]
                reveal(s.shown, s.top, s.below, s.alive, s.energy, r.erase, w, PREDATOR, cell, row)
        note(log, w, FAILED_CAPTURE, s.uid[w, row], s.uid[w, prey], cost)


@inline
def share(s: State, r: Rules, log: Log, w: int, prey: int, helpers: Ints, n: int, total: float) -> None:
    """Helpers eat their shares, each up to one bite; what is left over is a carcass."""
    meal = s.energy[w, prey]
    was_carcass = s.carcass[w, prey]
    rest, mean = 0.0, 0.0
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
        reveal(s.shown, s.top, s.below, s.alive, s.energy, r.erase, w, PREDATOR, cell, row)
        own = mean if r.mean_catch else r.meal_reward[s.group[w, row]]
        s.reward[w, row] = own / n
        note(log, w, CARCASS_BITE if was_carcass else CAPTURE, s.uid[w, row], s.uid[w, prey], got)
    s.energy[w, prey] = rest
    if rest > 0.0:
        cell = s.x[w, prey] * r.size + s.y[w, prey]
        reveal(s.shown, s.top, s.below, s.alive, s.energy, r.erase, w, PREY, cell, prey)
        if not was_carcass:
            s.carcass[w, prey] = True
            s.tally[w, CARCASSES] += 1
            note(log, w, CARCASS, s.uid[w, prey], s.uid[w, helpers[0]], rest)
    else:
        fall(s, r, w, PREY, prey, EATEN)
        s.reward[w, prey] = r.caught_reward[2 + s.group[w, prey] - r.types]


@inline
def hunt_in_teams(s: State, r: Rules, log: Log, helpers: Ints, first: int, last: int) -> None:
    """Prey after prey: is it caught? If not, it grazes."""
    for w in range(first, last):
        if s.done[w]:
            continue
        for i in range(s.count[w, PREDATOR]):
            row = s.herd[w, PREDATOR, i]
            s.reward[w, row] = r.step_reward[s.group[w, row]]
        for i in range(s.count[w, PREY]):
            prey = s.herd[w, PREY, i]
            if not s.alive[w, prey]:
                continue
            n = gather(s, r, log, w, prey, helpers)
            caught = False
            if n > 0:
                total = 0.0
                for j in range(n):
                    total += s.energy[w, helpers[j]]
                needed = s.energy[w, prey] + r.margin
                if s.carcass[w, prey]:
                    s.tally[w, CARCASS_BITES] += n
                    caught = True
                elif (r.tie_succeeds and total + _ROUNDING >= needed) or total > needed:
                    s.tally[w, SUCCESSES] += 1
                    s.tally[w, HELPER_TOTAL] += n
                    s.tally[w, LAST_HELPERS] = n
                    if n > 1:
                        s.tally[w, COOP_SUCCESSES] += 1
                    caught = True
                if caught:
                    share(s, r, log, w, prey, helpers, n, total)
                else:
                    fail(s, r, log, w, prey, helpers, n, total)
            if not caught:
                if s.carcass[w, prey]:
                    s.reward[w, prey] = r.step_reward[2 + s.group[w, prey] - r.types]
                else:
                    graze(s, r, log, w, prey)
