"""Zones of other terrain: plains, forest, desert and city, then mazes and radial clearings."""

from __future__ import annotations

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline
from kinfolk.core.random import fold_in, randint
from kinfolk.worlds.cogsguard import codes
from kinfolk.worlds.cogsguard.mapgen.config import (
    MapConfig,
    MapScratch,
    Zone,
    cell_index,
    is_on_map,
)
from kinfolk.worlds.cogsguard.mapgen.maze import clear_rays, draw_maze
from kinfolk.worlds.cogsguard.mapgen.terrain import draw_rocks

PLAINS, FOREST, DESERT, CITY, MAZE, RADIAL = range(6)
_N_PARTS, _N_MAZE_PARTS, _N_ZONES = 4, 5, 2
_PLAINS_SPACING = 4
_FOREST_SEED_PERMILLE, _FOREST_GROWTHS, _GROWTH_PERCENT = 30, 2, 30
_RIDGE_SPACING, _RIDGE_GAP_PERCENT, _RIDGE_THICK_PERCENT = 8, 10, 60
_BLOCK_SPACING, _BLOCK_SIDE, _BLOCK_PERCENT = 10, 4, 90
_FLIP_PERCENT, _FLIP_MARGIN = 15, 5  # of cells beside another kind; none that near to the rim
_GROWING = 1 << 12  # marks cells that change after a pass over the zone


@inline
def cut_parts(parts: Ints, config: MapConfig, n_parts: int, key: int) -> None:
    """Cut the map into parts: always the largest, between a third and two thirds of a side.

    Args:
        parts: `[8, 4]`, row, column, height and width, written.
        config: Parameters of maps.
        n_parts: How many.
        key: Random key.
    """
    parts[0, 0] = parts[0, 1] = 0
    parts[0, 2], parts[0, 3] = config.height, config.width
    for n in range(1, n_parts):
        largest = 0
        for i in range(1, n):
            if parts[i, 2] * parts[i, 3] > parts[largest, 2] * parts[largest, 3]:
                largest = i
        axis = randint(key, 2 * n, 2)  # of rows or of columns
        side = parts[largest, 2 + axis]
        third = side // 3
        cut = third + randint(key, 2 * n + 1, max(1, side - 2 * third + 1))
        for column in range(4):
            parts[n, column] = parts[largest, column]
        parts[largest, 2 + axis] = cut
        parts[n, axis] += cut
        parts[n, 2 + axis] = side - cut


@inline
def shuffle_parts(parts: Ints, n_parts: int, key: int) -> None:
    """Put the first parts into a random order.

    Args:
        parts: `[8, 4]`, written.
        n_parts: How many.
        key: Random key.
    """
    for i in range(n_parts - 1):
        j = i + randint(key, i, n_parts - i)
        for column in range(4):
            value = parts[i, column]
            parts[i, column] = parts[j, column]
            parts[j, column] = value


@inline
def flip_edges(code: Ints, config: MapConfig, zone: Zone, key: int) -> None:
    """Flip some cells of a zone that are beside a cell of the other kind.

    Args:
        code: `[cells]` of the scratch map, written.
        config: Parameters of maps.
        zone: Where it is.
        key: Random key.
    """
    margin, draw = _FLIP_MARGIN, 0
    for y in range(zone.top + margin, zone.top + zone.height - margin):
        for x in range(zone.left + margin, zone.left + zone.width - margin):
            cell = cell_index(config, y, x)
            kind, is_edge = code[cell] % _GROWING, False
            for step in (-1, 1, -config.stride, config.stride):
                is_edge = is_edge or code[cell + step] % _GROWING != kind
            if is_edge and randint(key, draw, 100) < _FLIP_PERCENT:
                code[cell] += _GROWING
            draw += 1
    for y in range(zone.top, zone.top + zone.height):
        for x in range(zone.left, zone.left + zone.width):
            cell = cell_index(config, y, x)
            if code[cell] >= _GROWING:
                is_wall = code[cell] - _GROWING == codes.WALL
                code[cell] = codes.EMPTY if is_wall else codes.WALL


@inline
def grow_forest(code: Ints, config: MapConfig, zone: Zone, key: int) -> None:
    """Let floor beside trees become trees, with a chance for each neighbour.

    Args:
        code: `[cells]` of the scratch map, written.
        config: Parameters of maps.
        zone: Where it is.
        key: Random key.
    """
    draw = 0
    for y in range(zone.top, zone.top + zone.height):
        for x in range(zone.left, zone.left + zone.width):
            cell = cell_index(config, y, x)
            for dy, dx in ((-1, 0), (1, 0), (0, -1), (0, 1)):
                beside = cell + dy * config.stride + dx
                is_tree = is_on_map(config, y + dy, x + dx) and code[beside] == codes.WALL
                if is_tree and randint(key, draw, 100) < _GROWTH_PERCENT:
                    code[cell] = _GROWING if code[cell] == codes.EMPTY else code[cell]
                draw += 1
    for y in range(zone.top, zone.top + zone.height):
        for x in range(zone.left, zone.left + zone.width):
            cell = cell_index(config, y, x)
            if code[cell] == _GROWING:
                code[cell] = codes.WALL


