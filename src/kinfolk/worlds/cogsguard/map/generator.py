"""Maps by chance: compounds, patches of wall, junctions and extractors, all within reach.

A map is drawn on a sheet. If something on it cannot be reached from the first hub, or too few
things found room, the next key draws another.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline
from kinfolk.core.random import fold_in, randint
from kinfolk.worlds.cogsguard.codes import EMPTY, EXTRACTOR, HUB, JUNCTION, SHIP, WALL
from kinfolk.worlds.cogsguard.map.layout import (
    COMPOUND_RADIUS,
    N_SPAWN_PADS,
    make_compound,
    make_spawn_pads,
    place_hubs,
)
from kinfolk.worlds.cogsguard.rules import CogsguardRules
from kinfolk.worlds.cogsguard.settings import Cogsguard
from kinfolk.worlds.cogsguard.state import compute_map_sizes

_MAX_CELL_TRIES = 80  # cells tried for a thing
_MAX_MAP_TRIES = 64  # sheets tried for a map
_FIRST_TRY_WITHOUT_WALLS = (
    48  # from this one on without patches of wall, which are what can bar the way
)
_MIN_WALK_LENGTH, _WALK_LENGTH_RANGE = 3, 7  # cells of a patch
OWNER_STRIDE = 16  # on a sheet a cell's code is its kind, plus this for every owner up to its own
_REACHED = 1 << 12


class MapScratch(NamedTuple):
    """Where a map is drawn; one per thread."""

    cell_codes: Ints  # [cells]
    pads: Ints  # [teams, places] cells
    work_cells: Ints  # [cells]


class MapConfig(NamedTuple):
    """What maps have in common; cells are numbered as in `rules.Rules`."""

    height: int
    width: int
    pad: int
    stride: int
    hubs: Ints  # [teams, 2] row and column
    compound: Ints
    pads: Ints
    n_wall_patches: int
    min_junctions: int
    max_junctions: int
    min_extractors: int
    max_extractors: int
    junction_gap: int  # squared
    extractor_gap: int
    has_ships: bool


def make_map_config(settings: Cogsguard, rules: CogsguardRules) -> MapConfig:
    """Lay out the settings of maps for the kernels."""
    height, width = settings.map_shape
    return MapConfig(
        height=height,
        width=width,
        pad=rules.pad,
        stride=rules.stride,
        hubs=place_hubs(settings.teams, height, width),
        compound=make_compound(has_chest=settings.edition == "F"),
        pads=make_spawn_pads(),
        n_wall_patches=settings.wall_patches * height * width // 1000,
        min_junctions=settings.junctions[0],
        max_junctions=settings.junctions[1],
        min_extractors=settings.extractors[0],
        max_extractors=settings.extractors[1],
        junction_gap=settings.junction_gap**2,
        extractor_gap=settings.extractor_gap**2,
        has_ships=settings.edition == "A" and settings.clips != "off",
    )


def allocate_map_scratch(settings: Cogsguard, rules: CogsguardRules) -> MapScratch:
    """A sheet to draw on."""
    cells, drawing = compute_map_sizes(settings, rules).n_cells, settings.parsed_map
    places = N_SPAWN_PADS if drawing is None else max(len(own) for own in drawing.spawn_pads)
    return MapScratch(
        cell_codes=np.full(cells, WALL, dtype=np.int64),
        pads=np.zeros((rules.teams, places), dtype=np.int64),
        work_cells=np.zeros(cells, dtype=np.int64),
    )


@inline
def cell_index(config: MapConfig, y: int, x: int) -> int:
    """The number of a cell of the map."""
    return (y + config.pad) * config.stride + x + config.pad


@inline
def draw_base_map(map_scratch: MapScratch, config: MapConfig, key: int) -> None:
    """Floor within a wall, the compounds, and the ships in the corners."""
    code, teams = map_scratch.cell_codes, config.hubs.shape[0]
    for cell in range(code.shape[0]):
        code[cell] = WALL
    for y in range(1, config.height - 1):
        for x in range(1, config.width - 1):
            code[cell_index(config, y, x)] = EMPTY
    for team in range(teams):
        hub = cell_index(config, config.hubs[team, 0], config.hubs[team, 1])
        turn = randint(key, team, 4)
        for i in range(config.compound.shape[0]):
            cell, kind = (
                hub + config.compound[i, 0] * config.stride + config.compound[i, 1],
                config.compound[i, 2],
            )
            if EXTRACTOR <= kind < HUB:
                code[cell] = EXTRACTOR + (kind - EXTRACTOR + turn) % 4
            else:
                code[cell] = kind if kind == WALL else kind + OWNER_STRIDE * (team + 1)
        for i in range(config.pads.shape[0]):
            map_scratch.pads[team, i] = hub + config.pads[i, 0] * config.stride + config.pads[i, 1]
    if config.has_ships:
        for corner in range(4):
            y = 2 if corner < 2 else config.height - 3
            x = 2 if corner % 2 == 0 else config.width - 3
            code[cell_index(config, y, x)] = SHIP + OWNER_STRIDE * (teams + 1)


@inline
def is_outside_compounds(config: MapConfig, y: int, x: int, margin: int) -> bool:
    """Whether a cell is on the open land, `margin` cells or more from every compound."""
    if not (0 < y < config.height - 1 and 0 < x < config.width - 1):
        return False
    for team in range(config.hubs.shape[0]):
        if (
            max(abs(y - config.hubs[team, 0]), abs(x - config.hubs[team, 1]))
            < COMPOUND_RADIUS + margin
        ):
            return False
    return True


@inline
def draw_walls(map_scratch: MapScratch, config: MapConfig, key: int) -> None:
    """Patches of wall: short walks on open land."""
    for patch in range(config.n_wall_patches):
        own = fold_in(key, patch)
        y, x = 1 + randint(own, 0, config.height - 2), 1 + randint(own, 1, config.width - 2)
        for step in range(_MIN_WALK_LENGTH + randint(own, 2, _WALK_LENGTH_RANGE)):
            if (
                is_outside_compounds(config, y, x, 2)
                and map_scratch.cell_codes[cell_index(config, y, x)] == EMPTY
            ):
                map_scratch.cell_codes[cell_index(config, y, x)] = WALL
            way = randint(own, 3 + step, 4)
            if way < 2:
                y += 2 * way - 1
            else:
                x += 2 * way - 5


@inline
def can_place_object(code: Ints, stride: int, cell: int) -> bool:
    """Whether a thing can stand here: no other thing around it, and two ways to it or more."""
    if code[cell] != EMPTY:
        return False
    ways = 0
    for dy in range(-1, 2):
        for dx in range(-1, 2):
            kind = code[cell + dy * stride + dx]
            if kind > WALL:
                return False
            if kind == EMPTY and abs(dy) + abs(dx) == 1:
                ways += 1
    return ways >= 2


@inline
def scatter_objects(
    map_scratch: MapScratch,
    config: MapConfig,
    key: int,
    kind: int,
    n_wanted: int,
    min_squared_gap: int,
) -> int:
    """Put things of a kind on open land, `min_squared_gap` (squared) or more apart; returns how many."""
    count, draw = 0, 0
    for _ in range(n_wanted):
        for _ in range(_MAX_CELL_TRIES):
            spot = randint(key, draw, (config.height - 2) * (config.width - 2))
            draw += 1
            y, x = 1 + spot // (config.width - 2), 1 + spot % (config.width - 2)
            cell = cell_index(config, y, x)
            if not is_outside_compounds(config, y, x, 2) or not can_place_object(
                map_scratch.cell_codes, config.stride, cell
            ):
                continue
            near = False
            for i in range(count):
                dy = map_scratch.work_cells[i] // config.stride - cell // config.stride
                dx = map_scratch.work_cells[i] % config.stride - cell % config.stride
                if dy * dy + dx * dx < min_squared_gap:
                    near = True
                    break
            if not near:
                map_scratch.cell_codes[cell] = kind
                map_scratch.work_cells[count] = cell
                count += 1
                break
    return count


@inline
def place_objects(map_scratch: MapScratch, config: MapConfig, key: int) -> bool:
    """Junctions, then extractors of each element; False if too few found room."""
    own = fold_in(key, 0)
    wanted = config.min_junctions + randint(own, 0, config.max_junctions - config.min_junctions + 1)
    for kind in range(5):  # the four elements come after the junctions
        what, gap, least, home = JUNCTION, config.junction_gap, config.min_junctions, 0
        if kind > 0:
            what, gap, least = EXTRACTOR + kind - 1, config.extractor_gap, config.min_extractors
            home = config.hubs.shape[0]  # one of each stands in every compound
            wanted = least + randint(own, kind, config.max_extractors - least + 1)
        placed = scatter_objects(
            map_scratch, config, fold_in(key, 1 + kind), what, wanted - home, gap
        )
        if placed + home < least:
            return False
    return True


@inline
def is_all_reachable(map_scratch: MapScratch, config: MapConfig) -> bool:
    """Whether there is a way from the first hub to all things and pads.

    Floor that cannot be reached is walled up.
    """
    code, stack = map_scratch.cell_codes, map_scratch.work_cells
    stack[0] = cell_index(config, config.hubs[0, 0], config.hubs[0, 1])
    code[stack[0]] |= _REACHED
    length = 1
    while length > 0:
        length -= 1
        cell = stack[length]
        for way in range(4):
            beside = cell + (2 * way - 1 if way < 2 else (2 * way - 5) * config.stride)
            if code[beside] != WALL and code[beside] < _REACHED:
                if code[beside] == EMPTY:  # things are reached, but are no way on
                    stack[length] = beside
                    length += 1
                code[beside] |= _REACHED
    for y in range(config.height):
        for x in range(config.width):
            cell = cell_index(config, y, x)
            if code[cell] >= _REACHED:
                code[cell] -= _REACHED
            elif code[cell] > WALL:
                return False
            else:
                code[cell] = WALL
    return True


@inline
def generate_map(map_scratch: MapScratch, config: MapConfig, key: int) -> bool:
    """Draw maps until one is good; False if none is, because too much was asked for."""
    for drawing in range(_MAX_MAP_TRIES):
        own = fold_in(key, drawing)
        draw_base_map(map_scratch, config, fold_in(own, 0))
        if drawing < _FIRST_TRY_WITHOUT_WALLS:
            draw_walls(map_scratch, config, fold_in(own, 1))
        if place_objects(map_scratch, config, fold_in(own, 2)) and is_all_reachable(
            map_scratch, config
        ):
            return True
    return False
