"""How an episode begins: a map, what stands on it, and the agents on their pads."""

from __future__ import annotations

import numpy as np

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import allocation_free_kernel, inline
from kinfolk.core.random import fold_in, randint
from kinfolk.worlds.cogsguard.codes import (
    EMPTY,
    EXTRACTOR,
    HUB,
    JUNCTION,
    JUNCTION_ALIGNED_BY,
    JUNCTION_CELL,
    JUNCTION_OWNER,
    JUNCTIONS_HELD,
    SHIP,
    STORE_HEARTS,
    WALL,
)
from kinfolk.worlds.cogsguard.inventory import AgentArrays, get_agent_arrays
from kinfolk.worlds.cogsguard.map.generator import OWNER_STRIDE, MapConfig, MapScratch, generate_map
from kinfolk.worlds.cogsguard.map.text import CLIPS_OWNER
from kinfolk.worlds.cogsguard.rules import HUB_SOURCE, JUNCTION_SOURCE, CogsguardRules
from kinfolk.worlds.cogsguard.settings import Cogsguard
from kinfolk.worlds.cogsguard.state import CogsguardState
from kinfolk.worlds.cogsguard.step.births import PopulationArrays, get_population_arrays, start_life
from kinfolk.worlds.cogsguard.territory import MapArrays, add_area, get_map_arrays, write_cell

_MAP_KEY, _PAD_KEY = 1, 2  # of an episode's key; `episode` has the third

_MINUS_ONE_FIELDS = (
    "cell_detail",
    "uid",
    "parents",
    "parent_rows",
)  # where 0 would stand for somebody


def clear_worlds(state: CogsguardState, worlds: Ints) -> None:
    """Empty these worlds: nobody lives, nothing is held, nothing is counted."""
    for name, array in state._asdict().items():
        if name not in ("key", "group"):
            array[worlds] = -1 if name in _MINUS_ONE_FIELDS else 0


def load_parsed_map(map_scratch: MapScratch, settings: Cogsguard, rules: CogsguardRules) -> None:
    """Put the map that was drawn as text on a sheet."""
    drawing = settings.parsed_map
    if drawing is None:
        return
    inside = (slice(rules.pad, rules.pad + rules.height), slice(rules.pad, rules.pad + rules.width))
    shape = (rules.height + 2 * rules.pad, rules.stride)
    owner = np.where(drawing.owner == CLIPS_OWNER, rules.teams, drawing.owner).astype(np.int64)
    map_scratch.cell_codes.reshape(shape)[inside] = drawing.kind + OWNER_STRIDE * (owner + 1)
    for team in range(rules.teams):
        for i, (y, x) in enumerate(drawing.spawn_pads[team]):
            map_scratch.pads[team, i] = (y + rules.pad) * rules.stride + x + rules.pad


@inline
def place_map_objects(
    map_arrays: MapArrays, store: Ints, cell_codes: Ints, rules: CogsguardRules, w: int
) -> None:
    """Put what is on the sheet into the world, in reading order."""
    junctions, ships = 0, rules.teams
    for cell in range(cell_codes.shape[0]):
        kind, owner = cell_codes[cell] % OWNER_STRIDE, cell_codes[cell] // OWNER_STRIDE - 1
        if kind == EMPTY:
            continue
        number = owner
        if kind == JUNCTION:
            number = junctions
            map_arrays.junction[w, number, JUNCTION_CELL] = cell
            map_arrays.junction[w, number, JUNCTION_OWNER] = owner
            map_arrays.junction[w, number, JUNCTION_ALIGNED_BY] = -1
            junctions += 1
        elif EXTRACTOR <= kind < HUB:
            number = rules.extractor_stock
        elif kind == HUB:
            map_arrays.home_cell[w, owner] = cell
        elif kind == SHIP:
            map_arrays.home_cell[w, ships] = cell
            ships += 1
        write_cell(map_arrays.team_view, w, cell, kind, owner, 0)
        if kind > WALL:
            map_arrays.cell_detail[w, cell] = number
    for team in range(rules.teams):
        for item in range(store.shape[2]):
            start = rules.store_hearts if item == STORE_HEARTS else rules.store_elements
            store[w, team, item] = min(start, rules.store_cap)


@inline
def initialize_areas(map_arrays: MapArrays, rules: CogsguardRules, w: int) -> None:
    """The areas of hubs, ships and junctions that belong to somebody from the start.

    Ships have areas in edition A; in F they are only in the way.
    """
    homes = map_arrays.home_cell.shape[1]
    for i in range(homes + map_arrays.junction.shape[1]):
        source, owner = JUNCTION_SOURCE, min(i, rules.teams)
        if i < homes:
            cell = map_arrays.home_cell[w, i]
            if owner < rules.teams:
                source = HUB_SOURCE
            elif not rules.territory:
                owner = -1
        else:
            cell, owner = (
                map_arrays.junction[w, i - homes, JUNCTION_CELL],
                map_arrays.junction[w, i - homes, JUNCTION_OWNER],
            )
            if cell > 0 and owner >= 0:
                map_arrays.teams[w, owner, JUNCTIONS_HELD] += 1
        if cell > 0 and owner >= 0:
            add_area(map_arrays, rules, w, owner, cell, source, 1)


@inline
def spawn_agents(
    population: PopulationArrays,
    map_arrays: MapArrays,
    agents: AgentArrays,
    pads: Ints,
    pad_counts: Ints,
    rules: CogsguardRules,
    w: int,
    key: int,
) -> None:
    """Each team's agents on pads drawn from all it has; the order of `pads` changes."""
    for team in range(rules.teams):
        own = fold_in(key, team)
        for i in range(rules.agents):
            j = i + randint(own, i, pad_counts[team] - i)
            cell = pads[team, j]
            pads[team, j] = pads[team, i]
            pads[team, i] = cell
            start_life(
                population, map_arrays, agents, rules, w, team * rules.rows_per_team + i, team, cell
            )


@allocation_free_kernel
def reset_worlds(
    state: CogsguardState,
    rules: CogsguardRules,
    config: MapConfig,
    map_scratch: MapScratch,
    pads: Ints,
    pad_counts: Ints,
    has_fixed_map: bool,
    worlds: Ints,
    keys: Ints,
    first: int,
    last: int,
) -> int:
    """Begin episodes in `worlds[first:last]`, which were cleared; the first bad world, or -1.

    With `has_fixed_map` the sheet holds the map already, and `pads` its pads. A world is bad if chance
    found no map for it.
    """
    land, folk, lives = get_map_arrays(state), get_agent_arrays(state), get_population_arrays(state)
    for i in range(first, last):
        w, key = worlds[i], keys[i]
        state.key[w] = key
        if not has_fixed_map:
            if not generate_map(map_scratch, config, fold_in(key, _MAP_KEY)):
                return int(w)
        else:
            for team in range(rules.teams):
                for j in range(pads.shape[1]):
                    map_scratch.pads[team, j] = pads[team, j]
        place_map_objects(land, folk.store, map_scratch.cell_codes, rules, w)
        initialize_areas(land, rules, w)
        spawn_agents(
            lives, land, folk, map_scratch.pads, pad_counts, rules, w, fold_in(key, _PAD_KEY)
        )
    return -1
