"""Random maps: compounds, patches of wall, junctions and extractors, all of them reachable.

A map is drawn on scratch arrays. If something cannot be reached from the first hub, or too few
objects found room, the next key draws another.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline
from kinfolk.core.random import fold_in, randint
from kinfolk.worlds.cogsguard import codes, maps
from kinfolk.worlds.cogsguard.rules import CogsguardRules
from kinfolk.worlds.cogsguard.settings import Cogsguard
from kinfolk.worlds.cogsguard.state import count_cells
from kinfolk.worlds.cogsguard.territory import squared_distance

_MAX_CELL_TRIES = 80  # cells tried for an object
_MAX_MAP_TRIES = 64  # maps drawn before giving up
_FIRST_TRY_WITHOUT_WALLS = 48  # wall patches can make objects unreachable, so later tries have none
_MIN_WALK_LENGTH, _WALK_LENGTH_RANGE = 3, 7  # cells of a wall patch
OWNER_STRIDE = 16  # a cell's code is `kind + OWNER_STRIDE * (owner + 1)`
_REACHED = 1 << 12  # added to the codes of reached cells


class MapScratch(NamedTuple):
    """Arrays on which a map is drawn; each thread has its own."""

    cell_codes: Ints  # [cells] `kind + OWNER_STRIDE * (owner + 1)`
    pads: Ints  # [teams, pads] cells of the spawn pads, permuted when agents are placed
    work_cells: Ints  # [cells] scratch


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
    compound: Ints  # [objects, 3] row and column from the hub, and kind
    n_wall_patches: int
    min_junctions: int
    max_junctions: int
    min_extractors: int
    max_extractors: int
    junction_gap: int  # least squared distance between two
    extractor_gap: int  # least squared distance between two of the same element
    has_ships: bool


def make_map_config(settings: Cogsguard, rules: CogsguardRules) -> MapConfig:
    """Convert the settings of maps into the parameters that kernels read."""
    height, width = settings.map_shape
    hubs = maps.place_hubs(settings.teams, height, width)
    if settings.parsed_map is None:
        pads = [(hub + maps.make_spawn_pads()).tolist() for hub in hubs]
    else:
        pads = [list(team_pads) for team_pads in settings.parsed_map.spawn_pads[: settings.teams]]
    cells = np.zeros((settings.teams, max(map(len, pads))), dtype=np.int64)
    for team, team_pads in enumerate(pads):
        y, x = np.transpose(team_pads) + rules.pad
        cells[team, : len(team_pads)] = y * rules.stride + x
    return MapConfig(
        height=height,
        width=width,
        pad=rules.pad,
        stride=rules.stride,
        is_fixed=settings.parsed_map is not None,
        pads=cells,
        n_pads=np.array([len(team_pads) for team_pads in pads], dtype=np.int64),
        hubs=hubs,
        compound=maps.make_compound(has_chest=settings.edition == "F"),
        n_wall_patches=settings.wall_patches * height * width // 1000,
        min_junctions=settings.junctions[0],
        max_junctions=settings.junctions[1],
        min_extractors=settings.extractors[0],
        max_extractors=settings.extractors[1],
        junction_gap=settings.junction_gap**2,
        extractor_gap=settings.extractor_gap**2,
        has_ships=settings.edition == "A" and settings.clips != "off",
    )


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
    return MapScratch(cell_codes, config.pads.copy(), np.zeros_like(cell_codes))


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
def draw_base_map(map_scratch: MapScratch, config: MapConfig, key: int) -> None:
    """Draw floor within a wall, the compounds, and ships in the corners.

    Args:
        map_scratch: Written.
        config: Parameters of maps.
        key: Random key of the order of extractors in compounds.
    """
    code, teams = map_scratch.cell_codes, config.hubs.shape[0]
    for cell in range(code.shape[0]):
        code[cell] = codes.WALL
    for y in range(1, config.height - 1):
        for x in range(1, config.width - 1):
            code[cell_index(config, y, x)] = codes.EMPTY
    for team in range(teams):
        hub = cell_index(config, config.hubs[team, 0], config.hubs[team, 1])
        rotation = randint(key, team, 4)
        for i in range(config.compound.shape[0]):
            cell = hub + config.compound[i, 0] * config.stride + config.compound[i, 1]
            kind = config.compound[i, 2]
            if codes.EXTRACTOR <= kind < codes.HUB:
                code[cell] = codes.EXTRACTOR + (kind - codes.EXTRACTOR + rotation) % 4
            else:
                code[cell] = kind if kind == codes.WALL else kind + OWNER_STRIDE * (team + 1)
    if config.has_ships:
        for corner in range(4):
            y = 2 if corner < 2 else config.height - 3
            x = 2 if corner % 2 == 0 else config.width - 3
            code[cell_index(config, y, x)] = codes.SHIP + OWNER_STRIDE * (teams + 1)


@inline
def is_outside_compounds(config: MapConfig, y: int, x: int, margin: int) -> bool:
    """Return whether a cell is inside the map and at least `margin` cells from every compound.

    Args:
        config: Parameters of maps.
        y: Line of the map.
        x: Column of the map.
        margin: Least distance in cells.
    """
    if not (0 < y < config.height - 1 and 0 < x < config.width - 1):
        return False
    for team in range(config.hubs.shape[0]):
        distance = max(abs(y - config.hubs[team, 0]), abs(x - config.hubs[team, 1]))
        if distance < maps.COMPOUND_RADIUS + margin:
            return False
    return True


@inline
def draw_walls(map_scratch: MapScratch, config: MapConfig, key: int) -> None:
    """Draw patches of wall: short random walks outside compounds.

    Args:
        map_scratch: Written.
        config: Parameters of maps.
        key: Random key.
    """
    code = map_scratch.cell_codes
    for patch in range(config.n_wall_patches):
        patch_key = fold_in(key, patch)
        y = 1 + randint(patch_key, 0, config.height - 2)
        x = 1 + randint(patch_key, 1, config.width - 2)
        for step in range(_MIN_WALK_LENGTH + randint(patch_key, 2, _WALK_LENGTH_RANGE)):
            cell = cell_index(config, y, x)
            if is_outside_compounds(config, y, x, 2) and code[cell] == codes.EMPTY:
                code[cell] = codes.WALL
            direction = randint(patch_key, 3 + step, 4)
            if direction < 2:
                y += 2 * direction - 1
            else:
                x += 2 * direction - 5


@inline
def can_place_object(code: Ints, stride: int, cell: int) -> bool:
    """Return whether an object can be placed on a cell: no object beside it, two free ways to it.

    Args:
        code: `[cells]` of the scratch map.
        stride: Cells per line.
        cell: Cell to check.
    """
    if code[cell] != codes.EMPTY:
        return False
    n_ways = 0
    for dy in range(-1, 2):
        for dx in range(-1, 2):
            kind = code[cell + dy * stride + dx]
            if kind > codes.WALL:
                return False
            if kind == codes.EMPTY and abs(dy) + abs(dx) == 1:
                n_ways += 1
    return n_ways >= 2


@inline
def scatter_objects(
    map_scratch: MapScratch, config: MapConfig, key: int, kind: int, n_wanted: int, min_gap: int
) -> int:
    """Place objects of one kind on random cells outside compounds.

    Args:
        map_scratch: Writes `cell_codes`; `work_cells` is scratch.
        config: Parameters of maps.
        key: Random key.
        kind: Index into `KINDS`.
        n_wanted: How many to place.
        min_gap: Least squared distance between two of them.

    Returns:
        Number of objects that found room.
    """
    code, placed, n_placed, n_draws = map_scratch.cell_codes, map_scratch.work_cells, 0, 0
    stride, inner_width = config.stride, config.width - 2
    for _ in range(n_wanted):
        for _ in range(_MAX_CELL_TRIES):
            position = randint(key, n_draws, (config.height - 2) * inner_width)
            n_draws += 1
            y, x = 1 + position // inner_width, 1 + position % inner_width
            cell = cell_index(config, y, x)
            fits = is_outside_compounds(config, y, x, 2) and can_place_object(code, stride, cell)
            for i in range(n_placed):
                if not fits:
                    break
                fits = squared_distance(stride, placed[i], cell) >= min_gap
            if fits:
                code[cell] = kind
                placed[n_placed] = cell
                n_placed += 1
                break
    return n_placed


@inline
def place_objects(map_scratch: MapScratch, config: MapConfig, key: int) -> bool:
    """Place junctions, then extractors of each element.

    Args:
        map_scratch: Written.
        config: Parameters of maps.
        key: Random key.

    Returns:
        Whether enough objects found room.
    """
    count_key = fold_in(key, 0)
    for i in range(5):  # junctions, then extractors of the four elements
        kind, gap, n_in_compounds = codes.JUNCTION, config.junction_gap, 0
        least, most = config.min_junctions, config.max_junctions
        if i > 0:
            kind, gap = codes.EXTRACTOR + i - 1, config.extractor_gap
            least, most = config.min_extractors, config.max_extractors
            n_in_compounds = config.hubs.shape[0]  # one of each stands in every compound
        n_wanted = least + randint(count_key, i, most - least + 1) - n_in_compounds
        n_placed = scatter_objects(map_scratch, config, fold_in(key, 1 + i), kind, n_wanted, gap)
        if n_placed + n_in_compounds < least:
            return False
    return True


@inline
def is_all_reachable(map_scratch: MapScratch, config: MapConfig) -> bool:
    """Return whether all objects and pads can be reached from the first hub.

    As a side effect, floor that cannot be reached becomes wall.
    """
    code, stack = map_scratch.cell_codes, map_scratch.work_cells
    stack[0] = cell_index(config, config.hubs[0, 0], config.hubs[0, 1])
    code[stack[0]] |= _REACHED
    length = 1
    while length > 0:
        length -= 1
        cell = stack[length]
        for direction in range(4):
            offset = 2 * direction - 1 if direction < 2 else (2 * direction - 5) * config.stride
            neighbor = cell + offset
            if code[neighbor] != codes.WALL and code[neighbor] < _REACHED:
                if code[neighbor] == codes.EMPTY:  # things are reached, but are no way on
                    stack[length] = neighbor
                    length += 1
                code[neighbor] |= _REACHED
    for y in range(config.height):
        for x in range(config.width):
            cell = cell_index(config, y, x)
            if code[cell] >= _REACHED:
                code[cell] -= _REACHED
            elif code[cell] > codes.WALL:
                return False
            else:
                code[cell] = codes.WALL
    return True


@inline
def generate_map(map_scratch: MapScratch, config: MapConfig, key: int) -> bool:
    """Draw maps until one is valid.

    Args:
        map_scratch: Written.
        config: Parameters of maps.
        key: Random key.

    Returns:
        Whether a valid map was drawn; False if the settings require more than fits.
    """
    for attempt in range(_MAX_MAP_TRIES):
        attempt_key = fold_in(key, attempt)
        draw_base_map(map_scratch, config, fold_in(attempt_key, 0))
        if attempt < _FIRST_TRY_WITHOUT_WALLS:
            draw_walls(map_scratch, config, fold_in(attempt_key, 1))
        is_placed = place_objects(map_scratch, config, fold_in(attempt_key, 2))
        if is_placed and is_all_reachable(map_scratch, config):
            return True
    return False
