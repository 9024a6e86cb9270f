"""Maps by chance: compounds, patches of wall, junctions and extractors, all within reach.

A map is drawn on a sheet. If something on it cannot be reached from the first hub, or too few
things found room, the next key draws another.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kinfolk.core.arrays import Bools, Ints
from kinfolk.core.jit import inline
from kinfolk.core.keys import below, fold
from kinfolk.worlds.cogsguard.codes import EMPTY, EXTRACTOR, JUNCTION, SHIP, WALL
from kinfolk.worlds.cogsguard.rules import Rules
from kinfolk.worlds.cogsguard.settings import Cogsguard
from kinfolk.worlds.cogsguard.sites import HALF, PLACES, compound, hubs_of, pads
from kinfolk.worlds.cogsguard.state import sizes_of

_TRIES = 80  # cells tried for a thing
_DRAWINGS = 64  # sheets tried for a map
_BARE = 48  # from this one on without patches of wall, which are what can bar the way
_WALK_LEAST, _WALK_MORE = 3, 7  # cells of a patch
Codes = npt.NDArray[np.int8]


class Sheet(NamedTuple):
    """Where a map is drawn; one per thread."""

    kind: Codes  # [cells]
    owner: Codes
    pads: Ints  # [teams, places] cells
    reached: Bools  # [cells]
    stack: Ints  # [cells]
    placed: Ints  # [things] cells of the things of one kind


class Plan(NamedTuple):
    """What maps have in common."""

    hubs: Ints  # [teams, 2] row and column
    compound: Ints
    pads: Ints
    patches: int
    junctions: Ints  # [2] fewest and most
    extractors: Ints
    junction_gap: int  # squared
    extractor_gap: int
    ships: bool


def plan_of(given: Cogsguard) -> Plan:
    """Lay out the settings of maps for the kernels."""
    height, width = given.shape
    return Plan(
        hubs=hubs_of(given.teams, height, width),
        compound=compound(chest=given.edition == "F"),
        pads=pads(),
        patches=given.wall_patches * height * width // 1000,
        junctions=np.array(given.junctions, dtype=np.int64),
        extractors=np.array(given.extractors, dtype=np.int64),
        junction_gap=given.junction_gap**2,
        extractor_gap=given.extractor_gap**2,
        ships=given.edition == "A" and given.clips != "off",
    )


def empty_sheet(given: Cogsguard, rules: Rules) -> Sheet:
    """A sheet to draw on."""
    sizes, drawing = sizes_of(given, rules), given.drawing
    places = PLACES if drawing is None else max(len(own) for own in drawing.pads)
    return Sheet(
        kind=np.full(sizes.cells, WALL, dtype=np.int8),
        owner=np.full(sizes.cells, -1, dtype=np.int8),
        pads=np.zeros((rules.teams, places), dtype=np.int64),
        reached=np.zeros(sizes.cells, dtype=np.bool_),
        stack=np.zeros(sizes.cells, dtype=np.int64),
        placed=np.zeros(max(sizes.junctions, sizes.extractors, 1), dtype=np.int64),
    )


@inline
def cell_at(r: Rules, y: int, x: int) -> int:
    """The number of a cell of the map."""
    return (y + r.pad) * r.stride + x + r.pad


@inline
def draw_frame(m: Sheet, r: Rules, p: Plan, key: int) -> None:
    """Floor within a wall, the compounds, and the ships in the corners."""
    for cell in range(m.kind.shape[0]):
        m.kind[cell] = WALL
        m.owner[cell] = -1
    for y in range(1, r.height - 1):
        for x in range(1, r.width - 1):
            m.kind[cell_at(r, y, x)] = EMPTY
    for team in range(r.teams):
        hub = cell_at(r, p.hubs[team, 0], p.hubs[team, 1])
        turn = below(key, team, 4)
        for i in range(p.compound.shape[0]):
            cell, kind = hub + p.compound[i, 0] * r.stride + p.compound[i, 1], p.compound[i, 2]
            mines = EXTRACTOR <= kind < EXTRACTOR + 4
            m.kind[cell] = EXTRACTOR + (kind - EXTRACTOR + turn) % 4 if mines else kind
            m.owner[cell] = -1 if mines or kind == WALL else team
        for i in range(p.pads.shape[0]):
            m.pads[team, i] = hub + p.pads[i, 0] * r.stride + p.pads[i, 1]
    if p.ships:
        for corner in range(4):
            y = 2 if corner < 2 else r.height - 3
            x = 2 if corner % 2 == 0 else r.width - 3
            m.kind[cell_at(r, y, x)] = SHIP
            m.owner[cell_at(r, y, x)] = r.teams


@inline
def is_outside(r: Rules, p: Plan, y: int, x: int, margin: int) -> bool:
    """Whether a cell is on the open land, `margin` cells or more from every compound."""
    if not (0 < y < r.height - 1 and 0 < x < r.width - 1):
        return False
    for team in range(r.teams):
        if max(abs(y - p.hubs[team, 0]), abs(x - p.hubs[team, 1])) < HALF + margin:
            return False
    return True


@inline
def draw_walls(m: Sheet, r: Rules, p: Plan, key: int) -> None:
    """Patches of wall: short walks on open land."""
    for patch in range(p.patches):
        own = fold(key, patch)
        y, x = 1 + below(own, 0, r.height - 2), 1 + below(own, 1, r.width - 2)
        for step in range(_WALK_LEAST + below(own, 2, _WALK_MORE)):
            if is_outside(r, p, y, x, 2) and m.kind[cell_at(r, y, x)] == EMPTY:
                m.kind[cell_at(r, y, x)] = WALL
            way = below(own, 3 + step, 4)
            if way < 2:
                y += 2 * way - 1
            else:
                x += 2 * way - 5


@inline
def has_room(m: Sheet, r: Rules, cell: int) -> bool:
    """Whether a thing can stand here: no other thing around it, and two ways to it or more."""
    if m.kind[cell] != EMPTY:
        return False
    ways = 0
    for dy in range(-1, 2):
        for dx in range(-1, 2):
            kind = m.kind[cell + dy * r.stride + dx]
            if kind > WALL:
                return False
            if kind == EMPTY and abs(dy) + abs(dx) == 1:
                ways += 1
    return ways >= 2


@inline
def scatter(m: Sheet, r: Rules, p: Plan, key: int, kind: int, wanted: int, gap: int) -> int:
    """Put things of a kind on open land, `gap` (squared) or more apart; returns how many."""
    count, draw = 0, 0
    for _ in range(wanted):
        for _ in range(_TRIES):
            spot = below(key, draw, (r.height - 2) * (r.width - 2))
            draw += 1
            y, x = 1 + spot // (r.width - 2), 1 + spot % (r.width - 2)
            cell = cell_at(r, y, x)
            if not is_outside(r, p, y, x, 2) or not has_room(m, r, cell):
                continue
            near = False
            for i in range(count):
                dy = m.placed[i] // r.stride - cell // r.stride
                dx = m.placed[i] % r.stride - cell % r.stride
                if dy * dy + dx * dx < gap:
                    near = True
                    break
            if not near:
                m.kind[cell] = kind
                m.placed[count] = cell
                count += 1
                break
    return count


@inline
def draw_things(m: Sheet, r: Rules, p: Plan, key: int) -> bool:
    """Junctions, then extractors of each element; False if too few found room."""
    own = fold(key, 0)
    wanted = p.junctions[0] + below(own, 0, p.junctions[1] - p.junctions[0] + 1)
    for kind in range(5):  # the four elements come after the junctions
        what, gap, home = JUNCTION, p.junction_gap, 0
        least = p.junctions[0]
        if kind > 0:
            least, home = p.extractors[0], r.teams  # one of each stands in every compound
            what, gap = EXTRACTOR + kind - 1, p.extractor_gap
            wanted = least + below(own, kind, p.extractors[1] - least + 1)
        placed = scatter(m, r, p, fold(key, 1 + kind), what, wanted - home, gap)
        if placed + home < least:
            return False
    return True


@inline
def is_reachable(m: Sheet, r: Rules, p: Plan) -> bool:
    """Whether there is a way from the first hub to all things and pads.

    Floor that cannot be reached is walled up.
    """
    steps = r.steps
    for cell in range(m.reached.shape[0]):
        m.reached[cell] = False
    m.stack[0] = cell_at(r, p.hubs[0, 0], p.hubs[0, 1])
    m.reached[m.stack[0]] = True
    length = 1
    while length > 0:
        length -= 1
        cell = m.stack[length]
        for way in range(1, 5):
            beside = cell + steps[way]
            if not m.reached[beside] and m.kind[beside] != WALL:
                m.reached[beside] = True  # things are reached, but are no way on
                if m.kind[beside] == EMPTY:
                    m.stack[length] = beside
                    length += 1
    for y in range(r.height):
        for x in range(r.width):
            cell = cell_at(r, y, x)
            if not m.reached[cell]:
                if m.kind[cell] > WALL:
                    return False
                m.kind[cell] = WALL
    return True


@inline
def draw_map(m: Sheet, r: Rules, p: Plan, key: int) -> bool:
    """Draw maps until one is good; False if none is, because too much was asked for."""
    for drawing in range(_DRAWINGS):
        own = fold(key, drawing)
        draw_frame(m, r, p, fold(own, 0))
        if drawing < _BARE:
            draw_walls(m, r, p, fold(own, 1))
        if draw_things(m, r, p, fold(own, 2)) and is_reachable(m, r, p):
            return True
    return False
