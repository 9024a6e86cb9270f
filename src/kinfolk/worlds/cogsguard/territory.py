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
    CLIPS,
    EMPTY,
    ENEMY_AREA,
    FRIENDLY_AREA,
    JUNCTION,
    JUNCTION_ALIGNED_BY,
    JUNCTION_CELL,
    JUNCTION_OWNER,
    JUNCTIONS_HELD,
    JUNCTIONS_LOST,
    JUNCTIONS_WON,
    NOBODY,
    OTHER,
    OWN,
    OWNER_SHIFT,
)
from kinfolk.worlds.cogsguard.rules import HUB_COVER, JUNCTION_SOURCE, CogsguardRules
from kinfolk.worlds.cogsguard.state import CellWords, CogsguardState, Int32Array


class MapArrays(NamedTuple):
    """The part of the state that is on the map."""

    team_view: CellWords
    cell_detail: Int32Array
    area_cover: Int32Array
    junction: Ints
    home_cell: Ints
    teams: Ints


@inline
def get_map_arrays(state: CogsguardState) -> MapArrays:
    """The land of a state: the same arrays."""
    return MapArrays(
        state.team_view,
        state.cell_detail,
        state.area_cover,
        state.junction,
        state.home_cell,
        state.teams,
    )


@inline
def write_cell(view: CellWords, w: int, cell: int, kind: int, owner: int, extra: int) -> None:
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
def clear_cell(map_arrays: MapArrays, w: int, cell: int) -> None:
    """Nothing is on this cell any more."""
    write_cell(map_arrays.team_view, w, cell, EMPTY, -1, 0)
    map_arrays.cell_detail[w, cell] = -1


@inline
def find_area_owner(area_cover: Int32Array, w: int, cell: int) -> int:
    """Edition A: who owns a cell, -1 if nobody covers it or two are equally strong."""
    best, owner = 0, -1
    for u in range(area_cover.shape[1]):
        here = int(area_cover[w, u, cell])
        if here > best:
            best, owner = here, u
        elif here == best:
            owner = -1
    return owner


@inline
def update_area_bits(
    view: CellWords, area_cover: Int32Array, territory: bool, w: int, cell: int
) -> None:
    """Tell every team whether a cell is in its own area or in an enemy's, or both.

    Edition F: a hub is no enemy area to others, junctions are.
    """
    owner = find_area_owner(area_cover, w, cell) if territory else -1
    for team in range(view.shape[1]):
        own, enemy = False, False
        if territory:
            own = owner == team
            enemy = owner >= 0 and owner != team
        else:
            own = area_cover[w, team, cell] > 0
            for u in range(area_cover.shape[1]):
                if u != team and int(area_cover[w, u, cell]) & (HUB_COVER - 1) != 0:
                    enemy = True
        word = int(view[w, team, cell]) & (FRIENDLY_AREA - 1)
        if own:
            word |= FRIENDLY_AREA
        if enemy:
            word |= ENEMY_AREA
        view[w, team, cell] = word


@inline
def add_area(
    map_arrays: MapArrays,
    rules: CogsguardRules,
    w: int,
    owner: int,
    cell: int,
    source: int,
    sign: int,
) -> None:
    """Add the area of a junction, hub or ship around `cell`, or with `sign` -1 take it away."""
    shown, cover, strength, territory = (
        map_arrays.team_view,
        map_arrays.area_cover,
        rules.strength,
        rules.territory,
    )
    reach = rules.junction_area if source == JUNCTION_SOURCE else rules.hub_area
    at_y, at_x = cell // rules.stride, cell % rules.stride
    for y in range(max(at_y - reach, rules.pad), min(at_y + reach + 1, rules.pad + rules.height)):
        for x in range(
            max(at_x - reach, rules.pad), min(at_x + reach + 1, rules.pad + rules.width)
        ):
            amount = strength[source, (y - at_y) * (y - at_y) + (x - at_x) * (x - at_x)]
            if amount != 0:
                here = y * rules.stride + x
                cover[w, owner, here] += sign * amount
                update_area_bits(shown, cover, territory, w, here)


@inline
def change_junction_owner(
    map_arrays: MapArrays, rules: CogsguardRules, w: int, junction: int, owner: int
) -> None:
    """A junction changes hands; -1 makes it nobody's."""
    cell, old = (
        map_arrays.junction[w, junction, JUNCTION_CELL],
        map_arrays.junction[w, junction, JUNCTION_OWNER],
    )
    for turn in range(2):
        who = old if turn == 0 else owner
        if who >= 0:
            add_area(map_arrays, rules, w, who, cell, JUNCTION_SOURCE, 2 * turn - 1)
            map_arrays.teams[w, who, JUNCTIONS_HELD] += 2 * turn - 1
            map_arrays.teams[w, who, JUNCTIONS_LOST if turn == 0 else JUNCTIONS_WON] += 1
    map_arrays.junction[w, junction, JUNCTION_OWNER] = owner
    map_arrays.junction[w, junction, JUNCTION_ALIGNED_BY] = -1
    write_cell(map_arrays.team_view, w, cell, JUNCTION, owner, 0)


@inline
def squared_distance(stride: int, a: int, b: int) -> int:
    """The squared distance of two cells."""
    y, x = a // stride - b // stride, a % stride - b % stride
    return y * y + x * x
