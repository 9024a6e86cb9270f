"""Behaviours of scouts: discover buildings, extractors, junctions."""

from __future__ import annotations

from kinfolk.core.jit import inline
from kinfolk.policies.cogsguard.exploring import NEW_EXTRACTORS, NEW_JUNCTIONS, RINGS, is_closed
from kinfolk.policies.cogsguard.knowledge import A_WHILE, EDITION_A, EXTRACTORS_WANTED, SPARE
from kinfolk.policies.cogsguard.memory import CHEST_AT, EXTRACTORS, HUB_AT, LOOKED, STATION_AT, Mind
from kinfolk.policies.cogsguard.reasons import (
    ALL_BUILDINGS,
    ENOUGH_EXTRACTORS,
    NO_MORE_JUNCTIONS,
    NO_WAY,
    YES,
)
from kinfolk.policies.cogsguard.tools import fetch, search
from kinfolk.worlds.cogsguard.codes import SCOUT


@inline
def knows_buildings(m: Mind, at: int) -> bool:
    """Whether hub, chest (edition A has none) and the four stations are known."""
    notes = m.notes
    if notes[at, HUB_AT] == 0 or (notes[at, CHEST_AT] == 0 and m.rules[EDITION_A] == 0):
        return False
    for gear in range(4):  # noqa: SIM110, kernels have no generators
        if notes[at, STATION_AT + gear] == 0:
            return False
    return True


@inline
def look_for(m: Mind, at: int, mode: int) -> int:
    """Put on a scout's gear if the store can spare it, and search."""
    move = fetch(m, at, SCOUT, m.rules[SPARE])
    if move < 0:
        move = search(m, at, mode)
    return move if move >= 0 else NO_WAY


def can_discover_stations(m: Mind, at: int) -> int:
    """While a building of the team is unknown."""
    return ALL_BUILDINGS if knows_buildings(m, at) else YES


def discover_stations(m: Mind, at: int) -> int:
    """Explore near the hub, in growing rings."""
    return look_for(m, at, RINGS)


def discovered_stations(m: Mind, at: int) -> int:
    """When all are known."""
    return 1 if knows_buildings(m, at) else 0


@inline
def knows_enough(m: Mind, at: int) -> bool:
    """Whether as many extractors of each element are known as are wanted."""
    for element in range(4):
        if m.notes[at, EXTRACTORS + element] < m.rules[EXTRACTORS_WANTED]:
            return False
    return True


def can_discover_extractors(m: Mind, at: int) -> int:
    """While too few of some element are known."""
    return ENOUGH_EXTRACTORS if knows_enough(m, at) else YES


def discover_extractors(m: Mind, at: int) -> int:
    """Explore, frontiers far from known extractors first."""
    return look_for(m, at, NEW_EXTRACTORS)


def discovered_extractors(m: Mind, at: int) -> int:
    """When enough are known."""
    return 1 if knows_enough(m, at) else 0


@inline
def expects_junctions(m: Mind, at: int) -> bool:
    """Whether there is something left to see, and looking has not been in vain for a while."""
    return bool(m.notes[at, LOOKED] < m.rules[A_WHILE] and not is_closed(m, at))


def can_discover_junctions(m: Mind, at: int) -> int:
    """While junctions are expected beyond those known."""
    return YES if expects_junctions(m, at) else NO_MORE_JUNCTIONS


def discover_junctions(m: Mind, at: int) -> int:
    """Explore, frontiers far from known junctions first; ticks of it are counted."""
    m.notes[at, LOOKED] += 1
    return look_for(m, at, NEW_JUNCTIONS)


def discovered_junctions(m: Mind, at: int) -> int:
    """When none new was found for a while."""
    return 0 if expects_junctions(m, at) else 1
