"""Maps as text, and the symbols they are written in.

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

from kinfolk.worlds.cogsguard.codes import (
    CHEST,
    EMPTY,
    EXTRACTOR,
    HUB,
    JUNCTION,
    SHIP,
    STATION,
    WALL,
)
from kinfolk.worlds.cogsguard.map.layout import PAD_SYMBOLS

SYMBOLS = {
    "#": WALL,
    ".": EMPTY,
    "H": HUB,
    "C": CHEST,
    "A": STATION,
    "R": STATION + 1,
    "M": STATION + 2,
    "T": STATION + 3,
    "c": EXTRACTOR,
    "o": EXTRACTOR + 1,
    "g": EXTRACTOR + 2,
    "s": EXTRACTOR + 3,
    "J": JUNCTION,
    "!": JUNCTION,
    "X": SHIP,
}
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
                kind[y, x], owner[y, x] = JUNCTION, int(symbol)
            else:
                kind[y, x] = SYMBOLS[symbol]
                owner[y, x] = CLIPS_OWNER if symbol in "!X" else -1
    hubs = np.argwhere(kind == HUB)
    for y, x in np.argwhere((kind >= HUB) & (kind < JUNCTION)) if len(hubs) else ():
        owner[y, x] = ((hubs - (y, x)) ** 2).sum(axis=1).argmin()
    return ParsedMap(kind, owner, tuple(tuple(p) for p in pads), len(hubs))


def get_symbol(kind: int, owner: int, clips_owner: int) -> str:
    """Return the symbol of an object.

    Args:
        kind: Index into `KINDS`.
        owner: Its owner, -1 for nobody.
        clips_owner: The owner that stands for the clips.
    """
    if kind == JUNCTION and owner >= 0:
        return "!" if owner == clips_owner else TEAM_JUNCTION_SYMBOLS[owner]
    return next(symbol for symbol, known in SYMBOLS.items() if known == kind)
