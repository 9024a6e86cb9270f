"""Random maps: compounds, patches of wall, junctions and extractors, all of them reachable.

A map is drawn on scratch arrays. If something cannot be reached from the first hub, or too few
objects found room, the next key draws another.
"""

from __future__ import annotations

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline
from kinfolk.core.random import fold_in, randint
from kinfolk.worlds.cogsguard.codes import EMPTY, EXTRACTOR, HUB, JUNCTION, SHIP, WALL
from kinfolk.worlds.cogsguard.map.config import MapConfig, MapScratch, cell_index
from kinfolk.worlds.cogsguard.map.layout import COMPOUND_RADIUS

_MAX_CELL_TRIES = 80  # cells tried for an object
_MAX_MAP_TRIES = 64  # maps drawn before giving up
_FIRST_TRY_WITHOUT_WALLS = 48  # wall patches can make objects unreachable, so later tries have none
_MIN_WALK_LENGTH, _WALK_LENGTH_RANGE = 3, 7  # cells of a wall patch
OWNER_STRIDE = 16  # a cell's code is `kind + OWNER_STRIDE * (owner + 1)`
_REACHED = 1 << 12  # added to the codes of reached cells


@inline
def draw_base_map(map_scratch: MapScratch, config: MapConfig, key: int) -> None:
    """Draw floor within a wall, the compounds with their pads, and ships in the corners.

    Args:
        map_scratch: Written.
        config: Parameters of maps.
        key: Random key of the order of extractors in compounds.
    """
    code, teams = map_scratch.cell_codes, config.hubs.shape[0]
    for cell in range(code.shape[0]):
        code[cell] = WALL
    for y in range(1, config.height - 1):
        for x in range(1, config.width - 1):
            code[cell_index(config, y, x)] = EMPTY
    for team in range(teams):
        hub = cell_index(config, config.hubs[team, 0], config.hubs[team, 1])
        rotation = randint(key, team, 4)
        for i in range(config.compound.shape[0]):
            cell, kind = (
                hub + config.compound[i, 0] * config.stride + config.compound[i, 1],
                config.compound[i, 2],
            )
            if EXTRACTOR <= kind < HUB:
                code[cell] = EXTRACTOR + (kind - EXTRACTOR + rotation) % 4
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
        if (
            max(abs(y - config.hubs[team, 0]), abs(x - config.hubs[team, 1]))
            < COMPOUND_RADIUS + margin
        ):
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
    for patch in range(config.n_wall_patches):
        patch_key = fold_in(key, patch)
        y, x = (
            1 + randint(patch_key, 0, config.height - 2),
            1 + randint(patch_key, 1, config.width - 2),
        )
        for step in range(_MIN_WALK_LENGTH + randint(patch_key, 2, _WALK_LENGTH_RANGE)):
            if (
                is_outside_compounds(config, y, x, 2)
                and map_scratch.cell_codes[cell_index(config, y, x)] == EMPTY
            ):
                map_scratch.cell_codes[cell_index(config, y, x)] = WALL
            direction = randint(patch_key, 3 + step, 4)
            if direction < 2:
                y += 2 * direction - 1
            else:
                x += 2 * direction - 5


@inline
def can_place_object(code: Ints, stride: int, cell: int) -> bool:
    """Return whether an object can be on a cell: no other beside it, and at least two ways to it.

    Args:
        code: `[cells]` of the scratch map.
        stride: Cells per line.
        cell: Cell to check.
    """
    if code[cell] != EMPTY:
        return False
    n_ways = 0
    for dy in range(-1, 2):
        for dx in range(-1, 2):
            kind = code[cell + dy * stride + dx]
            if kind > WALL:
                return False
            if kind == EMPTY and abs(dy) + abs(dx) == 1:
                n_ways += 1
    return n_ways >= 2


