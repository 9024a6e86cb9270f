"""The routines that behaviours share, called by address: each is compiled once, not in each caller."""

from __future__ import annotations

from kinfolk.core.hooks import call4
from kinfolk.core.jit import inline
from kinfolk.policies.cogsguard.knowledge import AIM_TOOL, EXPLORE_TOOL, HOME_TOOL, WALK_TOOL
from kinfolk.policies.cogsguard.memory import CELL, STATION_AT, Mind, apart
from kinfolk.policies.cogsguard.needs import can_have
from kinfolk.worlds.cogsguard.codes import GEAR

WORN = -2  # of `fetch`: the agent wears it


@inline
def go(m: Mind, at: int, goal: int, flags: int) -> int:
    """The move that leads to a cell, into it at last; see `paths.walk`."""
    return int(call4(m.rules[WALK_TOOL], m, at, goal, flags))


@inline
def search(m: Mind, at: int, mode: int) -> int:
    """The move that explores; see `exploring.explore`."""
    return int(call4(m.rules[EXPLORE_TOOL], m, at, mode, 0))


@inline
def aim_at(m: Mind, at: int, what: int) -> int:
    """The cell of what to go for, 0 if there is nothing; see `aims.aim`."""
    return int(call4(m.rules[AIM_TOOL], m, at, what, 0))


@inline
def go_home(m: Mind, at: int) -> int:
    """The move to the nearest friendly area; see `homing.homewards`."""
    return int(call4(m.rules[HOME_TOOL], m, at, 0, 0))


@inline
def steps_home(m: Mind, at: int) -> int:
    """Steps to the nearest friendly area, about; see `homing.homewards`."""
    return int(call4(m.rules[HOME_TOOL], m, at, 1, 0))


@inline
def fetch(m: Mind, at: int, gear: int, spare: int) -> int:
    """The move that gets gear: WORN if it is on, -1 if it cannot be had."""
    if m.notes[at, GEAR] == gear:
        return WORN
    if not can_have(m, at, gear, spare):
        return -1
    return go(m, at, m.notes[at, STATION_AT + gear - 1], 0)


@inline
def far(m: Mind, at: int, cell: int) -> int:
    """Steps from the agent to a cell if nothing is in the way."""
    return apart(m, m.notes[at, CELL], cell)
