"""Terrain: rocks on a lattice, and a rim of rock around large maps."""

from __future__ import annotations

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline
from kinfolk.core.random import fold_in, randint
from kinfolk.worlds.cogsguard import codes
from kinfolk.worlds.cogsguard.mapgen.config import MapConfig, Zone, cell_index, is_on_map

_ANCHOR_SPACING, _ANCHOR_SHIFT = 7, 2  # cells between anchors of rocks, and how far they are moved
_ANCHOR_PERCENT, _SINGLE_ROCK_PERCENT = 80, 25
_RIM_SPACING, _RIM_PERCENT = 3, 60
_MIN_RIM_DEPTH, _MAX_RIM_DEPTH = 2, 8
_MIN_RIM_WIDTH, _MAX_RIM_WIDTH = 2, 6  # to each side


@inline
def clear_map(code: Ints, config: MapConfig) -> None:
    """Make the whole map floor, and all around it wall."""
    for cell in range(code.shape[0]):
        code[cell] = codes.WALL
    for y in range(config.height):
        for x in range(config.width):
            code[cell_index(config, y, x)] = codes.EMPTY


@inline
def put_wall(code: Ints, config: MapConfig, y: int, x: int) -> None:
    """Make a cell wall if it is on the map.

    Args:
        code: `[cells]` of the scratch map, written.
        config: Parameters of maps.
        y: Line of the map.
        x: Column of the map.
    """
    if is_on_map(config, y, x):
        code[cell_index(config, y, x)] = codes.WALL


@inline
def draw_cluster(code: Ints, config: MapConfig, y: int, x: int, key: int) -> None:
    """Draw a cluster of rock by a few short random walks that begin and stay near its middle.

    Args:
        code: `[cells]` of the scratch map, written.
        config: Parameters of maps.
        y: Line of its middle.
        x: Column of its middle.
        key: Random key.
    """
    radius, n_walks, draw = 1 + randint(key, 0, 2), 2 + randint(key, 1, 3), 2
    side = 2 * radius + 1
    for _ in range(n_walks):
        dy, dx = randint(key, draw, side) - radius, randint(key, draw + 1, side) - radius
        draw += 2
        for _ in range(radius + 1):
            put_wall(code, config, y + dy, x + dx)
            direction = randint(key, draw, 4)
            draw += 1
            if direction < 2:
                dy = min(max(dy + 2 * direction - 1, -radius), radius)
            else:
                dx = min(max(dx + 2 * direction - 5, -radius), radius)


@inline
def draw_rocks(code: Ints, config: MapConfig, zone: Zone, spacing: int, key: int) -> None:
    """Draw rocks and clusters of rock near the points of a lattice.

    Args:
        code: `[cells]` of the scratch map, written.
        config: Parameters of maps.
        zone: Where to draw.
        spacing: Cells between points of the lattice.
        key: Random key.
    """
    anchor = 0
    for y in range(zone.top, zone.top + zone.height, spacing):
        for x in range(zone.left, zone.left + zone.width, spacing):
            anchor_key = fold_in(key, anchor)
            anchor += 1
            if randint(anchor_key, 0, 100) >= _ANCHOR_PERCENT:
                continue
            moved_y = y + randint(anchor_key, 1, 2 * _ANCHOR_SHIFT + 1) - _ANCHOR_SHIFT
            moved_x = x + randint(anchor_key, 2, 2 * _ANCHOR_SHIFT + 1) - _ANCHOR_SHIFT
            if randint(anchor_key, 3, 100) < _SINGLE_ROCK_PERCENT:
                put_wall(code, config, moved_y, moved_x)
            else:
                draw_cluster(code, config, moved_y, moved_x, fold_in(anchor_key, 4))


@inline
def draw_base(code: Ints, config: MapConfig, key: int) -> None:
    """Draw the rocks of the whole map.

    Args:
        code: `[cells]` of the scratch map, written.
        config: Parameters of maps.
        key: Random key.
    """
    whole_map = Zone(0, 0, config.height, config.width)
    draw_rocks(code, config, whole_map, _ANCHOR_SPACING, key)


@inline
def draw_rim(code: Ints, config: MapConfig, key: int) -> None:
    """Draw triangles of rock with their bases on the edges of the map.

    Args:
        code: `[cells]` of the scratch map, written.
        config: Parameters of maps.
        key: Random key.
    """
    for side in range(4):  # north, south, west, east
        length = config.width if side < 2 else config.height
        across = config.height if side < 2 else config.width
        for middle in range(0, length, _RIM_SPACING):
            tooth_key = fold_in(fold_in(key, side), middle)
            if randint(tooth_key, 0, 100) >= _RIM_PERCENT:
                continue
            depth = _MIN_RIM_DEPTH + randint(tooth_key, 1, _MAX_RIM_DEPTH - _MIN_RIM_DEPTH + 1)
            half = _MIN_RIM_WIDTH + randint(tooth_key, 2, _MAX_RIM_WIDTH - _MIN_RIM_WIDTH + 1)
            for i in range(depth):
                reach = half * (depth - i) // depth
                line = i if side % 2 == 0 else across - 1 - i
                for along in range(middle - reach, middle + reach + 1):
                    if side < 2:
                        put_wall(code, config, line, along)
                    else:
                        put_wall(code, config, along, line)
