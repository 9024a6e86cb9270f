"""How an episode begins: a map, what stands on it, and the agents on their pads."""

from __future__ import annotations

import numpy as np

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline, lean_kernel
from kinfolk.core.keys import below, fold
from kinfolk.worlds.cogsguard.areas import Land, land_of, put, radiate
from kinfolk.worlds.cogsguard.births import settle
from kinfolk.worlds.cogsguard.bodies import Folk, folk_of
from kinfolk.worlds.cogsguard.codes import EMPTY, EXTRACTOR, HUB, JUNCTION, SHIP, WALL
from kinfolk.worlds.cogsguard.legend import CLIPS_OWNER
from kinfolk.worlds.cogsguard.maps import Plan, Sheet, draw_map
from kinfolk.worlds.cogsguard.rules import FROM_HUB, FROM_JUNCTION, Rules
from kinfolk.worlds.cogsguard.settings import Cogsguard
from kinfolk.worlds.cogsguard.state import State

_MAP_BRANCH, _PAD_BRANCH = 1, 2  # of an episode's key; `episode` has the third


def clear(s: State, worlds: Ints) -> None:
    """Empty these worlds: nobody lives, nothing is held, nothing is counted."""
    for array in (s.tick, s.next_uid, s.count, s.fertile, s.held, s.shown, s.cover, s.junctions):
        array[worlds] = 0
    for array in (s.junction_cell, s.extractor_stock, s.hub_cell, s.ships, s.ship_cell):
        array[worlds] = 0
    for array in (s.alive, s.reward, s.truncated, s.body, s.seen, s.stats, s.team_stats):
        array[worlds] = 0
    for array in (s.index, s.junction_owner, s.uid, s.parents, s.parent_rows):
        array[worlds] = -1
    s.done[worlds] = False


def fill_from_drawing(sheet: Sheet, given: Cogsguard, rules: Rules) -> None:
    """Put the map that was drawn as text on a sheet."""
    drawing = given.drawing
    if drawing is None:
        return
    inside = (slice(rules.pad, rules.pad + rules.height), slice(rules.pad, rules.pad + rules.width))
    shape = (rules.height + 2 * rules.pad, rules.stride)
    sheet.kind.reshape(shape)[inside] = drawing.kind
    owner = np.where(drawing.owner == CLIPS_OWNER, rules.teams, drawing.owner)
    sheet.owner.reshape(shape)[inside] = owner
    for team in range(rules.teams):
        for i, (y, x) in enumerate(drawing.pads[team]):
            sheet.pads[team, i] = (y + rules.pad) * rules.stride + x + rules.pad


@inline
def furnish(land: Land, store: Ints, m: Sheet, r: Rules, w: int) -> None:
    """Put what is on the sheet into the world, in reading order."""
    mines = 0
    for cell in range(m.kind.shape[0]):
        kind, owner = int(m.kind[cell]), int(m.owner[cell])
        if kind == EMPTY:
            continue
        number = owner
        if kind == JUNCTION:
            number = land.junctions[w]
            land.junctions[w] += 1
            land.junction_cell[w, number] = cell
            land.junction_owner[w, number] = owner
        elif EXTRACTOR <= kind < HUB:
            number = mines
            land.extractor_stock[w, mines] = r.extractor_stock
            mines += 1
        elif kind == HUB:
            land.hub_cell[w, owner] = cell
        elif kind == SHIP:
            land.ship_cell[w, land.ships[w]] = cell
            land.ships[w] += 1
        put(land.shown, w, cell, kind, owner, 0)
        if kind > WALL:
            land.index[w, cell] = number
    for team in range(r.teams):
        for item in range(store.shape[2]):
            store[w, team, item] = min(r.store_start[item], r.store_cap)


@inline
def light_up(land: Land, r: Rules, w: int) -> None:
    """The areas of hubs, ships and junctions that belong to somebody from the start."""
    total = r.teams + land.junctions[w] + land.ships[w]
    for i in range(total):
        source, junction = FROM_JUNCTION, i - r.teams
        if junction < 0:
            source, owner, cell = FROM_HUB, i, land.hub_cell[w, i]
        elif junction < land.junctions[w]:
            owner, cell = land.junction_owner[w, junction], land.junction_cell[w, junction]
            if owner >= 0:
                land.held[w, owner] += 1
        else:
            owner, cell = r.teams, land.ship_cell[w, junction - land.junctions[w]]
            if not r.territory:  # ships belong to edition A; in F they are only in the way
                owner = -1
        if owner >= 0:
            radiate(land, r, w, owner, cell, source, 1)


@inline
def populate(
    s: State, land: Land, folk: Folk, m: Sheet, r: Rules, counts: Ints, w: int, key: int
) -> None:
    """Each team's agents on pads drawn from all it has."""
    for team in range(r.teams):
        own = fold(key, team)
        for i in range(r.agents):
            j = i + below(own, i, counts[team] - i)
            cell = m.pads[team, j]
            m.pads[team, j] = m.pads[team, i]
            m.pads[team, i] = cell
            settle(s, land, folk, r, w, team * r.rows_per_team + i, team, cell)


@lean_kernel
def begin(
    s: State,
    r: Rules,
    p: Plan,
    m: Sheet,
    pads: Ints,
    counts: Ints,
    drawn: bool,
    worlds: Ints,
    keys: Ints,
    first: int,
    last: int,
) -> int:
    """Begin episodes in `worlds[first:last]`, which were cleared; the first bad world, or -1.

    With `drawn` the sheet holds the map already, and `pads` its pads. A world is bad if chance
    found no map for it.
    """
    land, folk = land_of(s), folk_of(s)
    for i in range(first, last):
        w, key = worlds[i], keys[i]
        s.key[w] = key
        if not drawn:
            if not draw_map(m, r, p, fold(key, _MAP_BRANCH)):
                return int(w)
        else:
            for team in range(r.teams):
                for j in range(pads.shape[1]):
                    m.pads[team, j] = pads[team, j]
        furnish(land, folk.store, m, r, w)
        light_up(land, r, w)
        populate(s, land, folk, m, r, counts, w, fold(key, _PAD_BRANCH))
    return -1
