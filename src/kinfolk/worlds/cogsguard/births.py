"""Births at the hub, if the temple is open: two parents, one heart."""

from __future__ import annotations

from kinfolk.core.jit import inline
from kinfolk.core.keys import below, fold
from kinfolk.worlds.cogsguard.areas import Land, apart
from kinfolk.worlds.cogsguard.bodies import Folk, look_around, show
from kinfolk.worlds.cogsguard.codes import (
    BIRTHS,
    CELL,
    EMPTY,
    ENERGY,
    ENERGY_LIMIT,
    HP,
    HP_LIMIT,
    KIND_MASK,
    NO_GEAR,
    SPAWN,
    STORE_HEARTS,
    SUCCEEDED,
)
from kinfolk.worlds.cogsguard.log import BIRTH, Log, note
from kinfolk.worlds.cogsguard.rules import Rules
from kinfolk.worlds.cogsguard.state import State

_BIRTH_BRANCH = 2  # of a tick's key
_BESIDE = 2  # squared: the eight cells around one
_CRADLE = 2  # cells from the hub
_SQUARE = 2 * _CRADLE + 1


@inline
def settle(s: State, land: Land, folk: Folk, r: Rules, w: int, row: int, team: int, cell: int) -> None:
    """Begin a life without parents: hp as set, energy full, nothing in its hands."""
    uid = s.next_uid[w]
    s.uid[w, row] = uid
    s.next_uid[w] = uid + 1
    s.count[w, team] += 1
    s.alive[w, row] = True
    body = folk.body
    for column in range(body.shape[2]):
        body[w, row, column] = 0
    body[w, row, HP] = min(r.start_hp, r.limits[HP_LIMIT, NO_GEAR])
    body[w, row, ENERGY] = r.limits[ENERGY_LIMIT, NO_GEAR]
    body[w, row, SUCCEEDED] = 1
    body[w, row, CELL] = cell
    body[w, row, SPAWN] = cell
    land.index[w, cell] = row
    show(land.shown, body, w, row, team)
    look_around(folk.seen, folk.stats, r, w, row, cell, 0)


@inline
def cradle(land: Land, r: Rules, w: int, team: int, place: int) -> int:
    """The cell at `place` of the square around a hub if it is near enough and free, else -1."""
    hub = land.hub_cell[w, team]
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
def is_pair(land: Land, folk: Folk, r: Rules, w: int, team: int, a: int, b: int) -> bool:
    """Whether two agents stand beside each other, and both beside their hub."""
    hub = land.hub_cell[w, team]
    one, other = folk.body[w, a, CELL], folk.body[w, b, CELL]
    return bool(
        apart(r.stride, one, hub) <= _BESIDE
        and apart(r.stride, other, hub) <= _BESIDE
        and apart(r.stride, one, other) <= _BESIDE
    )


@inline
def bear(
    s: State, land: Land, folk: Folk, r: Rules, log: Log, w: int, team: int, a: int, b: int, cell: int
) -> None:
    """A child of two agents begins its life on `cell`, for a heart of the store."""
    row = team * r.rows_per_team + s.count[w, team]
    folk.store[w, team, STORE_HEARTS] -= 1
    settle(s, land, folk, r, w, row, team, cell)
    s.parents[w, row, 0] = s.uid[w, a]
    s.parents[w, row, 1] = s.uid[w, b]
    s.parent_rows[w, row, 0] = a
    s.parent_rows[w, row, 1] = b
    s.fertile[w, team] = s.tick[w] + r.temple_cooldown
    land.team_stats[w, team, BIRTHS] += 1
    note(log, w, BIRTH, s.uid[w, row], s.uid[w, a], s.uid[w, b])


@inline
def breed(s: State, land: Land, folk: Folk, r: Rules, log: Log, w: int, key: int) -> None:
    """The first pair of each team that stands by its hub has a child, if all else allows it."""
    for team in range(r.teams):
        adults, first = s.count[w, team], team * r.rows_per_team
        if (
            adults >= r.rows_per_team
            or s.tick[w] < s.fertile[w, team]
            or folk.store[w, team, STORE_HEARTS] < 1
        ):
            continue
        mother, father = -1, -1
        for a in range(first, first + adults):
            for b in range(a + 1, first + adults):
                if mother < 0 and is_pair(land, folk, r, w, team, a, b):
                    mother, father = a, b
        if mother < 0:
            continue
        cell = draw_cradle(land, r, w, team, fold(key, _BIRTH_BRANCH))
        if cell >= 0:
            bear(s, land, folk, r, log, w, team, mother, father, cell)