@inline
def scatter_objects(
    map_scratch: MapScratch,
    config: MapConfig,
    key: int,
    kind: int,
    n_wanted: int,
    min_squared_gap: int,
) -> int:
    """Place objects of one kind on random cells outside compounds.

    Args:
        map_scratch: Writes `cell_codes`; `work_cells` is scratch.
        config: Parameters of maps.
        key: Random key.
        kind: Index into `KINDS`.
        n_wanted: How many to place.
        min_squared_gap: Least squared distance between two of them.

    Returns:
        How many found room.
    """
    n_placed, n_draws = 0, 0
    for _ in range(n_wanted):
        for _ in range(_MAX_CELL_TRIES):
            position = randint(key, n_draws, (config.height - 2) * (config.width - 2))
            n_draws += 1
            y, x = 1 + position // (config.width - 2), 1 + position % (config.width - 2)
            cell = cell_index(config, y, x)
            if not is_outside_compounds(config, y, x, 2) or not can_place_object(
                map_scratch.cell_codes, config.stride, cell
            ):
                continue
            too_near = False
            for i in range(n_placed):
                dy = map_scratch.work_cells[i] // config.stride - cell // config.stride
                dx = map_scratch.work_cells[i] % config.stride - cell % config.stride
                if dy * dy + dx * dx < min_squared_gap:
                    too_near = True
                    break
            if not too_near:
                map_scratch.cell_codes[cell] = kind
                map_scratch.work_cells[n_placed] = cell
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
        False if too few found room.
    """
    count_key = fold_in(key, 0)
    n_wanted = config.min_junctions + randint(
        count_key, 0, config.max_junctions - config.min_junctions + 1
    )
    for kind in range(5):  # the four elements come after the junctions
        object_kind, min_gap, min_count, n_in_compounds = (
            JUNCTION,
            config.junction_gap,
            config.min_junctions,
            0,
        )
        if kind > 0:
            object_kind, min_gap, min_count = (
                EXTRACTOR + kind - 1,
                config.extractor_gap,
                config.min_extractors,
            )
            n_in_compounds = config.hubs.shape[0]  # one of each stands in every compound
            n_wanted = min_count + randint(count_key, kind, config.max_extractors - min_count + 1)
        n_placed = scatter_objects(
            map_scratch,
            config,
            fold_in(key, 1 + kind),
            object_kind,
            n_wanted - n_in_compounds,
            min_gap,
        )
        if n_placed + n_in_compounds < min_count:
            return False
    return True


@inline
def is_all_reachable(map_scratch: MapScratch, config: MapConfig) -> bool:
    """Return whether all objects and pads can be reached from the first hub.

    Floor that cannot be reached becomes wall.
    """
    code, stack = map_scratch.cell_codes, map_scratch.work_cells
    stack[0] = cell_index(config, config.hubs[0, 0], config.hubs[0, 1])
    code[stack[0]] |= _REACHED
    length = 1
    while length > 0:
        length -= 1
        cell = stack[length]
        for direction in range(4):
            neighbor = cell + (
                2 * direction - 1 if direction < 2 else (2 * direction - 5) * config.stride
            )
            if code[neighbor] != WALL and code[neighbor] < _REACHED:
                if code[neighbor] == EMPTY:  # things are reached, but are no way on
                    stack[length] = neighbor
                    length += 1
                code[neighbor] |= _REACHED
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
    """Draw maps until one is valid.

    Args:
        map_scratch: Written.
        config: Parameters of maps.
        key: Random key.

    Returns:
        False if none was, because the settings require too much.
    """
    for attempt in range(_MAX_MAP_TRIES):
        attempt_key = fold_in(key, attempt)
        draw_base_map(map_scratch, config, fold_in(attempt_key, 0))
        if attempt < _FIRST_TRY_WITHOUT_WALLS:
            draw_walls(map_scratch, config, fold_in(attempt_key, 1))
        if place_objects(map_scratch, config, fold_in(attempt_key, 2)) and is_all_reachable(
            map_scratch, config
        ):
            return True
    return False
