"""Behaviours of everybody: explore, recharge."""

from __future__ import annotations

from kinfolk.core.jit import inline
from kinfolk.policies.cogsguard.exploring import ANYWHERE
from kinfolk.policies.cogsguard.knowledge import CLOSE, MARGIN, MOVE_COST
from kinfolk.policies.cogsguard.memory import CLOCK, FOUND, Mind
from kinfolk.policies.cogsguard.needs import energy_limit, hp_limit, solar, ticks_for
from kinfolk.policies.cogsguard.reasons import FULL, HOLD, NO_WAY, YES
from kinfolk.policies.cogsguard.tools import go_home, search, steps_home
from kinfolk.worlds.cogsguard.codes import ENERGY, GEAR, HP


def can_explore(_m: Mind, _at: int) -> int:
    """Always."""
    return YES


def explore(m: Mind, at: int) -> int:
    """Towards the frontier of the known map; patrol when all is known."""
    move = search(m, at, ANYWHERE)
    return move if move >= 0 else NO_WAY


def explored(m: Mind, at: int) -> int:
    """On finding something new."""
    return 1 if m.notes[at, FOUND] == m.notes[at, CLOCK] else 0


@inline
def lacks(m: Mind, at: int) -> bool:
    """Whether hp or energy is below what the way home takes, plus a margin.

    An agent gets energy from the sun as it walks; what the way needs beyond that counts, but never
    more than half of what can be held: else nobody would ever leave home by night.
    """
    notes, steps = m.notes, steps_home(m, at)
    if steps == 0:
        return False
    if notes[at, HP] < ticks_for(m, at, steps, notes[at, ENERGY]) + m.rules[MARGIN]:
        return True
    net = max(0, m.rules[MOVE_COST] - solar(m, at))
    need = min(steps * net, energy_limit(m, notes[at, GEAR]) // 2)
    return bool(notes[at, ENERGY] < need)


def can_recharge(m: Mind, at: int) -> int:
    """With hp or energy below what the way home needs."""
    return YES if lacks(m, at) else FULL


def recharge(m: Mind, at: int) -> int:
    """Go to the nearest friendly area and wait."""
    move = go_home(m, at)
    if move < 0:
        return NO_WAY
    return move + HOLD if steps_home(m, at) <= m.rules[CLOSE] else move


def recharged(m: Mind, at: int) -> int:
    """When full."""
    notes, gear = m.notes, m.notes[at, GEAR]
    full = notes[at, HP] >= hp_limit(m, gear) and notes[at, ENERGY] >= energy_limit(m, gear)
    return 1 if full else 0
