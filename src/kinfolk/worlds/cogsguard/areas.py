"""What is on the cells, what teams see there, and whose area it is.

Areas are kept up when a junction changes hands: each source adds its cover to the cells around
it, and two bits of every team's view say what that means for the team.
"""

from __future__ import annotations

from typing import NamedTuple

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline
from kinfolk.worlds.cogsguard.codes import (
    AREA_MASK,
    BY,
    CLIPS,
    EMPTY,
    ENEMY_AREA,
    FRIENDLY_AREA,
    HELD,
    JUNCTION,
    LOST,
    NOBODY,
    OTHER,
    OWN,
    OWNER_SHIFT,
    WHERE,
    WHOSE,
    WON,
)
from kinfolk.worlds.cogsguard.rules import FROM_JUNCTION, HUB_COVER, Rules
from kinfolk.worlds.cogsguard.state import Numbers, State, Words


class Land(NamedTuple):
    """The part of the state that is on the map."""

    shown: Words
    detail: Numbers
    cover: Numbers
    junction: Ints
    home: Ints
    teams: Ints


@inline
def land_of(s: State) -> Land:
    """The land of a state: the same arrays."""
    return Land(s.shown, s.detail, s.cover, s.junction, s.home, s.teams)


@inline
def put(view: Words, w: int, cell: int, kind: int, owner: int, extra: int) -> None:
    """Show a thing on a cell to every team; `extra` holds the bits of an agent's gear and vibe."""
    teams = view.shape[1]
    for team in range(teams):
        mark = OTHER
        if owner < 0:
            mark = NOBODY
        elif owner == team:
            mark = OWN
        elif owner == teams:
            mark = CLIPS
        area = int(view[w, team, cell]) & AREA_MASK
        view[w, team, cell] = area | kind | mark << OWNER_SHIFT | extra


@inline
def clear(land: Land, w: int, cell: int) -> None:
    """Nothing is on this cell any more."""
    put(land.shown, w, cell, EMPTY, -1, 0)
    land.detail[w, cell] = -1


@inline
def strongest(cover: Numbers, w: int, cell: int) -> int:
    """Edition A: who owns a cell, -1 if nobody covers it or two are equally strong."""
    best, owner = 0, -1
    for u in range(cover.shape[1]):
        here = int(cover[w, u, cell])
        if here > best:
            best, owner = here, u
        elif here == best:
            owner = -1
    return owner


@inline
def mark_area(view: Words, cover: Numbers, territory: bool, w: int, cell: int) -> None:
    """Tell every team whether a cell is in its own area or in an enemy's, or both.

    Edition F: a hub is no enemy area to others, junctions are.
    """
    owner = strongest(cover, w, cell) if territory else -1
    for team in range(view.shape[1]):
        own, enemy = False, False
        if territory:
            own = owner == team
            enemy = owner >= 0 and owner != team
        else:
            own = cover[w, team, cell] > 0
            for u in range(cover.shape[1]):
                if u != team and int(cover[w, u, cell]) & (HUB_COVER - 1) != 0:
                    enemy = True
        word = int(view[w, team, cell]) & (FRIENDLY_AREA - 1)
        if own:
            word |= FRIENDLY_AREA
        if enemy:
            word |= ENEMY_AREA
        view[w, team, cell] = word


@inline
def radiate(land: Land, r: Rules, w: int, owner: int, cell: int, source: int, sign: int) -> None:
    """Add the area of a junction, hub or ship around `cell`, or with `sign` -1 take it away."""
    shown, cover, strength, territory = land.shown, land.cover, r.strength, r.territory
    reach = r.junction_area if source == FROM_JUNCTION else r.hub_area
    at_y, at_x = cell // r.stride, cell % r.stride
    for y in range(max(at_y - reach, r.pad), min(at_y + reach + 1, r.pad + r.height)):
        for x in range(max(at_x - reach, r.pad), min(at_x + reach + 1, r.pad + r.width)):
            amount = strength[source, (y - at_y) * (y - at_y) + (x - at_x) * (x - at_x)]
            if amount != 0:
                here = y * r.stride + x
                cover[w, owner, here] += sign * amount
                mark_area(shown, cover, territory, w, here)


@inline
def hand_over(land: Land, r: Rules, w: int, number: int, owner: int) -> None:
    """A junction changes hands; -1 makes it nobody's."""
    cell, old = land.junction[w, number, WHERE], land.junction[w, number, WHOSE]
    for turn in range(2):
        who = old if turn == 0 else owner
        if who >= 0:
            radiate(land, r, w, who, cell, FROM_JUNCTION, 2 * turn - 1)
            land.teams[w, who, HELD] += 2 * turn - 1
            land.teams[w, who, LOST if turn == 0 else WON] += 1
    land.junction[w, number, WHOSE] = owner
    land.junction[w, number, BY] = -1
    put(land.shown, w, cell, JUNCTION, owner, 0)


@inline
def apart(stride: int, a: int, b: int) -> int:
    """The squared distance of two cells."""
    y, x = a // stride - b // stride, a % stride - b % stride
    return y * y + x * x
