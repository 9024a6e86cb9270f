"""The layout of maps: compounds of generated maps, and maps as text in these symbols.

| symbol | meaning |
|---|---|
| `#` `.` | wall, floor |
| `H` | hub; the first in reading order is team 0's, and so on |
| `C` | chest, of the nearest hub's team |
| `A` `R` `M` `T` | station of aligners, scramblers, miners, scouts, of the nearest hub's team |
| `c` `o` `g` `s` | extractor of carbon, oxygen, germanium, silicon |
| `J` `!` `0` to `3` | junction of nobody, of the clips, of a team |
| `X` | ship of the clips |
| `@` `%` `$` `~` | spawn pad, or agent, of team 0, 1, 2, 3 |

Cells outside the text are walls.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kinfolk.core.arrays import Ints
from kinfolk.worlds.cogsguard import codes

PAD_SYMBOLS = "@%$~"  # symbol of each team's spawn pads in maps as text
_GATE_RADIUS = 2  # cells to each side of the middle of a wall
_STATION_ROW = 4  # south of the hub
_STATION_COLUMNS = (-3, -1, 1, 3)  # aligners, scramblers, miners, scouts
COMPOUND_JUNCTION = (-3, 0)  # of edition F
_CORNERS = ((-1, -1), (-1, 1), (1, -1), (1, 1))  # carbon, oxygen, germanium, silicon
_DIRECTIONS = ((-1, 0), (1, 0), (0, -1), (0, 1))
_FAR_DIRECTIONS = ((0, 1), (0, -1), (1, 0), (-1, 0), *_CORNERS)


def count_compounds_that_fit(height: int, width: int, radius: int) -> int:
    """Return how many compounds fit on a map: 1 in the middle, 2 side by side, or 4 in quarters.

    Args:
        height: Lines of the map.
        width: Columns of the map.
        radius: Cells from a hub to the wall of its compound.
    """
    side = 2 * radius + 3  # a compound and a way around it
    if min(height, width) >= 2 * side:
        return 4
    if width >= 2 * side and height >= side:
        return 2
    return 1 if min(height, width) >= side else 0


def place_hubs(n_teams: int, height: int, width: int) -> Ints:
    """Return `[teams, 2]`: row and column of each hub.

    Args:
        n_teams: Number of hubs.
        height: Lines of the map.
        width: Columns of the map.
    """
    middle_y, middle_x = (height - 1) // 2, (width - 1) // 2
    if n_teams == 1:
        hubs = [(middle_y, middle_x)]
    elif n_teams == 2:
        hubs = [(middle_y, width // 4), (middle_y, width - 1 - width // 4)]
    else:
        columns = (width // 4, width - 1 - width // 4)
        hubs = [(y, x) for y in (height // 4, height - 1 - height // 4) for x in columns]
    return np.array(hubs[:n_teams], dtype=np.int64)


def make_compound(radius: int) -> list[tuple[int, int, int, int]]:
    """Return the objects of a compound, the walled base around a hub.

    Args:
        radius: Cells from the hub to the wall.

    Returns:
        Row and column relative to the hub, kind, and whether the team owns it.
    """
    objects = [(0, 0, codes.HUB, 1)]
    for i in range(-radius, radius + 1):
        if abs(i) > _GATE_RADIUS:
            objects += [(y, i, codes.WALL, 0) for y in (-radius, radius)]
            if abs(i) < radius:
                objects += [(i, x, codes.WALL, 0) for x in (-radius, radius)]
    for gear, x in enumerate(_STATION_COLUMNS):
        objects.append((_STATION_ROW, x, codes.STATION + gear, 1))
    corner = radius - 2
    for element, (y, x) in enumerate(_CORNERS):
        objects.append((y * corner, x * corner, codes.EXTRACTOR + element, 0))
    return objects


def make_spawn_pads(n_pads: int, has_junction: bool) -> Ints:
    """Return the cells on which the agents of a team start, nearest to the hub first.

    Args:
        n_pads: How many.
        has_junction: Whether a junction stands in the compound, as in edition F.

    Returns:
        `[n_pads, 2]`: row and column relative to the hub: two cells off in the four directions,
        then three, four and so on in the eight directions, on cells that are free.
    """
    taken = {(_STATION_ROW, x) for x in _STATION_COLUMNS}
    taken |= {COMPOUND_JUNCTION} if has_junction else set()
    pads = [(2 * y, 2 * x) for y, x in _DIRECTIONS]
    distance = 3
    while len(pads) < n_pads:
        ring = [(distance * y, distance * x) for y, x in _FAR_DIRECTIONS]
        pads += [cell for cell in ring if cell not in taken]
        distance += 1
    return np.array(pads[:n_pads], dtype=np.int64)


SYMBOLS = {"#": codes.WALL, ".": codes.EMPTY, "H": codes.HUB, "C": codes.CHEST}
SYMBOLS |= {symbol: codes.STATION + i for i, symbol in enumerate("ARMT")}
SYMBOLS |= {symbol: codes.EXTRACTOR + i for i, symbol in enumerate("cogs")}
SYMBOLS |= {"J": codes.JUNCTION, "!": codes.JUNCTION, "X": codes.SHIP}
TEAM_JUNCTION_SYMBOLS = "0123"
KNOWN_SYMBOLS = "".join(SYMBOLS) + TEAM_JUNCTION_SYMBOLS + PAD_SYMBOLS
CLIPS_OWNER = -2  # in parsed maps, which do not know the number of teams


class ParsedMap(NamedTuple):
    """A parsed map; it is cached, so its arrays must not be written to."""

    kind: npt.NDArray[np.int8]  # [height, width]
    owner: npt.NDArray[np.int8]  # a team, -1 nobody, CLIPS_OWNER
    spawn_pads: tuple[tuple[tuple[int, int], ...], ...]  # per team, in reading order
    n_hubs: int


@lru_cache(maxsize=64)
def parse_map(text: str) -> ParsedMap:
    """Parse a map given as text.

    Raises:
        ValueError: A symbol is unknown, or the lines differ in length.
    """
    lines = [line.strip() for line in text.strip().splitlines()]
    for number, line in enumerate(lines, 1):
        for column, symbol in enumerate(line, 1):
            if symbol not in KNOWN_SYMBOLS:
                raise ValueError(
                    f"Cogsguard.map_text has an unknown symbol '{symbol}' in line {number}, "
                    f"column {column}. Known: {' '.join(KNOWN_SYMBOLS)}"
                )
        if len(line) != len(lines[0]):
            raise ValueError(
                f"Cogsguard.map_text must have lines of one length; line 1 has {len(lines[0])} "
                f"cells and line {number} has {len(line)}."
            )
    if not lines or not lines[0]:
        raise ValueError("Cogsguard.map_text must have at least one cell.")
    kind = np.zeros((len(lines), len(lines[0])), dtype=np.int8)
    owner = np.full(kind.shape, -1, dtype=np.int8)
    pads: list[list[tuple[int, int]]] = [[] for _ in PAD_SYMBOLS]
    for y, line in enumerate(lines):
        for x, symbol in enumerate(line):
            if symbol in PAD_SYMBOLS:
                pads[PAD_SYMBOLS.index(symbol)].append((y, x))
            elif symbol in TEAM_JUNCTION_SYMBOLS:
                kind[y, x], owner[y, x] = codes.JUNCTION, int(symbol)
            else:
                kind[y, x] = SYMBOLS[symbol]
                owner[y, x] = CLIPS_OWNER if symbol in "!X" else -1
    hubs = np.argwhere(kind == codes.HUB)
    for y, x in np.argwhere((kind >= codes.HUB) & (kind < codes.JUNCTION)) if len(hubs) else ():
        owner[y, x] = ((hubs - (y, x)) ** 2).sum(axis=1).argmin()
    return ParsedMap(kind, owner, tuple(tuple(p) for p in pads), len(hubs))


def get_symbol(kind: int, owner: int, clips_owner: int) -> str:
    """Return the symbol of an object.

    Args:
        kind: Index into `KINDS`.
        owner: Its owner, -1 for nobody.
        clips_owner: Owner code of the clips.
    """
    if kind == codes.JUNCTION and owner >= 0:
        return "!" if owner == clips_owner else TEAM_JUNCTION_SYMBOLS[owner]
    return next(symbol for symbol, known in SYMBOLS.items() if known == kind)
