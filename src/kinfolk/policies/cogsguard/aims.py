"""What to go for: the extractor, depot or junction that a behaviour chooses, kept until it no longer fits."""

from __future__ import annotations

from kinfolk.core.jit import inline
from kinfolk.policies.cogsguard.knowledge import (
    ALIGN_HUB_REACH,
    ALIGN_REACH,
    AREA_RADIUS,
    EDITION_A,
    ENERGY_LIMIT,
    INFLUENCE_ALIGNER,
    MOST_JUNCTIONS,
    RECENTLY,
    SHIFT,
    STRIDE,
)
from kinfolk.policies.cogsguard.memory import (
    CELL,
    CHANGED,
    CLOCK,
    FORMER,
    HUB_AT,
    KIND,
    LIFE,
    MINE_AIM,
    MINE_RETRY,
    NEAR_CELL,
    NEAR_GEAR,
    NEAR_OWNER,
    NEED,
    NEXT_EXTRACTOR,
    NEXT_JUNCTION,
    OBJECT_SHIFT,
    OWNER,
    RETRY,
    WHERE,
    Mind,
    apart,
)
from kinfolk.policies.cogsguard.needs import ticks_for
from kinfolk.worlds.cogsguard.codes import (
    ALIGNER,
    CLIPS,
    ENEMY_AREA,
    EXTRACTOR,
    HP,
    JUNCTION,
    NOBODY,
    OWN,
    SCRAMBLER,
)
from kinfolk.worlds.cogsguard.layout import STORE_FACT

MINE, ALIGN, SCRAMBLE, DEPOT = range(4)  # what for
_NONE = 1 << 30
_WAIT = 10  # ticks before another look, when nothing fitted
_SCARCE, _HABIT, _HARM, _RIVAL, _FRESH = 16, 6, 40, 30, 25  # steps that these are worth


@inline
def depot_distance(m: Mind, at: int, cell: int) -> int:
    """Steps from a cell to the nearest known hub or own junction."""
    hub, least = int(m.notes[at, HUB_AT]), _NONE
    if hub > 0:
        least = apart(m, cell, hub)
    for entry in range(m.notes[at, NEXT_JUNCTION]):
        if m.objects[at, entry, OWNER] == OWN:
            least = min(least, apart(m, cell, int(m.objects[at, entry, WHERE])))
    return least


@inline
def scarcest(m: Mind, at: int) -> int:
    """The element that the team's store has least of."""
    best = 0
    for element in range(1, 4):
        if m.notes[at, STORE_FACT + element] < m.notes[at, STORE_FACT + best]:
            best = element
    return best


@inline
def is_harmful(m: Mind, at: int, cell: int) -> bool:
    """Whether a cell was in an enemy area when it was seen last."""
    return int(m.cells[at, cell]) & ENEMY_AREA != 0


@inline
def has_rival(m: Mind, at: int, cell: int, gear: int) -> bool:
    """Whether a team-mate in view with this gear is nearer to a cell than the agent is."""
    own = apart(m, m.notes[at, CELL], cell)
    for i in range(1, m.near[at, 0] + 1):
        other = int(m.near[at, i])
        alike = other >> NEAR_OWNER & 3 == OWN and other >> NEAR_GEAR & 7 == gear
        if alike and apart(m, other >> NEAR_CELL, cell) < own:
            return True
    return False


@inline
def choose_extractor(m: Mind, at: int) -> int:
    """Near, near a depot, of the element that is scarce, outside enemy areas; 0 if none is known."""
    objects, notes, clock = m.objects, m.notes, m.notes[at, CLOCK]
    first, here = m.rules[MOST_JUNCTIONS], notes[at, CELL]
    best, least, wanted = 0, _NONE, scarcest(m, at)
    for entry in range(first, first + notes[at, NEXT_EXTRACTOR]):
        cell = int(objects[at, entry, WHERE])
        if cell == 0 or objects[at, entry, RETRY] > clock:
            continue
        home = depot_distance(m, at, cell)
        far = apart(m, here, cell)
        cost = far + min(home, 1000)
        element = objects[at, entry, KIND] - EXTRACTOR
        cost -= _SCARCE if element == wanted else 0
        cost -= _HABIT if element == notes[at, LIFE] % 4 else 0
        cost += _HARM if is_harmful(m, at, cell) or far + home > notes[at, HP] else 0
        if cost < least:
            best, least = cell, cost
    return best


@inline
def choose_depot(m: Mind, at: int) -> int:
    """The nearest hub or own junction; 0 if none is known."""
    objects, notes, clock = m.objects, m.notes, m.notes[at, CLOCK]
    best, least = 0, _NONE
    if notes[at, HUB_AT] > 0:
        best, least = int(notes[at, HUB_AT]), apart(m, notes[at, CELL], notes[at, HUB_AT])
    for entry in range(notes[at, NEXT_JUNCTION]):
        cell = int(objects[at, entry, WHERE])
        if objects[at, entry, OWNER] == OWN and objects[at, entry, RETRY] <= clock:
            far = apart(m, notes[at, CELL], cell)
            if far < least:
                best, least = cell, far
    return best


