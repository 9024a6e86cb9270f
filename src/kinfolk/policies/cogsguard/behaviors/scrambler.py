"""Behaviours of scramblers: enemy junctions."""

from __future__ import annotations

from kinfolk.core.jit import inline
from kinfolk.policies.cogsguard.aims import SCRAMBLE, give_up
from kinfolk.policies.cogsguard.exploring import ENEMIES
from kinfolk.policies.cogsguard.knowledge import A_WHILE, SCRAMBLE_HEARTS
from kinfolk.policies.cogsguard.memory import BLOCKED, JUNCTIONS, Mind
from kinfolk.policies.cogsguard.needs import can_have
from kinfolk.policies.cogsguard.reasons import (
    HAS_ENEMY,
    NO_ENEMY,
    NO_GEAR,
    NO_HEART,
    NO_WAY,
    YES,
)
from kinfolk.policies.cogsguard.tools import aim_at, far, fetch, go, search
from kinfolk.worlds.cogsguard.codes import CLIPS, HEARTS, OTHER, SCRAMBLER
from kinfolk.worlds.cogsguard.layout import SUCCEEDED_FACT

_FAILED_BUMPS = 3


@inline
def knows_enemy(m: Mind, at: int) -> bool:
    """Whether an enemy junction is known that can be gone for."""
    known = m.notes[at, JUNCTIONS + CLIPS] + m.notes[at, JUNCTIONS + OTHER] > 0
    return bool(known and aim_at(m, at, SCRAMBLE) > 0)


def can_scramble(m: Mind, at: int) -> int:
    """With a heart and an enemy junction known."""
    if m.notes[at, HEARTS] < m.rules[SCRAMBLE_HEARTS]:
        return NO_HEART
    if not knows_enemy(m, at):
        return NO_ENEMY
    return YES if can_have(m, at, SCRAMBLER, 0) else NO_GEAR


def scramble(m: Mind, at: int) -> int:
    """Fetch the gear, walk to the junction and bump."""
    notes = m.notes
    move = fetch(m, at, SCRAMBLER, 0)
    if move == -1:
        return NO_GEAR
    if move >= 0:
        return move
    cell = aim_at(m, at, SCRAMBLE)
    if cell == 0:
        return NO_ENEMY
    beside = far(m, at, cell) == 1
    if beside and notes[at, SUCCEEDED_FACT] == 0:
        notes[at, BLOCKED] += 1
    move = go(m, at, cell, 0)
    if move < 0 or (beside and notes[at, BLOCKED] > _FAILED_BUMPS):
        notes[at, BLOCKED] = 0
        give_up(m, at, SCRAMBLE, m.rules[A_WHILE])
        return NO_WAY
    return move


def scrambled(m: Mind, at: int) -> int:
    """When it is done, or gone."""
    return 1 if m.notes[at, HEARTS] == 0 or not knows_enemy(m, at) else 0


def can_find_enemy(m: Mind, at: int) -> int:
    """With no enemy junction known."""
    return HAS_ENEMY if knows_enemy(m, at) else YES


def find_enemy(m: Mind, at: int) -> int:
    """Search outward from the enemy area seen last."""
    move = search(m, at, ENEMIES)
    return move if move >= 0 else NO_WAY


def found_enemy(m: Mind, at: int) -> int:
    """When one is known."""
    return 1 if knows_enemy(m, at) else 0
