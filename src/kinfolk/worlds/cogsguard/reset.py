"""Start of an episode: a map, the objects on it, and the agents on their spawn pads."""

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
from kinfolk.worlds.cogsguard.map.config import MapConfig, MapScratch
from kinfolk.worlds.cogsguard.map.generator import OWNER_STRIDE, generate_map
from kinfolk.worlds.cogsguard.map.text import CLIPS_OWNER
from kinfolk.worlds.cogsguard.rules import HUB_SOURCE, JUNCTION_SOURCE, CogsguardRules
from kinfolk.worlds.cogsguard.settings import Cogsguard
from kinfolk.worlds.cogsguard.state import CogsguardState
from kinfolk.worlds.cogsguard.step.births import PopulationArrays, get_population_arrays, start_life
from kinfolk.worlds.cogsguard.territory import MapArrays, add_area, get_map_arrays, write_cell

_MAP_KEY, _PAD_KEY = 1, 2  # folded into an episode's key; `step.phases` uses 3

_MINUS_ONE_FIELDS = ("cell_detail", "uid", "parents", "parent_rows")  # 0 is a valid value of these


def clear_worlds(state: CogsguardState, worlds: Ints) -> None:
    """Reset these worlds to an empty state with counters at zero."""
    for name, array in state._asdict().items():
        if name not in ("key", "group"):
            array[worlds] = -1 if name in _MINUS_ONE_FIELDS else 0


def load_parsed_map(map_scratch: MapScratch, settings: Cogsguard, rules: CogsguardRules) -> None:
    """Copy a map given as text into the scratch map; do nothing if maps are generated.

    Args:
        map_scratch: Scratch map, written.
        settings: Settings of the world.
        rules: Rules made from them.
    """
    parsed_map = settings.parsed_map
    if parsed_map is None:
        return
    inside = (slice(rules.pad, rules.pad + rules.height), slice(rules.pad, rules.pad + rules.width))
    shape = (rules.height + 2 * rules.pad, rules.stride)
    owner = np.where(parsed_map.owner == CLIPS_OWNER, rules.teams, parsed_map.owner).astype(
        np.int64
    )
    map_scratch.cell_codes.reshape(shape)[inside] = parsed_map.kind + OWNER_STRIDE * (owner + 1)
    for team in range(rules.teams):
        for i, (y, x) in enumerate(parsed_map.spawn_pads[team]):
            map_scratch.pads[team, i] = (y + rules.pad) * rules.stride + x + rules.pad


@inline
def place_map_objects(
    map_arrays: MapArrays, store: Ints, cell_codes: Ints, rules: CogsguardRules, w: int
) -> None:
    """Copy the objects of a scratch map into a world, in reading order, and fill the stores.

    Args:
        map_arrays: Written.
        store: `[W, teams, elements and hearts]`, written.
        cell_codes: `[cells]` of the scratch map.
        rules: Rules of the batch.
        w: World.
    """
    n_junctions, next_ship = 0, rules.teams
    for cell in range(cell_codes.shape[0]):
        kind, owner = cell_codes[cell] % OWNER_STRIDE, cell_codes[cell] // OWNER_STRIDE - 1
        if kind == EMPTY:
            continue
        detail = owner
        if kind == JUNCTION:
            detail = n_junctions
            map_arrays.junction[w, detail, JUNCTION_CELL] = cell
            map_arrays.junction[w, detail, JUNCTION_OWNER] = owner
            map_arrays.junction[w, detail, JUNCTION_ALIGNED_BY] = -1
            n_junctions += 1
        elif EXTRACTOR <= kind < HUB:
            detail = rules.extractor_stock
        elif kind == HUB:
            map_arrays.home_cell[w, owner] = cell
        elif kind == SHIP:
            map_arrays.home_cell[w, next_ship] = cell
            next_ship += 1
        write_cell(map_arrays.team_view, w, cell, kind, owner, 0)
        if kind > WALL:
            map_arrays.cell_detail[w, cell] = detail
    for team in range(rules.teams):
        for item in range(store.shape[2]):
            amount = rules.store_hearts if item == STORE_HEARTS else rules.store_elements
            store[w, team, item] = min(amount, rules.store_cap)


@inline
def initialize_areas(map_arrays: MapArrays, rules: CogsguardRules, w: int) -> None:
    """Add the areas of hubs, ships and junctions that have an owner from the start.

    Ships have areas in edition A; in F they are only obstacles.

    Args:
        map_arrays: Writes areas and numbers of junctions held.
        rules: Rules of the batch.
        w: World.
    """
    n_homes = map_arrays.home_cell.shape[1]
    for i in range(n_homes + map_arrays.junction.shape[1]):
        source, owner = JUNCTION_SOURCE, min(i, rules.teams)
        if i < n_homes:
            cell = map_arrays.home_cell[w, i]
            if owner < rules.teams:
                source = HUB_SOURCE
            elif not rules.territory:
                owner = -1
        else:
            cell, owner = (
                map_arrays.junction[w, i - n_homes, JUNCTION_CELL],
                map_arrays.junction[w, i - n_homes, JUNCTION_OWNER],
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
    """Place each team's agents on spawn pads drawn at random; the order of `pads` changes.

    Args:
        population: Written.
        map_arrays: Written.
        agents: Written.
        pads: `[teams, pads]`, cells of the spawn pads, permuted.
        pad_counts: `[teams]`, number of pads.
        rules: Rules of the batch.
        w: World.
        key: Random key.
    """
    for team in range(rules.teams):
        team_key = fold_in(key, team)
        for i in range(rules.agents):
            j = i + randint(team_key, i, pad_counts[team] - i)
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
    """Start episodes in `worlds[first:last]`, which must have been cleared.

    Args:
        state: State of the batch, written.
        rules: Rules of the batch.
        config: Parameters of generated maps.
        map_scratch: Scratch map; holds the map already if it is fixed.
        pads: `[teams, pads]`, spawn pads of a fixed map.
        pad_counts: `[teams]`, number of pads.
        has_fixed_map: Whether the map was given as text.
        worlds: Indices of worlds.
        keys: `[worlds]` random keys.
        first: First entry of `worlds`.
        last: End of the range, exclusive.

    Returns:
        The first world for which no map could be generated, or -1.
    """
    map_arrays, agents, population = (
        get_map_arrays(state),
        get_agent_arrays(state),
        get_population_arrays(state),
    )
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
        place_map_objects(map_arrays, agents.store, map_scratch.cell_codes, rules, w)
        initialize_areas(map_arrays, rules, w)
        spawn_agents(
            population,
            map_arrays,
            agents,
            map_scratch.pads,
            pad_counts,
            rules,
            w,
            fold_in(key, _PAD_KEY),
        )
    return -1
