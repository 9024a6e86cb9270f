"""How an episode begins: a map, what stands on it, and the agents on their pads."""

from __future__ import annotations

import numpy as np

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline, lean_kernel
from kinfolk.core.keys import below, fold
from kinfolk.worlds.cogsguard.areas import Land, land_of, put, radiate
from kinfolk.worlds.cogsguard.births import Lives, lives_of, settle
from kinfolk.worlds.cogsguard.bodies import Folk, folk_of
from kinfolk.worlds.cogsguard.codes import (
    BY,
    EMPTY,
    EXTRACTOR,
    HELD,
    HUB,
    JUNCTION,
    SHIP,
    STORE_HEARTS,
    WALL,
    WHERE,
    WHOSE,
)
from kinfolk.worlds.cogsguard.legend import CLIPS_OWNER
from kinfolk.worlds.cogsguard.maps import OWNER_STEP, Plan, Sheet, draw_map
from kinfolk.worlds.cogsguard.rules import FROM_HUB, FROM_JUNCTION, Rules
from kinfolk.worlds.cogsguard.settings import Cogsguard
from kinfolk.worlds.cogsguard.state import State

_MAP_BRANCH, _PAD_BRANCH = 1, 2  # of an episode's key; `episode` has the third

_MINUS_ONE = ("detail", "uid", "parents", "parent_rows")  # where 0 would stand for somebody


def clear(s: State, worlds: Ints) -> None:
    """Empty these worlds: nobody lives, nothing is held, nothing is counted."""
    for name, array in s._asdict().items():
        if name not in ("key", "group"):
            array[worlds] = -1 if name in _MINUS_ONE else 0


def fill_from_drawing(sheet: Sheet, given: Cogsguard, rules: Rules) -> None:
    """Put the map that was drawn as text on a sheet."""
    drawing = given.drawing
    if drawing is None:
        return
    inside = (slice(rules.pad, rules.pad + rules.height), slice(rules.pad, rules.pad + rules.width))
    shape = (rules.height + 2 * rules.pad, rules.stride)
    owner = np.where(drawing.owner == CLIPS_OWNER, rules.teams, drawing.owner).astype(np.int64)
    sheet.code.reshape(shape)[inside] = drawing.kind + OWNER_STEP * (owner + 1)
    for team in range(rules.teams):
        for i, (y, x) in enumerate(drawing.pads[team]):
            sheet.pads[team, i] = (y + rules.pad) * rules.stride + x + rules.pad


@inline
def furnish(land: Land, store: Ints, code: Ints, r: Rules, w: int) -> None:
    """Put what is on the sheet into the world, in reading order."""
    junctions, ships = 0, r.teams
    for cell in range(code.shape[0]):
        kind, owner = code[cell] % OWNER_STEP, code[cell] // OWNER_STEP - 1
        if kind == EMPTY:
            continue
        number = owner
        if kind == JUNCTION:
            number = junctions
            land.junction[w, number, WHERE] = cell
            land.junction[w, number, WHOSE] = owner
            land.junction[w, number, BY] = -1
            junctions += 1
        elif EXTRACTOR <= kind < HUB:
            number = r.extractor_stock
        elif kind == HUB:
            land.home[w, owner] = cell
        elif kind == SHIP:
            land.home[w, ships] = cell
            ships += 1
        put(land.shown, w, cell, kind, owner, 0)
        if kind > WALL:
            land.detail[w, cell] = number
    for team in range(r.teams):
        for item in range(store.shape[2]):
            start = r.store_hearts if item == STORE_HEARTS else r.store_elements
            store[w, team, item] = min(start, r.store_cap)


@inline
def light_up(land: Land, r: Rules, w: int) -> None:
    """The areas of hubs, ships and junctions that belong to somebody from the start.

    Ships have areas in edition A; in F they are only in the way.
    """
    homes = land.home.shape[1]
    for i in range(homes + land.junction.shape[1]):
        source, owner = FROM_JUNCTION, min(i, r.teams)
        if i < homes:
            cell = land.home[w, i]
            if owner < r.teams:
                source = FROM_HUB
            elif not r.territory:
                owner = -1
        else:
            cell, owner = land.junction[w, i - homes, WHERE], land.junction[w, i - homes, WHOSE]
            if cell > 0 and owner >= 0:
                land.teams[w, owner, HELD] += 1
        if cell > 0 and owner >= 0:
            radiate(land, r, w, owner, cell, source, 1)


@inline
def populate(
    lives: Lives, land: Land, folk: Folk, pads: Ints, counts: Ints, r: Rules, w: int, key: int
) -> None:
    """Each team's agents on pads drawn from all it has; the order of `pads` changes."""
    for team in range(r.teams):
        own = fold(key, team)
        for i in range(r.agents):
            j = i + below(own, i, counts[team] - i)
            cell = pads[team, j]
            pads[team, j] = pads[team, i]
            pads[team, i] = cell
            settle(lives, land, folk, r, w, team * r.rows_per_team + i, team, cell)


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
    land, folk, lives = land_of(s), folk_of(s), lives_of(s)
    for i in range(first, last):
        w, key = worlds[i], keys[i]
        s.key[w] = key
        if not drawn:
            if not draw_map(m, p, fold(key, _MAP_BRANCH)):
                return int(w)
        else:
            for team in range(r.teams):
                for j in range(pads.shape[1]):
                    m.pads[team, j] = pads[team, j]
        furnish(land, folk.store, m.code, r, w)
        light_up(land, r, w)
        populate(lives, land, folk, m.pads, counts, r, w, fold(key, _PAD_BRANCH))
    return -1
