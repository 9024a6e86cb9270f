"""Behaviours of aligners: hearts, influence, junctions."""

from __future__ import annotations

from kinfolk.core.jit import inline
from kinfolk.policies.cogsguard.aims import ALIGN, give_up
from kinfolk.policies.cogsguard.homing import is_friendly
from kinfolk.policies.cogsguard.knowledge import (
    A_WHILE,
    ALIGN_HEARTS,
    ALIGN_INFLUENCE,
    CLOSE,
    EDITION_A,
    HEARTS_WANTED,
)
from kinfolk.policies.cogsguard.memory import (
    ALIGN_AIM,
    BLOCKED,
    CELL,
    CHEST_AT,
    HUB_AT,
    JUNCTIONS,
    NEED,
    Mind,
)
from kinfolk.policies.cogsguard.needs import (
    can_have,
    can_pay_heart,
    energy_limit,
    influence_limit,
    ticks_for,
)
from kinfolk.policies.cogsguard.reasons import (
    ENOUGH_HEARTS,
    ENOUGH_INFLUENCE,
    HOLD,
    LITTLE_INFLUENCE,
    NO_CHEST,
    NO_GEAR,
    NO_HEART,
    NO_INFLUENCE_RULE,
    NO_NEUTRAL,
    NO_WAY,
    STORE_EMPTY,
    YES,
)
from kinfolk.policies.cogsguard.searches import AVOID_ENEMY
from kinfolk.policies.cogsguard.tools import aim_at, far, fetch, go, go_home, steps_home
from kinfolk.worlds.cogsguard.codes import (
    ALIGNER,
    CLIPS,
    ENERGY,
    GEAR,
    HEARTS,
    INFLUENCE,
    NOBODY,
    OTHER,
)
from kinfolk.worlds.cogsguard.layout import SUCCEEDED_FACT

_FAILED_BUMPS = 3


@inline
def heart_source(m: Mind, at: int) -> int:
    """Where hearts come from: the chest, in edition A the hub."""
    return int(m.notes[at, HUB_AT if m.rules[EDITION_A] == 1 else CHEST_AT])


def can_get_hearts(m: Mind, at: int) -> int:
    """With fewer hearts than wanted and a store that can pay."""
    if m.notes[at, HEARTS] >= m.rules[HEARTS_WANTED]:
        return ENOUGH_HEARTS
    if heart_source(m, at) == 0:
        return NO_CHEST
    return YES if can_pay_heart(m, at) else STORE_EMPTY


def get_hearts(m: Mind, at: int) -> int:
    """Walk to the chest and bump."""
    cell = heart_source(m, at)
    if cell == 0:
        return NO_CHEST
    move = go(m, at, cell, 0)
    if move < 0:
        return NO_WAY
    return move + HOLD if far(m, at, cell) <= m.rules[CLOSE] else move


def got_hearts(m: Mind, at: int) -> int:
    """With enough hearts, or when the store can pay no more."""
    ended = m.notes[at, HEARTS] >= m.rules[HEARTS_WANTED] or not can_pay_heart(m, at)
    return 1 if ended else 0


@inline
def influence_needed(m: Mind, at: int) -> int:
    """Ticks to the chosen junction outside friendly areas, where influence falls, and one more."""
    notes = m.notes
    cell = int(notes[at, ALIGN_AIM])
    least = int(m.rules[ALIGN_INFLUENCE])
    if cell == 0 or least == 0:
        return least
    if is_friendly(m, at, notes[at, CELL]):
        ticks = ticks_for(m, at, notes[at, NEED], energy_limit(m, notes[at, GEAR]))
    else:
        ticks = ticks_for(m, at, far(m, at, cell) - 1, notes[at, ENERGY])
    return max(least, ticks + 1)


def can_get_influence(m: Mind, at: int) -> int:
    """With influence below the need of the chosen junction; once started, until it holds all it can."""
    notes = m.notes
    if m.rules[ALIGN_INFLUENCE] == 0:
        return NO_INFLUENCE_RULE
    if not can_have(m, at, ALIGNER, 0):
        return NO_GEAR
    limit = influence_limit(m, ALIGNER)
    aim_at(m, at, ALIGN)
    if notes[at, INFLUENCE] >= min(influence_needed(m, at), limit):
        return ENOUGH_INFLUENCE
    return YES


def get_influence(m: Mind, at: int) -> int:
    """Fetch the gear, then wait in a friendly area."""
    move = fetch(m, at, ALIGNER, 0)
    if move == -1:
        return NO_GEAR
    if move < 0:
        move = go_home(m, at)
        if move >= 0 and steps_home(m, at) <= m.rules[CLOSE]:
            move += HOLD
    return move if move >= 0 else NO_WAY


def got_influence(m: Mind, at: int) -> int:
    """When it holds all it can."""
    gear = m.notes[at, GEAR]
    full = gear == ALIGNER and m.notes[at, INFLUENCE] >= influence_limit(m, gear)
    return 1 if full else 0


def can_align_junction(m: Mind, at: int) -> int:
    """With a heart, influence for the way, and a junction known that can be aligned."""
    notes = m.notes
    if notes[at, HEARTS] < m.rules[ALIGN_HEARTS]:
        return NO_HEART
    known = notes[at, JUNCTIONS + NOBODY]
    if m.rules[EDITION_A] == 1:
        known += notes[at, JUNCTIONS + CLIPS] + notes[at, JUNCTIONS + OTHER]
    if known == 0 or aim_at(m, at, ALIGN) == 0:
        return NO_NEUTRAL
    if not can_have(m, at, ALIGNER, 0):
        return NO_GEAR
    if notes[at, GEAR] == ALIGNER and notes[at, INFLUENCE] < influence_needed(m, at):
        return LITTLE_INFLUENCE
    return YES


def align_junction(m: Mind, at: int) -> int:
    """Fetch the gear, walk to the chosen junction around enemy areas, and bump."""
    notes = m.notes
    move = fetch(m, at, ALIGNER, 0)
    if move == -1:
        return NO_GEAR
    if move >= 0:
        return move
    cell = aim_at(m, at, ALIGN)
    if cell == 0:
        return NO_NEUTRAL
    if notes[at, INFLUENCE] < m.rules[ALIGN_INFLUENCE]:
        return LITTLE_INFLUENCE
    beside = far(m, at, cell) == 1
    if beside and notes[at, SUCCEEDED_FACT] == 0:
        notes[at, BLOCKED] += 1
    move = go(m, at, cell, AVOID_ENEMY)
    if move < 0 or (beside and notes[at, BLOCKED] > _FAILED_BUMPS):
        notes[at, BLOCKED] = 0
        give_up(m, at, ALIGN, m.rules[A_WHILE])
        return NO_WAY
    return move


def aligned(m: Mind, at: int) -> int:
    """When it is aligned, or lost."""
    return 1 if m.notes[at, HEARTS] == 0 or aim_at(m, at, ALIGN) == 0 else 0