@inline
def in_reach(m: Mind, at: int, cell: int) -> bool:
    """Edition A: whether the team may align a junction here, as far as the agent knows."""
    hub = m.notes[at, HUB_AT]
    if hub > 0 and squared(m, cell, hub) <= m.rules[ALIGN_HUB_REACH] ** 2:
        return True
    for entry in range(m.notes[at, NEXT_JUNCTION]):
        near = squared(m, cell, int(m.objects[at, entry, WHERE])) <= m.rules[ALIGN_REACH] ** 2
        if m.objects[at, entry, OWNER] == OWN and near:
            return True
    return False


@inline
def squared(m: Mind, a: int, b: int) -> int:
    """The squared distance of two cells."""
    shift, last = m.rules[SHIFT], m.rules[STRIDE] - 1
    y, x = (a >> shift) - (b >> shift), (a & last) - (b & last)
    return int(y * y + x * x)


@inline
def outside(m: Mind, at: int, cell: int) -> int:
    """Steps to a cell from the friendly area nearest to it, about."""
    return int(max(0, depot_distance(m, at, cell) - m.rules[AREA_RADIUS]))


@inline
def can_align(m: Mind, at: int, entry: int) -> bool:
    """Whether a junction can be aligned by an aligner with a heart, as far as the agent knows."""
    cell, owner = int(m.objects[at, entry, WHERE]), m.objects[at, entry, OWNER]
    if m.rules[EDITION_A] == 1:
        return bool(owner != OWN and in_reach(m, at, cell))
    if owner != NOBODY or is_harmful(m, at, cell):
        return False
    full = ticks_for(m, at, outside(m, at, cell), m.rules[ENERGY_LIMIT])
    return bool(full + 1 <= m.rules[INFLUENCE_ALIGNER])


@inline
def choose_junction(m: Mind, at: int, what: int) -> int:
    """Near, recently scrambled, not one that a team-mate is nearer to; 0 if none fits."""
    objects, notes, clock = m.objects, m.notes, m.notes[at, CLOCK]
    best, least = 0, _NONE
    for entry in range(notes[at, NEXT_JUNCTION]):
        cell, owner = int(objects[at, entry, WHERE]), objects[at, entry, OWNER]
        if objects[at, entry, RETRY] > clock or owner == OWN:
            continue
        if what == SCRAMBLE and owner == NOBODY:
            continue
        if what == ALIGN and not can_align(m, at, entry):
            continue
        cost = apart(m, notes[at, CELL], cell)
        changed = objects[at, entry, CHANGED]
        if what == ALIGN and changed > 0 and objects[at, entry, FORMER] >= CLIPS:
            cost -= _FRESH if clock - changed <= m.rules[RECENTLY] else 0
        cost += _RIVAL if has_rival(m, at, cell, ALIGNER if what == ALIGN else SCRAMBLER) else 0
        if cost < least:
            best, least = cell, cost
    return best


@inline
def fits(m: Mind, at: int, what: int, cell: int) -> bool:
    """Whether what was chosen is still there to be used."""
    if what == DEPOT and cell == m.notes[at, HUB_AT]:
        return True
    number = int(m.cells[at, cell]) >> OBJECT_SHIFT
    if number == 0 or m.objects[at, number - 1, RETRY] > m.notes[at, CLOCK]:
        return False
    kind, owner = m.objects[at, number - 1, KIND], m.objects[at, number - 1, OWNER]
    if what == MINE:
        return bool(kind < JUNCTION)
    if what == DEPOT:
        return bool(owner == OWN)
    if what == SCRAMBLE:
        return bool(owner >= CLIPS)
    if m.rules[EDITION_A] == 1:
        return bool(owner != OWN)
    return bool(owner == NOBODY and not is_harmful(m, at, cell))


def aim(m: Mind, at: int, what: int, _unused: int) -> int:
    """The cell of what to go for; chosen anew when it no longer fits. 0 if there is nothing."""
    notes = m.notes
    cell = int(notes[at, MINE_AIM + what])
    if cell > 0 and fits(m, at, what, cell):
        return cell
    notes[at, MINE_AIM + what] = 0
    if notes[at, CLOCK] < notes[at, MINE_RETRY + what]:
        return 0
    if what == MINE:
        cell = choose_extractor(m, at)
    elif what == DEPOT:
        cell = choose_depot(m, at)
    else:
        cell = choose_junction(m, at, what)
        notes[at, NEED] = outside(m, at, cell) if cell > 0 and what == ALIGN else notes[at, NEED]
    if cell == 0:
        notes[at, MINE_RETRY + what] = notes[at, CLOCK] + _WAIT
    notes[at, MINE_AIM + what] = cell
    return cell


@inline
def give_up(m: Mind, at: int, what: int, ticks: int) -> None:
    """Leave what was chosen alone for some ticks."""
    cell = int(m.notes[at, MINE_AIM + what])
    number = int(m.cells[at, cell]) >> OBJECT_SHIFT if cell > 0 else 0
    if number > 0:
        m.objects[at, number - 1, RETRY] = m.notes[at, CLOCK] + ticks
    m.notes[at, MINE_AIM + what] = 0
