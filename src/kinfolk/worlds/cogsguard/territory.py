"""Objects on cells, what teams see of them, and areas.

Areas are updated when a junction changes its owner: each source adds its cover to the cells around
it, and two bits of every team's view say whether a cell is in a friendly or an enemy area.
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
    """The arrays of a state that describe the map."""

    team_view: CellWords
    cell_detail: Int32Array
    area_cover: Int32Array
    junction: Ints
    home_cell: Ints
    teams: Ints


@inline
def get_map_arrays(state: CogsguardState) -> MapArrays:
    """Return the arrays of a state that describe the map."""
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
    """Show an object on a cell to every team.

    Args:
        view: `[W, T, cells]`, written.
        w: World.
        cell: Cell of the object.
        kind: Index into `KINDS`.
        owner: Its team, the number of teams for the clips, -1 for nobody.
        extra: Bits of an agent's gear and vibe.
    """
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
    """Remove what is on a cell.

    Args:
        map_arrays: Writes `team_view` and `cell_detail`.
        w: World.
        cell: Cell to clear.
    """
    write_cell(map_arrays.team_view, w, cell, EMPTY, -1, 0)
    map_arrays.cell_detail[w, cell] = -1


@inline
def find_area_owner(area_cover: Int32Array, w: int, cell: int) -> int:
    """Return the owner of a cell in edition A: -1 if nobody covers it or two are equally strong.

    Args:
        area_cover: `[W, T + 1, cells]`.
        w: World.
        cell: Cell in question.
    """
    best, owner = 0, -1
    for side in range(area_cover.shape[1]):
        strength = int(area_cover[w, side, cell])
        if strength > best:
            best, owner = strength, side
        elif strength == best:
            owner = -1
    return owner


@inline
def update_area_bits(
    view: CellWords, area_cover: Int32Array, territory: bool, w: int, cell: int
) -> None:
    """Update in every team's view whether a cell is in a friendly or an enemy area, or both.

    In edition F, hubs are no enemy area to others, junctions are.

    Args:
        view: `[W, T, cells]`, written.
        area_cover: `[W, T + 1, cells]`.
        territory: Whether the rules are those of edition A.
        w: World.
        cell: Cell to update.
    """
    owner = find_area_owner(area_cover, w, cell) if territory else -1
    for team in range(view.shape[1]):
        friendly, enemy = False, False
        if territory:
            friendly = owner == team
            enemy = owner >= 0 and owner != team
        else:
            friendly = area_cover[w, team, cell] > 0
            for side in range(area_cover.shape[1]):
                if side != team and int(area_cover[w, side, cell]) & (HUB_COVER - 1) != 0:
                    enemy = True
        word = int(view[w, team, cell]) & (FRIENDLY_AREA - 1)
        if friendly:
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
    """Add the area of a junction, hub or ship around `cell`, or remove it.

    Args:
        map_arrays: Writes `area_cover` and `team_view`.
        rules: Rules of the batch.
        w: World.
        owner: Team, or the number of teams for the clips.
        cell: Cell of the source.
        source: JUNCTION_SOURCE or HUB_SOURCE.
        sign: 1 to add, -1 to remove.
    """
    view, cover, strength, territory = (
        map_arrays.team_view,
        map_arrays.area_cover,
        rules.strength,
        rules.territory,
    )
    reach = rules.junction_area if source == JUNCTION_SOURCE else rules.hub_area
    center_y, center_x = cell // rules.stride, cell % rules.stride
    for y in range(
        max(center_y - reach, rules.pad), min(center_y + reach + 1, rules.pad + rules.height)
    ):
        for x in range(
            max(center_x - reach, rules.pad), min(center_x + reach + 1, rules.pad + rules.width)
        ):
            amount = strength[
                source, (y - center_y) * (y - center_y) + (x - center_x) * (x - center_x)
            ]
            if amount != 0:
                covered = y * rules.stride + x
                cover[w, owner, covered] += sign * amount
                update_area_bits(view, cover, territory, w, covered)


@inline
def change_junction_owner(
    map_arrays: MapArrays, rules: CogsguardRules, w: int, junction: int, owner: int
) -> None:
    """Give a junction to another owner, with its area and counters.

    Args:
        map_arrays: Written.
        rules: Rules of the batch.
        w: World.
        junction: Index of the junction.
        owner: New owner; -1 for nobody.
    """
    cell, old_owner = (
        map_arrays.junction[w, junction, JUNCTION_CELL],
        map_arrays.junction[w, junction, JUNCTION_OWNER],
    )
    for is_gain in range(2):
        side = old_owner if is_gain == 0 else owner
        if side >= 0:
            add_area(map_arrays, rules, w, side, cell, JUNCTION_SOURCE, 2 * is_gain - 1)
            map_arrays.teams[w, side, JUNCTIONS_HELD] += 2 * is_gain - 1
            map_arrays.teams[w, side, JUNCTIONS_LOST if is_gain == 0 else JUNCTIONS_WON] += 1
    map_arrays.junction[w, junction, JUNCTION_OWNER] = owner
    map_arrays.junction[w, junction, JUNCTION_ALIGNED_BY] = -1
    write_cell(map_arrays.team_view, w, cell, JUNCTION, owner, 0)


@inline
def squared_distance(stride: int, a: int, b: int) -> int:
    """Return the squared Euclidean distance of two cells.

    Args:
        stride: Cells per line.
        a: First cell.
        b: Second cell.
    """
    y, x = a // stride - b // stride, a % stride - b % stride
    return y * y + x * x
