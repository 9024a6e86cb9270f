"""Start of an episode: a map, the objects on it, and the agents on their spawn pads."""

from __future__ import annotations

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import allocation_free_kernel, inline, inline_always
from kinfolk.core.random import fold_in, randint
from kinfolk.worlds.cogsguard import codes
from kinfolk.worlds.cogsguard.inventory import book_store
from kinfolk.worlds.cogsguard.mapgen.config import OWNER_STRIDE, MapConfig, MapScratch
from kinfolk.worlds.cogsguard.mapgen.generator import generate_map
from kinfolk.worlds.cogsguard.rules import HUB_SOURCE, JUNCTION_SOURCE, CogsguardRules
from kinfolk.worlds.cogsguard.state import CogsguardState, GameArrays, get_game_arrays
from kinfolk.worlds.cogsguard.step.births import start_life
from kinfolk.worlds.cogsguard.step.hearts import book_hearts
from kinfolk.worlds.cogsguard.step.networks import link_network
from kinfolk.worlds.cogsguard.territory import add_area, write_cell

_MAP_KEY, _PAD_KEY = 1, 2  # folded into an episode's key; `step.phases` uses 3

_MINUS_ONE_FIELDS = ("cell_detail", "uid", "parents", "parent_rows")  # 0 is a valid value of these


def clear_worlds(state: CogsguardState, worlds: Ints) -> None:
    """Reset these worlds to an empty state with counters at zero."""
    for name, array in state._asdict().items():
        if name not in ("key", "group"):
            array[worlds] = -1 if name in _MINUS_ONE_FIELDS else 0


@inline
def place_map_objects(game: GameArrays, cell_codes: Ints, rules: CogsguardRules, w: int) -> None:
    """Copy the objects of a scratch map into a world, in reading order, and fill the stores.

    Args:
        game: Written.
        cell_codes: `[cells]` of the scratch map.
        rules: Rules of the batch.
        w: World.
    """
    n_junctions, next_ship = 0, rules.teams
    for cell in range(cell_codes.shape[0]):
        kind, owner = cell_codes[cell] % OWNER_STRIDE, cell_codes[cell] // OWNER_STRIDE - 1
        if kind == codes.EMPTY:
            continue
        detail = owner
        if kind == codes.JUNCTION:
            detail = n_junctions
            game.junction[w, detail, codes.JUNCTION_CELL] = cell
            game.junction[w, detail, codes.JUNCTION_OWNER] = owner
            game.junction[w, detail, codes.JUNCTION_ALIGNED_BY] = -1
            game.junction[w, detail, codes.JUNCTION_SECOND_OWNER] = -1
            if owner == rules.teams:
                game.junction[w, detail, codes.JUNCTION_CLIPS_MARKS] = codes.ALL_CLIPS_MARKS
            n_junctions += 1
        elif codes.EXTRACTOR <= kind < codes.HUB:
            detail = rules.extractor_stock
        elif kind == codes.HUB:
            game.home_cell[w, owner] = cell
        elif kind == codes.SHIP:
            game.home_cell[w, next_ship] = cell
            next_ship += 1
        write_cell(game.team_view, w, cell, kind, owner, 0)
        if kind > codes.WALL:
            game.cell_detail[w, cell] = detail
    for team in range(rules.teams):
        fill_store(game, rules, w, team)


@inline
def fill_store(game: GameArrays, rules: CogsguardRules, w: int, team: int) -> None:
    """Fill a team's store as a game begins.

    Args:
        game: Writes `store` and `team_ledger`.
        rules: Rules of the batch.
        w: World.
        team: Team of the store.
    """
    for element in range(4):
        game.store[w, team, element] = rules.store_elements
        book_store(game.team_ledger, w, team, codes.STORE_START + element, rules.store_elements)
    game.store[w, team, codes.STORE_HEARTS] = rules.store_hearts
    book_hearts(
        game.team_ledger, w, team, codes.STORE_HEARTS, codes.HEARTS_START, rules.store_hearts
    )
    game.store[w, team, codes.CHEST_HEARTS] = rules.chest_hearts
    book_hearts(
        game.team_ledger, w, team, codes.CHEST_HEARTS, codes.HEARTS_START, rules.chest_hearts
    )


@inline
def initialize_areas(game: GameArrays, rules: CogsguardRules, w: int) -> None:
    """Add the areas of hubs, ships and junctions that have an owner from the start, and link networks.

    Ships have areas in edition A; in F they are only obstacles.

    Args:
        game: Writes areas and numbers of junctions held.
        rules: Rules of the batch.
        w: World.
    """
    n_homes = game.home_cell.shape[1]
    for i in range(n_homes + game.junction.shape[1]):
        source, owner = JUNCTION_SOURCE, min(i, rules.teams)
        if i < n_homes:
            cell = game.home_cell[w, i]
            if owner < rules.teams:
                source = HUB_SOURCE
            elif not rules.territory:
                owner = -1
        else:
            cell = game.junction[w, i - n_homes, codes.JUNCTION_CELL]
            owner = game.junction[w, i - n_homes, codes.JUNCTION_OWNER]
            if cell > 0 and owner >= 0 and (not rules.territory or owner == rules.teams):
                game.teams[w, owner, codes.JUNCTIONS_HELD] += 1
        if cell > 0 and owner >= 0:
            add_area(game, rules, w, owner, cell, source, 1)
    for side in range(rules.teams + 1 if rules.territory else 0):
        link_network(game, rules, w, side)


@inline_always
def spawn_agents(
    state: CogsguardState, rules: CogsguardRules, pads: Ints, n_pads: Ints, w: int, key: int
) -> None:
    """Place each team's agents on spawn pads drawn at random; the order of `pads` changes.

    Args:
        state: State of the batch, written.
        rules: Rules of the batch.
        pads: `[teams, pads]`, cells of the spawn pads, permuted.
        n_pads: `[teams]`, number of pads.
        w: World.
        key: Random key.
    """
    for team in range(rules.teams):
        team_key = fold_in(key, team)
        for i in range(rules.agents):
            j = i + randint(team_key, i, n_pads[team] - i)
            cell = pads[team, j]
            pads[team, j] = pads[team, i]
            pads[team, i] = cell
            start_life(state, rules, w, team * rules.rows_per_team + i, team, cell)


@allocation_free_kernel
def reset_worlds(
    state: CogsguardState,
    rules: CogsguardRules,
    config: MapConfig,
    scratch: MapScratch,
    worlds: Ints,
) -> int:
    """Start episodes in worlds that have their random keys and are otherwise cleared.

    Args:
        state: State of the batch, written.
        rules: Rules of the batch.
        config: Parameters of maps.
        scratch: Scratch map; holds the map already if it is fixed.
        worlds: Indices of worlds.

    Returns:
        The first world for which no map could be generated, or -1.
    """
    game = get_game_arrays(state)
    for i in range(worlds.shape[0]):
        w = worlds[i]
        map_key, pad_key = fold_in(state.key[w], _MAP_KEY), fold_in(state.key[w], _PAD_KEY)
        if not config.is_fixed and not generate_map(scratch, config, map_key):
            return int(w)
        for team in range(rules.teams):
            for pad in range(config.pads.shape[1]):
                scratch.pads[team, pad] = config.pads[team, pad]
        place_map_objects(game, scratch.cell_codes, rules, w)
        initialize_areas(game, rules, w)
        spawn_agents(state, rules, scratch.pads, config.n_pads, w, pad_key)
    return -1
