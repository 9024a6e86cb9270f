"""Births at the hub, if the temple is open: two parents, one heart."""

from __future__ import annotations

from typing import NamedTuple

from kinfolk.core.arrays import Bools, Ints
from kinfolk.core.jit import inline
from kinfolk.core.keys import below, fold
from kinfolk.worlds.cogsguard.areas import Land, apart
from kinfolk.worlds.cogsguard.bodies import Folk, look_around, show
from kinfolk.worlds.cogsguard.codes import (
    AGENTS,
    BIRTHS,
    CELL,
    EMPTY,
    ENERGY,
    ENERGY_LIMIT,
    FERTILE,
    HP,
    HP_LIMIT,
    KIND_MASK,
    NO_GEAR,
    SPAWN,
    STORE_HEARTS,
    SUCCEEDED,
)
from kinfolk.worlds.cogsguard.log import BIRTH, note
from kinfolk.worlds.cogsguard.rules import Rules
from kinfolk.worlds.cogsguard.state import Bits, State

_BIRTH_BRANCH = 2  # of a tick's key
_BESIDE = 2  # squared: the eight cells around one
_CRADLE = 2  # cells from the hub
_SQUARE = 2 * _CRADLE + 1


class Lives(NamedTuple):
    """The part of the state that says who lives where and from whom."""

    uid: Ints
    alive: Bools
    seen: Bits
    parents: Ints
    parent_rows: Ints


@inline
def lives_of(s: State) -> Lives:
    """The lives of a state: the same arrays."""
    return Lives(s.uid, s.alive, s.seen, s.parents, s.parent_rows)


@inline
def settle(
    lives: Lives, land: Land, folk: Folk, r: Rules, w: int, row: int, team: int, cell: int
) -> None:
    """Begin a life without parents: hp as set, energy full, nothing in its hands."""
    uid = 0  # nobody dies, so the next uid is how many there are
    for each in range(r.teams):
        uid += land.teams[w, each, AGENTS]
    land.teams[w, team, AGENTS] += 1
    lives.uid[w, row] = uid
    lives.alive[w, row] = True
    body = folk.body
    for column in range(body.shape[2]):
        body[w, row, column] = 0
    body[w, row, HP] = min(r.start_hp, r.limits[HP_LIMIT, NO_GEAR])
    body[w, row, ENERGY] = r.limits[ENERGY_LIMIT, NO_GEAR]
    body[w, row, SUCCEEDED] = 1
    body[w, row, CELL] = cell
    body[w, row, SPAWN] = cell
    land.detail[w, cell] = row
    show(land.shown, body, w, row, team)
    look_around(lives.seen, folk.stats, r, w, row, cell, 0)


@inline
def cradle(land: Land, r: Rules, w: int, team: int, place: int) -> int:
    """The cell at `place` of the square around a hub if it is near enough and free, else -1."""
    hub = land.home[w, team]
    y, x = place // _SQUARE - _CRADLE, place % _SQUARE - _CRADLE
    if y * y + x * x > _CRADLE * _CRADLE:
        return -1
    y, x = hub // r.stride + y, hub % r.stride + x
    # Cells off the map must not be looked up: the wall around it may be one cell wide.
    if not (r.pad <= y < r.pad + r.height and r.pad <= x < r.pad + r.width):
        return -1
    cell = y * r.stride + x
    return int(cell) if int(land.shown[w, team, cell]) & KIND_MASK == EMPTY else -1


@inline
def draw_cradle(land: Land, r: Rules, w: int, team: int, key: int) -> int:
    """A free cell near the hub by chance, -1 if there is none."""
    free = 0
    for place in range(_SQUARE * _SQUARE):
        if cradle(land, r, w, team, place) >= 0:
            free += 1
    if free == 0:
        return -1
    left = below(key, team, free)
    for place in range(_SQUARE * _SQUARE):
        cell = cradle(land, r, w, team, place)
        if cell >= 0:
            if left == 0:
                return cell
            left -= 1
    return -1


@inline
def is_pair(body: Ints, hub: int, stride: int, w: int, a: int, b: int) -> bool:
    """Whether two agents stand beside each other, and both beside their hub."""
    one, other = body[w, a, CELL], body[w, b, CELL]
    return bool(
        apart(stride, one, hub) <= _BESIDE
        and apart(stride, other, hub) <= _BESIDE
        and apart(stride, one, other) <= _BESIDE
    )


@inline
def bear(
    lives: Lives, land: Land, folk: Folk, r: Rules, w: int, team: int, a: int, b: int, cell: int
) -> int:
    """A child of two agents begins its life on `cell`, for a heart of the store; returns its row."""
    row = team * r.rows_per_team + land.teams[w, team, AGENTS]
    folk.store[w, team, STORE_HEARTS] -= 1
    settle(lives, land, folk, r, w, row, team, cell)
    lives.parents[w, row, 0] = lives.uid[w, a]
    lives.parents[w, row, 1] = lives.uid[w, b]
    lives.parent_rows[w, row, 0] = a
    lives.parent_rows[w, row, 1] = b
    land.teams[w, team, BIRTHS] += 1
    return int(row)


@inline
def breed(
    lives: Lives, land: Land, folk: Folk, r: Rules, log: Ints, w: int, tick: int, key: int
) -> None:
    """The first pair of each team that stands by its hub has a child, if all else allows it."""
    for team in range(r.teams):
        adults, first = land.teams[w, team, AGENTS], team * r.rows_per_team
        if (
            adults >= r.rows_per_team
            or tick < land.teams[w, team, FERTILE]
            or folk.store[w, team, STORE_HEARTS] < 1
        ):
            continue
        mother, father = -1, -1
        for a in range(first, first + adults):
            for b in range(a + 1, first + adults):
                if mother < 0 and is_pair(folk.body, land.home[w, team], r.stride, w, a, b):
                    mother, father = a, b
        if mother < 0:
            continue
        cell = draw_cradle(land, r, w, team, fold(key, _BIRTH_BRANCH))
        if cell >= 0:
            child = bear(lives, land, folk, r, w, team, mother, father, cell)
            land.teams[w, team, FERTILE] = tick + r.temple_cooldown
            note(log, w, BIRTH, child, mother, father)
