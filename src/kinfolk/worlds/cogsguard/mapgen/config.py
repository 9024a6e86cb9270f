"""Parameters of maps, the scratch arrays on which they are drawn, and what stands in a compound."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline
from kinfolk.worlds.cogsguard import codes, maps
from kinfolk.worlds.cogsguard.rules import CogsguardRules
from kinfolk.worlds.cogsguard.settings import Cogsguard
from kinfolk.worlds.cogsguard.state import count_cells

OWNER_STRIDE = 16  # a cell's code is `kind + OWNER_STRIDE * (owner + 1)`
_MIN_RIM_SIDE = 80  # shortest side of maps with a rim of rock
_MIN_ZONE_SIDE = 10


class MapScratch(NamedTuple):
    """Arrays on which a map is drawn; each thread has its own."""

    cell_codes: Ints  # [cells] `kind + OWNER_STRIDE * (owner + 1)`
    pads: Ints  # [teams, pads] cells of the spawn pads, permuted when agents are placed
    work_cells: Ints  # [2, 2 * cells] scratch: a queue, and parents
    parts: Ints  # [8, 4] scratch: row, column, height and width of parts of the map


class MapConfig(NamedTuple):
    """Parameters of maps; cells are numbered as in `CogsguardRules`."""

    height: int
    width: int
    pad: int
    stride: int
    is_fixed: bool  # the map was given as text, and scratch arrays hold it from the start
    pads: Ints  # [teams, pads] cells of the spawn pads
    n_pads: Ints  # [teams] how many of them a team has
    hubs: Ints  # [teams, 2] row and column, as all below only of generated maps
    compound: Ints  # [objects, 4] row and column from the hub, kind, and whether the team owns it
    clearing_radius: int
    has_terrain: bool
    has_rim: bool
    has_all_zones: bool  # one zone of each kind, instead of two of the parts with a zone
    zone_side: int  # most rows and columns of a zone of terrain
    maze_side: int
    n_junctions: int  # to draw; those too near another object are dropped
    n_extractors: int
    junction_gap: int  # least distance of junctions; 0 draws all kinds in one go
    gap_is_square: bool  # the gap is the larger of row and column distance, not straight
    has_ships: bool
    feeds_homes: bool  # hubs and ships get a junction if they have none in reach
    feed_reach: int  # squared
    may_be_unreachable: bool


def make_map_config(settings: Cogsguard, rules: CogsguardRules) -> MapConfig:
    """Convert the settings of maps into the parameters that kernels read."""
    height, width = settings.map_shape
    hubs = maps.place_hubs(settings.teams, height, width)
    if settings.parsed_map is None:
        offsets = maps.make_spawn_pads(settings.n_pads, has_junction=settings.edition == "F")
        pads = [(hub + offsets).tolist() for hub in hubs]
    else:
        pads = [list(team_pads) for team_pads in settings.parsed_map.spawn_pads[: settings.teams]]
    cells = np.zeros((settings.teams, max(map(len, pads))), dtype=np.int64)
    for team, team_pads in enumerate(pads):
        y, x = np.transpose(team_pads) + rules.pad
        cells[team, : len(team_pads)] = y * rules.stride + x
    side, is_large = min(height, width), settings.map == "machina_1"
    return MapConfig(
        height=height,
        width=width,
        pad=rules.pad,
        stride=rules.stride,
        is_fixed=settings.parsed_map is not None,
        pads=cells,
        n_pads=np.array([len(team_pads) for team_pads in pads], dtype=np.int64),
        hubs=hubs,
        compound=_make_compound(settings),
        clearing_radius=settings.clearing_radius,
        has_terrain=settings.terrain,
        has_rim=settings.terrain and side >= _MIN_RIM_SIDE,
        has_all_zones=is_large,
        zone_side=max(_MIN_ZONE_SIDE, 27 * side // 100),
        maze_side=max(_MIN_ZONE_SIDE, side // 5),
        n_junctions=settings.junctions,
        n_extractors=settings.extractors,
        junction_gap=settings.junction_gap,
        gap_is_square=settings.edition == "F",
        has_ships=settings.has_ships,
        feeds_homes=settings.edition == "A" and is_large,
        feed_reach=settings.align_reach**2,
        may_be_unreachable=settings.quirks.unreachable_objects,
    )


def _make_compound(settings: Cogsguard) -> Ints:
    """Return the objects of a compound, the walled base around a hub, `[objects, 4]`.

    Edition F has a junction in it, on machina_1 the team's own.
    """
    objects = maps.make_compound(settings.compound_radius)
    if settings.edition == "F":
        y, x = maps.COMPOUND_JUNCTION
        objects.append((y, x, codes.JUNCTION, int(settings.map == "machina_1")))
    return np.array(objects, dtype=np.int64)


def allocate_map_scratch(
    settings: Cogsguard, rules: CogsguardRules, config: MapConfig
) -> MapScratch:
    """Allocate the arrays on which a thread draws maps, with the map on them if it is fixed.

    Args:
        settings: Settings of the world.
        rules: Rules made from them.
        config: Parameters of maps made from them.
    """
    cell_codes = np.full(count_cells(rules), codes.WALL, dtype=np.int64)
    parsed_map, pad = settings.parsed_map, rules.pad
    if parsed_map is not None:
        owner = parsed_map.owner.astype(np.int64)
        owner[owner == maps.CLIPS_OWNER] = rules.teams
        grid = cell_codes.reshape(-1, rules.stride)
        inside = grid[pad : pad + rules.height, pad : pad + rules.width]
        inside[:] = parsed_map.kind + OWNER_STRIDE * (owner + 1)
    work_cells = np.zeros((2, 2 * len(cell_codes)), dtype=np.int64)
    return MapScratch(cell_codes, config.pads.copy(), work_cells, np.zeros((8, 4), dtype=np.int64))


class Zone(NamedTuple):
    """A rectangle of the map, in cells."""

    top: int
    left: int
    height: int
    width: int


@inline
def cell_index(config: MapConfig, y: int, x: int) -> int:
    """Return the index of a cell of the map in the padded numbering.

    Args:
        config: Parameters of maps.
        y: Line of the map.
        x: Column of the map.
    """
    return (y + config.pad) * config.stride + x + config.pad


@inline
def is_on_map(config: MapConfig, y: int, x: int) -> bool:
    """Return whether a line and a column are on the map.

    Args:
        config: Parameters of maps.
        y: Line of the map.
        x: Column of the map.
    """
    return bool(0 <= y < config.height and 0 <= x < config.width)
