"""Random maps, drawn after the description of how the original draws its own.

A map is drawn on scratch arrays: terrain, zones and rim, then objects, then compounds over all of
it; floor that is cut off is joined at last. If an object cannot be reached all the same, the next
key draws another map.
"""

from __future__ import annotations

from kinfolk.core.jit import inline
from kinfolk.core.random import fold_in
from kinfolk.worlds.cogsguard import codes
from kinfolk.worlds.cogsguard.mapgen import joining, objects, terrain, zones
from kinfolk.worlds.cogsguard.mapgen.config import OWNER_STRIDE, MapConfig, MapScratch, cell_index

_MAX_MAP_TRIES = 64  # maps drawn before giving up


@inline
def draw_map(scratch: MapScratch, config: MapConfig, key: int) -> None:
    """Draw one map on the scratch arrays, whether all of it can be reached or not.

    Args:
        scratch: Written.
        config: Parameters of maps.
        key: Random key.
    """
    code, cells = scratch.cell_codes, scratch.cell_codes.shape[0]
    terrain.clear_map(code, config)
    if config.has_terrain:
        terrain.draw_base(code, config, fold_in(key, 0))
        zones.draw_zones(scratch, config, fold_in(key, 1))
    if config.has_rim:
        terrain.draw_rim(code, config, fold_in(key, 2))
    objects.scatter_objects(scratch, config, fold_in(key, 3))
    objects.draw_compounds(code, config)
    joining.join_floor(scratch, config)
    if config.has_ships:
        objects.place_ships(code, config)
    if config.feeds_homes:
        joining.find_reached(scratch, config)
        reached = scratch.work_cells[1, cells:]
        for y in range(config.height):
            for x in range(config.width):
                cell = cell_index(config, y, x)
                kind = code[cell] % OWNER_STRIDE
                if kind in (codes.HUB, codes.SHIP):
                    objects.feed_home(code, reached, config, cell)


@inline
def generate_map(scratch: MapScratch, config: MapConfig, key: int) -> bool:
    """Draw maps until one is valid.

    Args:
        scratch: Written.
        config: Parameters of maps.
        key: Random key.

    Returns:
        Whether a valid map was drawn; False if the settings require more than fits.
    """
    for attempt in range(_MAX_MAP_TRIES):
        draw_map(scratch, config, fold_in(key, attempt))
        if joining.is_all_reached(scratch, config) or config.may_be_unreachable:
            return True
    return False
