"""Behaviours of miners: mine, deposit, find extractors."""

from __future__ import annotations

from kinfolk.core.jit import inline
from kinfolk.policies.cogsguard.aims import DEPOT, MINE, give_up
from kinfolk.policies.cogsguard.exploring import SECTORS
from kinfolk.policies.cogsguard.knowledge import A_WHILE, CLOSE
from kinfolk.policies.cogsguard.memory import EXTRACTORS, MINE_AIM, Mind
from kinfolk.policies.cogsguard.needs import can_have, cargo, cargo_limit
from kinfolk.policies.cogsguard.reasons import (
    CARGO_FULL,
    HAS_EXTRACTOR,
    HOLD,
    NO_DEPOT,
    NO_EXTRACTOR,
    NO_WAY,
    NOT_YET,
    NOTHING_CARRIED,
    YES,
)
from kinfolk.policies.cogsguard.tools import aim_at, far, fetch, go, search
from kinfolk.worlds.cogsguard.codes import GEAR, MINER


@inline
def is_full(m: Mind, at: int) -> bool:
    """Whether it can carry no more."""
    return cargo(m, at) >= cargo_limit(m, m.notes[at, GEAR])


@inline
def knows_extractor(m: Mind, at: int) -> bool:
    """Whether some extractor with stock is known."""
    notes = m.notes
    known = notes[at, EXTRACTORS] + notes[at, EXTRACTORS + 1]
    return bool(known + notes[at, EXTRACTORS + 2] + notes[at, EXTRACTORS + 3] > 0)


@inline
def has_target(m: Mind, at: int) -> bool:
    """Whether there is an extractor to go for."""
    return knows_extractor(m, at) and aim_at(m, at, MINE) > 0


def can_mine(m: Mind, at: int) -> int:
    """With room in the cargo and an extractor known.

    An agent that carries something and could have gear goes for the gear with empty hands first
    only if that loses nothing: gear never stops it from starting.
    """
    if is_full(m, at) and not (m.notes[at, GEAR] != MINER and can_have(m, at, MINER, 0)):
        return CARGO_FULL
    return YES if has_target(m, at) else NO_EXTRACTOR


def mine(m: Mind, at: int) -> int:
    """Fetch miner's gear if it can be had, walk to the extractor and bump; else mine bare-handed."""
    move = fetch(m, at, MINER, 0)
    if move >= 0:
        return move
    if is_full(m, at):
        return CARGO_FULL
    cell = aim_at(m, at, MINE)
    if cell == 0:
        return NO_EXTRACTOR
    move = go(m, at, cell, 0)
    if move < 0:
        give_up(m, at, MINE, m.rules[A_WHILE])
        return NO_WAY
    return move


def mined(m: Mind, at: int) -> int:
    """When the cargo is full or the extractor gone."""
    ended = is_full(m, at) or m.notes[at, MINE_AIM] == 0 or not has_target(m, at)
    return 1 if ended else 0


def can_deposit(m: Mind, at: int) -> int:
    """At full cargo, or carrying something when nothing is left to mine."""
    if cargo(m, at) == 0:
        return NOTHING_CARRIED
    if not is_full(m, at) and has_target(m, at):
        return NOT_YET
    return YES if aim_at(m, at, DEPOT) > 0 else NO_DEPOT


def deposit(m: Mind, at: int) -> int:
    """Walk to the nearest hub or own junction and bump."""
    cell = aim_at(m, at, DEPOT)
    if cell == 0:
        return NO_DEPOT
    move = go(m, at, cell, 0)
    if move < 0:
        give_up(m, at, DEPOT, m.rules[A_WHILE])
        return NO_WAY
    return move + HOLD if far(m, at, cell) <= m.rules[CLOSE] else move


def deposited(m: Mind, at: int) -> int:
    """When it carries nothing; then the next extractor is chosen anew."""
    if cargo(m, at) > 0:
        return 0
    m.notes[at, MINE_AIM] = 0
    return 1


def can_find_extractor(m: Mind, at: int) -> int:
    """With no usable extractor known."""
    return HAS_EXTRACTOR if has_target(m, at) else YES


def find_extractor(m: Mind, at: int) -> int:
    """Search by sectors, away from where others search."""
    move = search(m, at, SECTORS)
    return move if move >= 0 else NO_WAY


def found_extractor(m: Mind, at: int) -> int:
    """When one is known."""
    return 1 if has_target(m, at) else 0