@inline
def is_zone_wall(kind: int, y: int, x: int, key: int, draw: int) -> bool:
    """Return whether a cell of a forest, desert or city is wall, before trees grow.

    Args:
        kind: FOREST, DESERT or CITY.
        y: Line in the zone.
        x: Column in the zone.
        key: Random key.
        draw: Number of the cell, different for each.
    """
    if kind == FOREST:
        return bool(randint(key, draw, 1000) < _FOREST_SEED_PERMILLE)
    if kind == DESERT:
        place = (y + x) % _RIDGE_SPACING
        if randint(key, draw, 100) < _RIDGE_GAP_PERCENT:
            return False
        is_thick = place == 1 and randint(key, (1 << 20) + draw, 100) < _RIDGE_THICK_PERCENT
        return bool(place == 0 or is_thick)
    spacing, side = _BLOCK_SPACING, _BLOCK_SIDE
    first = (spacing - side) // 2
    in_block = first <= y % spacing < first + side and first <= x % spacing < first + side
    block = (y // spacing) * 64 + x // spacing
    return bool(in_block and randint(key, (1 << 21) + block, 100) < _BLOCK_PERCENT)


@inline
def draw_zone(code: Ints, config: MapConfig, kind: int, zone: Zone, key: int) -> None:
    """Draw a zone of terrain in place of what was there.

    Args:
        code: `[cells]` of the scratch map, written.
        config: Parameters of maps.
        kind: PLAINS to RADIAL.
        zone: Where it is.
        key: Random key.
    """
    if kind == MAZE:
        draw_maze(code, config, zone, key)
        return
    if kind == RADIAL:
        clear_rays(code, config, zone)
        return
    for y in range(zone.height):
        for x in range(zone.width):
            is_wall = kind != PLAINS and is_zone_wall(kind, y, x, key, y * zone.width + x)
            cell = cell_index(config, zone.top + y, zone.left + x)
            code[cell] = codes.WALL if is_wall else codes.EMPTY
    if kind == PLAINS:
        draw_rocks(code, config, zone, _PLAINS_SPACING, key)
        return
    if kind == FOREST:
        for growth in range(_FOREST_GROWTHS):
            grow_forest(code, config, zone, fold_in(key, 1 + growth))
    flip_edges(code, config, zone, fold_in(key, 0))


@inline
def draw_zone_in_part(
    scratch: MapScratch, config: MapConfig, part: int, kind: int, side: int, key: int
) -> None:
    """Draw a zone in the middle of a part.

    Args:
        scratch: Reads `parts`; writes `cell_codes`.
        config: Parameters of maps.
        part: Which part.
        kind: PLAINS to RADIAL.
        side: Most rows and columns of the zone.
        key: Random key.
    """
    parts = scratch.parts
    height, width = min(side, parts[part, 2]), min(side, parts[part, 3])
    top = parts[part, 0] + (parts[part, 2] - height) // 2
    left = parts[part, 1] + (parts[part, 3] - width) // 2
    draw_zone(scratch.cell_codes, config, kind, Zone(top, left, height, width), key)


@inline
def draw_zones(scratch: MapScratch, config: MapConfig, key: int) -> None:
    """Draw zones of terrain, then of mazes and radial clearings over them.

    Args:
        scratch: Written.
        config: Parameters of maps.
        key: Random key.
    """
    for layer in range(2):
        layer_key = fold_in(key, layer)
        n_parts = _N_PARTS if layer == 0 else _N_MAZE_PARTS
        n_zones = _N_ZONES
        if config.has_all_zones:
            n_parts = n_zones = _N_PARTS if layer == 0 else _N_ZONES
        side = config.zone_side if layer == 0 else config.maze_side
        cut_parts(scratch.parts, config, n_parts, fold_in(layer_key, 0))
        shuffle_parts(scratch.parts, n_parts, fold_in(layer_key, 1))
        first, n_kinds = (PLAINS, 4) if layer == 0 else (MAZE, 2)
        for i in range(n_zones):
            drawn = i if config.has_all_zones else randint(layer_key, i, n_kinds)
            draw_zone_in_part(scratch, config, i, first + drawn, side, fold_in(layer_key, 2 + i))
