"""Parameters of generated maps, and the arrays on which they are drawn."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline
from kinfolk.worlds.cogsguard.codes import WALL
from kinfolk.worlds.cogsguard.map.layout import (
    N_SPAWN_PADS,
    make_compound,
    make_spawn_pads,
    place_hubs,
)
from kinfolk.worlds.cogsguard.rules import CogsguardRules
from kinfolk.worlds.cogsguard.settings import Cogsguard
from kinfolk.worlds.cogsguard.state import compute_map_sizes


class MapScratch(NamedTuple):
    """Arrays on which a map is drawn; each thread has its own."""

    cell_codes: Ints  # [cells]
    pads: Ints  # [teams, pads] cells of the spawn pads
    work_cells: Ints  # [cells] scratch


class MapConfig(NamedTuple):
    """Parameters of generated maps; cells are numbered as in `CogsguardRules`."""

    height: int
    width: int
    pad: int
    stride: int
    hubs: Ints  # [teams, 2] row and column
    compound: Ints  # [objects, 3] row and column from the hub, and kind
    pads: Ints  # [pads, 2] row and column from the hub
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
    """Allocate the arrays on which a thread draws maps."""
    cells, parsed_map = compute_map_sizes(settings, rules).n_cells, settings.parsed_map
    n_pads = (
        N_SPAWN_PADS if parsed_map is None else max(len(pads) for pads in parsed_map.spawn_pads)
    )
    return MapScratch(
        cell_codes=np.full(cells, WALL, dtype=np.int64),
        pads=np.zeros((rules.teams, n_pads), dtype=np.int64),
        work_cells=np.zeros(cells, dtype=np.int64),
    )


@inline
def cell_index(config: MapConfig, y: int, x: int) -> int:
    """Return the index of a cell of the map in the padded numbering.

    Args:
        config: Parameters of maps.
        y: Line of the map.
        x: Column of the map.
    """
    return (y + config.pad) * config.stride + x + config.pad
