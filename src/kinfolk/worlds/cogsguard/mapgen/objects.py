"""Junctions and extractors, compounds, ships, and junctions for hubs and ships that have none."""

from __future__ import annotations

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline
from kinfolk.core.random import fold_in, randint
from kinfolk.worlds.cogsguard import codes
from kinfolk.worlds.cogsguard.mapgen.config import (
    OWNER_STRIDE,
    MapConfig,
    MapScratch,
    cell_index,
    is_on_map,
)
from kinfolk.worlds.cogsguard.territory import squared_distance

_MAX_CELL_TRIES = 60  # cells drawn for a junction before the least distance shrinks
_FEED_GAP = 4 * 4  # least squared distance of a junction from the hub or ship that it is for
_INFINITE_DISTANCE = 1 << 40


@inline
def draw_cell(config: MapConfig, key: int, draw: int) -> int:
    """Draw a cell that is not on the edge of the map.

    Args:
        config: Parameters of maps.
        key: Random key.
        draw: Number of the draw.
    """
    inner_width = config.width - 2
    position = randint(key, draw, (config.height - 2) * inner_width)
    return cell_index(config, 1 + position // inner_width, 1 + position % inner_width)


@inline
def is_far_from_all(placed: Ints, n_placed: int, config: MapConfig, cell: int, gap: int) -> bool:
    """Return whether a cell is at least `gap` away from all placed ones.

    Args:
        placed: Cells.
        n_placed: How many of them count.
        config: Parameters of maps.
        cell: Cell in question.
        gap: Least distance in cells.
    """
    stride = config.stride
    for i in range(n_placed):
        if config.gap_is_square:
            rows = abs(placed[i] // stride - cell // stride)
            near = max(rows, abs(placed[i] % stride - cell % stride)) < gap
        else:
            near = squared_distance(stride, placed[i], cell) < gap * gap
        if near:
            return False
    return True


@inline
def put_object(code: Ints, stride: int, cell: int, kind: int) -> None:
    """Put an object on a cell and clear its neighbours of wall, unless it is beside another.

    Args:
        code: `[cells]` of the scratch map, written.
        stride: Cells per line.
        cell: Cell of the object.
        kind: Index into `KINDS`.
    """
    for dy in range(-1, 2):
        for dx in range(-1, 2):
            if code[cell + dy * stride + dx] > codes.WALL:
                return
    for dy in range(-1, 2):
        for dx in range(-1, 2):
            code[cell + dy * stride + dx] = codes.EMPTY
    code[cell] = kind


@inline
def scatter_objects(scratch: MapScratch, config: MapConfig, key: int) -> None:
    """Put junctions on cells that keep a distance, then extractors anywhere.

    Args:
        scratch: Writes `cell_codes`; `work_cells` is scratch.
        config: Parameters of maps.
        key: Random key.
    """
    code, placed, draw = scratch.cell_codes, scratch.work_cells[0], 0
    cell_key, kind_key = fold_in(key, 0), fold_in(key, 1)
    gap, n_objects = config.junction_gap, config.n_junctions + config.n_extractors
    for i in range(n_objects):
        is_junction = i < config.n_junctions
        if config.junction_gap == 0:
            is_junction = randint(kind_key, 2 * i + 1, n_objects) < config.n_junctions
        cell = draw_cell(config, cell_key, draw)
        draw += 1
        if is_junction and gap > 0:
            n_tries = 0
            while not is_far_from_all(placed, i, config, cell, gap):
                n_tries += 1
                if n_tries % _MAX_CELL_TRIES == 0:
                    gap -= 1
                cell = draw_cell(config, cell_key, draw)
                draw += 1
            placed[i] = cell
        kind = codes.JUNCTION if is_junction else codes.EXTRACTOR + randint(kind_key, 2 * i, 4)
        put_object(code, config.stride, cell, kind)


@inline
def draw_compounds(code: Ints, config: MapConfig) -> None:
    """Clear the land around every hub and build its compound."""
    radius = config.clearing_radius
    for team in range(config.hubs.shape[0]):
        for y in range(config.hubs[team, 0] - radius, config.hubs[team, 0] + radius + 1):
            for x in range(config.hubs[team, 1] - radius, config.hubs[team, 1] + radius + 1):
                if is_on_map(config, y, x):
                    code[cell_index(config, y, x)] = codes.EMPTY
    for team in range(config.hubs.shape[0]):
        hub = cell_index(config, config.hubs[team, 0], config.hubs[team, 1])
        for i in range(config.compound.shape[0]):
            cell = hub + config.compound[i, 0] * config.stride + config.compound[i, 1]
            owner = team if config.compound[i, 3] == 1 else -1
            code[cell] = config.compound[i, 2] + OWNER_STRIDE * (owner + 1)


@inline
def place_ships(code: Ints, config: MapConfig) -> None:
    """Put a ship one cell in from each corner, even inside rock."""
    owner = config.hubs.shape[0]
    for corner in range(4):
        y = 1 if corner < 2 else config.height - 2
        x = 1 if corner % 2 == 0 else config.width - 2
        code[cell_index(config, y, x)] = codes.SHIP + OWNER_STRIDE * (owner + 1)


@inline
def is_pad(config: MapConfig, cell: int) -> bool:
    """Return whether a cell is a spawn pad."""
    n_found = 0
    for team in range(config.pads.shape[0]):
        for i in range(config.pads.shape[1]):
            n_found += config.pads[team, i] == cell
    return n_found > 0


@inline
def feed_home(code: Ints, reached: Ints, config: MapConfig, home: int) -> None:
    """Put a junction near a hub or ship that has none in reach to which one can walk.

    It stands on the nearest floor that is not too near.

    Args:
        code: `[cells]` of the scratch map, written.
        reached: `[cells]`, 1 where one can walk to or stand beside.
        config: Parameters of maps.
        home: Cell of the hub or ship.
    """
    best, best_cell = _INFINITE_DISTANCE, 0
    for y in range(1, config.height - 1):
        for x in range(1, config.width - 1):
            cell = cell_index(config, y, x)
            if reached[cell] == 0:
                continue
            distance = squared_distance(config.stride, home, cell)
            if code[cell] % OWNER_STRIDE == codes.JUNCTION and distance <= config.feed_reach:
                return
            is_free = code[cell] == codes.EMPTY and _FEED_GAP <= distance < best
            if is_free and not is_pad(config, cell):
                best, best_cell = distance, cell
    if best_cell > 0:
        code[best_cell] = codes.JUNCTION
