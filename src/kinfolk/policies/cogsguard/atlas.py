"""What an agent makes of its own map: where the things it knows of are, and the first step there.

A net that sees the window alone would have to learn to draw maps before it could learn to play.
Scripted roles draw them already, so the same memory (`memory.Mind`) serves both: it holds what the
agent itself has observed and nothing else. One flood over it tells for each kind of thing how far
the nearest is and which move leads there.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline, lean_kernel
from kinfolk.policies.cogsguard.behaviors.aligner import influence_needed
from kinfolk.policies.cogsguard.exploring import ANYWHERE, is_done, rank
from kinfolk.policies.cogsguard.homing import home_distance
from kinfolk.policies.cogsguard.knowledge import (
    DAY_LENGTH,
    DAY_PERIOD,
    MARGIN,
    MOVE_COST,
    SEARCH_BOUND,
)
from kinfolk.policies.cogsguard.memory import (
    CELL,
    CLOCK,
    FRONTIER,
    LIFE,
    MINE_AIM,
    TICK,
    Mind,
)
from kinfolk.policies.cogsguard.needs import (
    can_pay_gear,
    can_pay_heart,
    cargo,
    cargo_limit,
    energy_limit,
    hp_limit,
    ticks_for,
)
from kinfolk.policies.cogsguard.paths import is_taken
from kinfolk.policies.cogsguard.searches import (
    BACK,
    COST,
    LATER,
    QUEUE,
    STAMP,
    ahead,
    begin_search,
    is_free,
)
from kinfolk.policies.cogsguard.tools import aim_at
from kinfolk.worlds.cogsguard.codes import (
    CHEST,
    ELEMENTS,
    EMPTY,
    ENERGY,
    EXTRACTOR,
    FRIENDLY_AREA,
    GEAR,
    GEARS,
    HP,
    HUB,
    INFLUENCE,
    JUNCTION,
    KIND_MASK,
    MOVES,
    OWN,
    OWNER_SHIFT,
    OWNERS,
    STATION,
    WALL,
)
from kinfolk.worlds.cogsguard.layout import FACTS, FACTS_COUNT

Reals = npt.NDArray[np.float32]

# Things, in the order in which the columns tell of them.
THINGS = (
    "hub",
    "chest",
    *(f"{gear}_station" for gear in GEARS[1:]),
    *(f"{element}_extractor" for element in ELEMENTS),
    *(f"junction_of_{owner}" for owner in OWNERS),
    "friendly_area",
    "frontier",
    "extractor_to_mine",  # the aims that scripted roles would choose, from here on
    "junction_to_align",
    "junction_to_scramble",
    "depot",
)
_HUB, _CHEST, _STATION, _EXTRACTOR, _JUNCTION = 0, 1, 2, 6, 10
_FRIENDLY, _FRONTIER, _AIMS = 14, 15, 16
_OF_EACH = ("way", "near", "beside", *MOVES[1:])  # the moves: all that begin a shortest way
_WAY, _NEAR, _BESIDE, _MOVE = range(4)
_HORIZON = 40.0  # steps: what is farther is as far
_PLENTY = 20.0  # of hp or influence: more is as much
_SECTORS, _TURN = 8, 150  # as in `exploring`

NAMES = (
    *FACTS,  # scaled
    *(f"wears_{gear}" for gear in GEARS),
    *(f"store_pays_{gear}" for gear in GEARS[1:]),
    "store_pays_heart",
    "cargo_full",
    "hp_share",  # of what it can have with its gear
    "energy_share",
    "can_move",
    "spare_hp",  # beyond what the way home takes
    "spare_influence",  # beyond what the way to the junction takes
    "hour",
    "is_day",
    *(f"likes_{element}" for element in ELEMENTS),  # habits, as scripted roles have
    *(f"searches_sector_{sector}" for sector in range(_SECTORS)),
    *(f"{move}_is_free" for move in MOVES[1:]),
    *(f"{move}_is_taken" for move in MOVES[1:]),
    *(f"{thing}_{column}" for thing in THINGS for column in _OF_EACH),
)
COLUMNS = -(-len(NAMES) // 8) * 8  # a multiple of 8; the last are zero
_GEAR_AT = NAMES.index("wears_none")
_CAN_PAY = NAMES.index("store_pays_aligner")
_FULL = NAMES.index("cargo_full")
_BODY = NAMES.index("hp_share")
_SPARE = NAMES.index("spare_hp")
_DAY = NAMES.index("hour")
_HABIT = NAMES.index("likes_carbon")
_SECTOR = NAMES.index("searches_sector_0")
_BESIDE_FREE = NAMES.index("north_is_free")
_BESIDE_TAKEN = NAMES.index("north_is_taken")
_THINGS_AT = NAMES.index("hub_way")
_COLUMNS = len(_OF_EACH)

_SLACK = 12  # steps beyond the nearest frontier that a better one may lie


@inline
def meet_thing(m: Mind, thing: int, cell: int) -> None:
    """Remember the cell of the nearest of its kind; one that was met before is nearer."""
    if m.scratch[LATER, thing] == 0:
        m.scratch[LATER, thing] = cell


@inline
def meet_object(m: Mind, known: int, cell: int) -> None:
    """An object was met on the flood."""
    kind, own = known & KIND_MASK, known >> OWNER_SHIFT & 3 == OWN
    if EXTRACTOR <= kind < HUB:
        meet_thing(m, _EXTRACTOR + kind - EXTRACTOR, cell)
    elif kind == JUNCTION:
        meet_thing(m, _JUNCTION + (known >> OWNER_SHIFT & 3), cell)
    elif own and kind == HUB:
        meet_thing(m, _HUB, cell)
    elif own and kind == CHEST:
        meet_thing(m, _CHEST, cell)
    elif own and STATION <= kind < JUNCTION:
        meet_thing(m, _STATION + kind - STATION, cell)


@inline
def reach(m: Mind, at: int, to: int, steps: int, moves: int, stamp: int, tail: int) -> int:
    """A cell beside one of the flood; returns where the queue ends now.

    A cell that is reached on several shortest ways keeps the first moves of all of them.
    """
    scratch, known = m.scratch, int(m.cells[at, to])
    if scratch[STAMP, to] >= stamp:
        if scratch[COST, to] == steps:
            scratch[BACK, to] |= moves
        return tail
    scratch[STAMP, to], scratch[COST, to], scratch[BACK, to] = stamp, steps, moves
    if known & KIND_MASK == EMPTY:
        scratch[QUEUE, tail] = to
        return tail + 1
    if known & KIND_MASK != WALL:
        meet_object(m, known, to)
    return tail


@inline
def flood(m: Mind, at: int) -> None:
    """Go over all known cells in reach, the nearest first, and remember what is met."""
    cells, scratch, bound = m.cells, m.scratch, m.rules[SEARCH_BOUND]
    stamp, head, tail = begin_search(m, at, 0), 0, 1
    scratch[COST, m.notes[at, CELL]] = 0
    scratch[LATER, : len(THINGS)] = 0
    best, least, limit = 0, 1 << 30, 1 << 30
    while head < tail and head < bound:
        cell = int(scratch[QUEUE, head])
        head += 1
        steps, edge = int(scratch[COST, cell]), False
        if int(cells[at, cell]) & FRIENDLY_AREA != 0:
            meet_thing(m, _FRIENDLY, cell)
        for move in range(1, 5):
            to = cell + ahead(m, move)
            if cells[at, to] == 0:
                edge = True
            else:
                moves = int(scratch[BACK, cell]) if steps > 0 else 1 << (move - 1)
                tail = reach(m, at, to, steps + 1, moves, stamp, tail)
        if edge and steps <= limit:
            limit = min(limit, steps + _SLACK)
            cost = steps + rank(m, at, cell, ANYWHERE)
            if cost < least:
                best, least = cell, cost
    kept = int(m.notes[at, FRONTIER])
    if kept == 0 or scratch[STAMP, kept] != stamp or is_done(m, at, kept):
        m.notes[at, FRONTIER] = best  # else it goes on to where it was going
    scratch[LATER, _FRONTIER] = m.notes[at, FRONTIER]
    for what in range(4):
        cell = aim_at(m, at, what)
        reached = cell > 0 and scratch[STAMP, cell] == stamp
        scratch[LATER, _AIMS + what] = cell if reached else 0


@inline
def note_things(m: Mind, out: Reals, i: int) -> None:
    """Write down what the flood met: how far it is, and every first move of a shortest way."""
    for thing in range(len(THINGS)):
        cell, first = int(m.scratch[LATER, thing]), _THINGS_AT + thing * _COLUMNS
        if cell == 0:
            continue
        steps, moves = int(m.scratch[COST, cell]), int(m.scratch[BACK, cell])
        out[i, first + _WAY] = 1.0
        out[i, first + _NEAR] = max(0.0, 1.0 - steps / _HORIZON)
        out[i, first + _BESIDE] = 1.0 if steps <= 1 else 0.0
        for move in range(4):
            out[i, first + _MOVE + move] = float(moves >> move & 1) if steps > 0 else 0.0


@inline
def clipped(share: float) -> float:
    """Within -1 and 1."""
    return max(-1.0, min(1.0, share))


@inline
def note_self(m: Mind, at: int, scales: Reals, out: Reals, i: int) -> None:
    """What the agent is, has and could have, and what stands beside it."""
    notes = m.notes
    for fact in range(FACTS_COUNT):
        out[i, fact] = notes[at, fact] / scales[fact]
    out[i, _GEAR_AT + notes[at, GEAR]] = 1.0
    for gear in range(1, 5):
        out[i, _CAN_PAY + gear - 1] = 1.0 if can_pay_gear(m, at, gear, 0) else 0.0
    out[i, _CAN_PAY + 4] = 1.0 if can_pay_heart(m, at) else 0.0
    out[i, _FULL] = 1.0 if cargo(m, at) >= cargo_limit(m, notes[at, GEAR]) else 0.0
    hp, energy = int(notes[at, HP]), int(notes[at, ENERGY])
    out[i, _BODY] = hp / hp_limit(m, notes[at, GEAR])
    out[i, _BODY + 1] = energy / energy_limit(m, notes[at, GEAR])
    out[i, _BODY + 2] = 1.0 if energy >= m.rules[MOVE_COST] else 0.0
    home = ticks_for(m, at, home_distance(m, at), energy)
    out[i, _SPARE] = clipped((hp - home - m.rules[MARGIN]) / _PLENTY)
    out[i, _SPARE + 1] = clipped((notes[at, INFLUENCE] - influence_needed(m, at)) / _PLENTY)
    hour = notes[at, TICK] % m.rules[DAY_PERIOD]
    out[i, _DAY] = hour / m.rules[DAY_PERIOD]
    out[i, _DAY + 1] = 1.0 if hour < m.rules[DAY_LENGTH] else 0.0
    out[i, _HABIT + notes[at, LIFE] % 4] = 1.0
    out[i, _SECTOR + (notes[at, LIFE] + notes[at, CLOCK] // _TURN) % _SECTORS] = 1.0
    for move in range(1, 5):
        to = int(notes[at, CELL]) + ahead(m, move)
        out[i, _BESIDE_FREE + move - 1] = 1.0 if is_free(m, at, to) else 0.0
        out[i, _BESIDE_TAKEN + move - 1] = 1.0 if is_taken(m, at, to) else 0.0


@lean_kernel
def survey(m: Mind, place: Ints, scales: Reals, out: Reals) -> None:
    """Row `i` of `out` gets what the agent at `place[i]` knows; `out` begins as zeros."""
    for i in range(place.shape[0]):
        at = place[i]
        if cargo(m, at) == 0:
            m.notes[at, MINE_AIM] = 0  # with empty hands a miner chooses anew
        flood(m, at)
        note_things(m, out, i)
        note_self(m, at, scales, out, i)
