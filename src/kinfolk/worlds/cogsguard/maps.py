"""Maps by chance: compounds, patches of wall, junctions and extractors, all within reach.

A map is drawn on a sheet. If something on it cannot be reached from the first hub, or too few
things found room, the next key draws another.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline
from kinfolk.core.keys import below, fold
from kinfolk.worlds.cogsguard.codes import EMPTY, EXTRACTOR, HUB, JUNCTION, SHIP, WALL
from kinfolk.worlds.cogsguard.rules import Rules
from kinfolk.worlds.cogsguard.settings import Cogsguard
from kinfolk.worlds.cogsguard.sites import HALF, PLACES, compound, hubs_of, pads
from kinfolk.worlds.cogsguard.state import sizes_of

_TRIES = 80  # cells tried for a thing
_DRAWINGS = 64  # sheets tried for a map
_BARE = 48  # from this one on without patches of wall, which are what can bar the way
_WALK_LEAST, _WALK_MORE = 3, 7  # cells of a patch
OWNER_STEP = 16  # on a sheet a cell's code is its kind, plus this for every owner up to its own
_REACHED = 1 << 12


class Sheet(NamedTuple):
    """Where a map is drawn; one per thread."""

    code: Ints  # [cells]
    pads: Ints  # [teams, places] cells
    scratch: Ints  # [cells]


class Plan(NamedTuple):
    """What maps have in common; cells are numbered as in `rules.Rules`."""

    height: int
    width: int
    pad: int
    stride: int
    hubs: Ints  # [teams, 2] row and column
    compound: Ints
    pads: Ints
    patches: int
    fewest_junctions: int
    most_junctions: int
    fewest_extractors: int
    most_extractors: int
    junction_gap: int  # squared
    extractor_gap: int
    ships: bool


def plan_of(given: Cogsguard, rules: Rules) -> Plan:
    """Lay out the settings of maps for the kernels."""
    height, width = given.shape
    return Plan(
        height=height,
        width=width,
        pad=rules.pad,
        stride=rules.stride,
        hubs=hubs_of(given.teams, height, width),
        compound=compound(chest=given.edition == "F"),
        pads=pads(),
        patches=given.wall_patches * height * width // 1000,
        fewest_junctions=given.junctions[0],
        most_junctions=given.junctions[1],
        fewest_extractors=given.extractors[0],
        most_extractors=given.extractors[1],
        junction_gap=given.junction_gap**2,
        extractor_gap=given.extractor_gap**2,
        ships=given.edition == "A" and given.clips != "off",
    )


def empty_sheet(given: Cogsguard, rules: Rules) -> Sheet:
    """A sheet to draw on."""
    cells, drawing = sizes_of(given, rules).cells, given.drawing
    places = PLACES if drawing is None else max(len(own) for own in drawing.pads)
    return Sheet(
        code=np.full(cells, WALL, dtype=np.int64),
        pads=np.zeros((rules.teams, places), dtype=np.int64),
        scratch=np.zeros(cells, dtype=np.int64),
    )


@inline
def cell_at(p: Plan, y: int, x: int) -> int:
    """The number of a cell of the map."""
    return (y + p.pad) * p.stride + x + p.pad


@inline
def draw_frame(m: Sheet, p: Plan, key: int) -> None:
    """Floor within a wall, the compounds, and the ships in the corners."""
    code, teams = m.code, p.hubs.shape[0]
    for cell in range(code.shape[0]):
        code[cell] = WALL
    for y in range(1, p.height - 1):
        for x in range(1, p.width - 1):
            code[cell_at(p, y, x)] = EMPTY
    for team in range(teams):
        hub = cell_at(p, p.hubs[team, 0], p.hubs[team, 1])
        turn = below(key, team, 4)
        for i in range(p.compound.shape[0]):
            cell, kind = hub + p.compound[i, 0] * p.stride + p.compound[i, 1], p.compound[i, 2]
            if EXTRACTOR <= kind < HUB:
                code[cell] = EXTRACTOR + (kind - EXTRACTOR + turn) % 4
            else:
                code[cell] = kind if kind == WALL else kind + OWNER_STEP * (team + 1)
        for i in range(p.pads.shape[0]):
            m.pads[team, i] = hub + p.pads[i, 0] * p.stride + p.pads[i, 1]
    if p.ships:
        for corner in range(4):
            y = 2 if corner < 2 else p.height - 3
            x = 2 if corner % 2 == 0 else p.width - 3
            code[cell_at(p, y, x)] = SHIP + OWNER_STEP * (teams + 1)


@inline
def is_outside(p: Plan, y: int, x: int, margin: int) -> bool:
    """Whether a cell is on the open land, `margin` cells or more from every compound."""
    if not (0 < y < p.height - 1 and 0 < x < p.width - 1):
        return False
    for team in range(p.hubs.shape[0]):
        if max(abs(y - p.hubs[team, 0]), abs(x - p.hubs[team, 1])) < HALF + margin:
            return False
    return True


@inline
def draw_walls(m: Sheet, p: Plan, key: int) -> None:
    """Patches of wall: short walks on open land."""
    for patch in range(p.patches):
        own = fold(key, patch)
        y, x = 1 + below(own, 0, p.height - 2), 1 + below(own, 1, p.width - 2)
        for step in range(_WALK_LEAST + below(own, 2, _WALK_MORE)):
            if is_outside(p, y, x, 2) and m.code[cell_at(p, y, x)] == EMPTY:
                m.code[cell_at(p, y, x)] = WALL
            way = below(own, 3 + step, 4)
            if way < 2:
                y += 2 * way - 1
            else:
                x += 2 * way - 5


@inline
def has_room(code: Ints, stride: int, cell: int) -> bool:
    """Whether a thing can stand here: no other thing around it, and two ways to it or more."""
    if code[cell] != EMPTY:
        return False
    ways = 0
    for dy in range(-1, 2):
        for dx in range(-1, 2):
            kind = code[cell + dy * stride + dx]
            if kind > WALL:
                return False
            if kind == EMPTY and abs(dy) + abs(dx) == 1:
                ways += 1
    return ways >= 2


@inline
def scatter(m: Sheet, p: Plan, key: int, kind: int, wanted: int, gap: int) -> int:
    """Put things of a kind on open land, `gap` (squared) or more apart; returns how many."""
    count, draw = 0, 0
    for _ in range(wanted):
        for _ in range(_TRIES):
            spot = below(key, draw, (p.height - 2) * (p.width - 2))
            draw += 1
            y, x = 1 + spot // (p.width - 2), 1 + spot % (p.width - 2)
            cell = cell_at(p, y, x)
            if not is_outside(p, y, x, 2) or not has_room(m.code, p.stride, cell):
                continue
            near = False
            for i in range(count):
                dy = m.scratch[i] // p.stride - cell // p.stride
                dx = m.scratch[i] % p.stride - cell % p.stride
                if dy * dy + dx * dx < gap:
                    near = True
                    break
            if not near:
                m.code[cell] = kind
                m.scratch[count] = cell
                count += 1
                break
    return count


@inline
def draw_things(m: Sheet, p: Plan, key: int) -> bool:
    """Junctions, then extractors of each element; False if too few found room."""
    own = fold(key, 0)
    wanted = p.fewest_junctions + below(own, 0, p.most_junctions - p.fewest_junctions + 1)
    for kind in range(5):  # the four elements come after the junctions
        what, gap, least, home = JUNCTION, p.junction_gap, p.fewest_junctions, 0
        if kind > 0:
            what, gap, least = EXTRACTOR + kind - 1, p.extractor_gap, p.fewest_extractors
            home = p.hubs.shape[0]  # one of each stands in every compound
            wanted = least + below(own, kind, p.most_extractors - least + 1)
        placed = scatter(m, p, fold(key, 1 + kind), what, wanted - home, gap)
        if placed + home < least:
            return False
    return True


@inline
def is_reachable(m: Sheet, p: Plan) -> bool:
    """Whether there is a way from the first hub to all things and pads.

    Floor that cannot be reached is walled up.
    """
    code, stack = m.code, m.scratch
    stack[0] = cell_at(p, p.hubs[0, 0], p.hubs[0, 1])
    code[stack[0]] |= _REACHED
    length = 1
    while length > 0:
        length -= 1
        cell = stack[length]
        for way in range(4):
            beside = cell + (2 * way - 1 if way < 2 else (2 * way - 5) * p.stride)
            if code[beside] != WALL and code[beside] < _REACHED:
                if code[beside] == EMPTY:  # things are reached, but are no way on
                    stack[length] = beside
                    length += 1
                code[beside] |= _REACHED
    for y in range(p.height):
        for x in range(p.width):
            cell = cell_at(p, y, x)
            if code[cell] >= _REACHED:
                code[cell] -= _REACHED
            elif code[cell] > WALL:
                return False
            else:
                code[cell] = WALL
    return True


@inline
def draw_map(m: Sheet, p: Plan, key: int) -> bool:
    """Draw maps until one is good; False if none is, because too much was asked for."""
    for drawing in range(_DRAWINGS):
        own = fold(key, drawing)
        draw_frame(m, p, fold(own, 0))
        if drawing < _BARE:
            draw_walls(m, p, fold(own, 1))
        if draw_things(m, p, fold(own, 2)) and is_reachable(m, p):
            return True
    return False
