"""Positions of compounds on a map, and of objects in a compound."""

from __future__ import annotations

import numpy as np

from kinfolk.core.arrays import Ints
from kinfolk.worlds.cogsguard.codes import CHEST, EXTRACTOR, HUB, STATION, WALL

PAD_SYMBOLS = "@%$~"  # symbol of each team's spawn pads in maps as text
COMPOUND_RADIUS = 7  # cells from a hub to the wall of its compound
_GATE_RADIUS = 1  # cells to each side of the middle of a wall
_MIN_EDGE_DISTANCE = COMPOUND_RADIUS + 2  # from a hub to the edge of the map, at least
EXTRACTOR_CORNERS = ((-5, -5), (-5, 5), (5, -5), (5, 5))
_STATION_ROW = 4  # south of the hub: stations and chest
N_SPAWN_PADS = 24  # spawn pads of a compound


def count_compounds_that_fit(height: int, width: int) -> int:
    """Return how many compounds fit a map: one in the middle, two side by side, or four in quarters."""
    if min(height, width) >= 4 * _MIN_EDGE_DISTANCE:
        return 4
    if width >= 4 * _MIN_EDGE_DISTANCE and height >= 2 * _MIN_EDGE_DISTANCE + 1:
        return 2
    return 1 if min(height, width) >= 2 * _MIN_EDGE_DISTANCE + 1 else 0


def place_hubs(n_teams: int, height: int, width: int) -> Ints:
    """Return `[teams, 2]`: row and column of each hub.

    Args:
        n_teams: Number of hubs.
        height: Lines of the map.
        width: Columns of the map.
    """
    if n_teams == 1:
        hubs = [(height // 2, width // 2)]
    elif n_teams == 2:
        hubs = [(height // 2, width // 4), (height // 2, width - 1 - width // 4)]
    else:
        columns = (width // 4, width - 1 - width // 4)
        hubs = [(y, x) for y in (height // 4, height - 1 - height // 4) for x in columns]
    return np.array(hubs[:n_teams], dtype=np.int64)


def make_compound(has_chest: bool) -> Ints:
    """Return `[objects, 3]`: row and column from the hub, and kind; extractors of the corners are last.

    Their elements are carbon to silicon here; each map rotates them at random.
    """
    objects = [(0, 0, HUB)]
    for i in range(-COMPOUND_RADIUS, COMPOUND_RADIUS + 1):
        if abs(i) > _GATE_RADIUS:
            objects += [(-COMPOUND_RADIUS, i, WALL), (COMPOUND_RADIUS, i, WALL)]
            if abs(i) < COMPOUND_RADIUS:
                objects += [(i, -COMPOUND_RADIUS, WALL), (i, COMPOUND_RADIUS, WALL)]
    objects += [(_STATION_ROW, x, STATION + i) for i, x in enumerate((-4, -2, 2, 4))]
    if has_chest:
        objects.append((_STATION_ROW, 0, CHEST))
    objects += [(y, x, EXTRACTOR + i) for i, (y, x) in enumerate(EXTRACTOR_CORNERS)]
    return np.array(objects, dtype=np.int64)


def make_spawn_pads() -> Ints:
    """Return `[N_SPAWN_PADS, 2]`: row and column from the hub, a ring two cells away and eight beyond."""
    ring = [(y, x) for y in range(-2, 3) for x in range(-2, 3) if max(abs(y), abs(x)) == 2]
    beyond = [(y, x) for y in (-3, 0, 3) for x in (-3, 0, 3) if (y, x) != (0, 0)]
    return np.array(ring + beyond, dtype=np.int64)
