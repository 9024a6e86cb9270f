"""The smart baseline: an agent that changes among the seeded roles as the game asks.

Scout until the buildings are known; then by what the team lacks. A team has no way to agree, so
agents differ by habit: their number decides what they look at first.
"""

from __future__ import annotations

from kinfolk.core.arrays import AnyArray, Ints
from kinfolk.core.jit import inline, lean_kernel
from kinfolk.policies.cogsguard.behaviors.scout import knows_buildings
from kinfolk.policies.cogsguard.knowledge import HEART_PRICE
from kinfolk.policies.cogsguard.memory import (
    CALLING,
    CALLING_UNTIL,
    CLOCK,
    JUNCTIONS,
    LIFE,
    Mind,
)
from kinfolk.policies.cogsguard.needs import can_pay_heart
from kinfolk.roles.execution import Seats
from kinfolk.worlds.cogsguard.codes import CLIPS, HEARTS, NOBODY, OTHER
from kinfolk.worlds.cogsguard.layout import STORE_FACT

SMART = -1  # in place of a role
_MINER, _SCOUT, _ALIGNER, _SCRAMBLER = range(4)  # the seeded roles, as in `catalog.ROLES`
_STAY = 40  # ticks that a calling is kept
_RICH = 4  # hearts' worth of elements: enough that fewer need to mine


@inline
def wealth(m: Mind, at: int) -> int:
    """Hearts that the elements in the store would pay."""
    least = m.notes[at, STORE_FACT]
    for element in range(1, 4):
        least = min(least, m.notes[at, STORE_FACT + element])
    return int(least // max(1, m.rules[HEART_PRICE]))


@inline
def calling(m: Mind, at: int) -> int:
    """Which seeded role fits the game now."""
    notes, habit = m.notes, m.notes[at, LIFE] % 8
    if not knows_buildings(m, at):
        return _SCOUT
    enemies = notes[at, JUNCTIONS + CLIPS] + notes[at, JUNCTIONS + OTHER]
    hearts = notes[at, HEARTS] > 0 or can_pay_heart(m, at)
    rich = wealth(m, at) >= _RICH
    if habit == 0 or not hearts or (habit < 3 and not rich):
        return _MINER
    if enemies > 0 and (habit in (3, 4) or notes[at, JUNCTIONS + NOBODY] == 0):
        return _SCRAMBLER
    if notes[at, JUNCTIONS + NOBODY] > 0:
        return _ALIGNER
    return _SCOUT


@lean_kernel
def follow_callings(
    m: Mind, seats: Seats, place: Ints, role: Ints, vibe: Ints, programs: AnyArray
) -> None:
    """Let smart agents take on another role where the game asks for it."""
    for i in range(place.shape[0]):
        at = place[i]
        if role[at] != SMART or m.notes[at, CLOCK] < m.notes[at, CALLING_UNTIL]:
            continue
        m.notes[at, CALLING_UNTIL] = m.notes[at, CLOCK] + _STAY
        chosen = calling(m, at)
        if chosen == _SCOUT and not knows_buildings(m, at):
            m.notes[at, CALLING_UNTIL] = m.notes[at, CLOCK] + 1
        if m.notes[at, CALLING] != chosen + 1:
            m.notes[at, CALLING] = chosen + 1
            last = programs.shape[1] - 1
            for k in range(last):
                seats.program[at, k] = programs[chosen, k]
            seats.active[at] = 0
            seats.held[at] = 0
            vibe[at] = programs[chosen, last]
