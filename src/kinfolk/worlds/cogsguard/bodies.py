"""What agents hold: limits that depend on gear, and how agents look to others."""

from __future__ import annotations

from typing import NamedTuple

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline
from kinfolk.worlds.cogsguard.areas import put
from kinfolk.worlds.cogsguard.codes import (
    AGENT,
    CARGO,
    CARGO_LIMIT,
    CELL,
    ENERGY,
    ENERGY_LIMIT,
    EXPLORED,
    GEAR,
    GEAR_SHIFT,
    HEARTS,
    HEARTS_LIMIT,
    HP,
    HP_LIMIT,
    INFLUENCE,
    INFLUENCE_LIMIT,
    VIBE,
    VIBE_SHIFT,
)
from kinfolk.worlds.cogsguard.rules import Rules
from kinfolk.worlds.cogsguard.state import Bits, State, Words


class Folk(NamedTuple):
    """The part of the state that agents carry with them, and their teams' stores."""

    body: Ints
    stats: Ints
    store: Ints


@inline
def folk_of(s: State) -> Folk:
    """The folk of a state: the same arrays."""
    return Folk(s.body, s.stats, s.store)


@inline
def between(value: int, most: int) -> int:
    """`value`, no less than nothing and no more than `most`."""
    return min(max(value, 0), most)


@inline
def carried(body: Ints, w: int, row: int) -> int:
    """Elements an agent carries, all together."""
    return int(
        body[w, row, CARGO]
        + body[w, row, CARGO + 1]
        + body[w, row, CARGO + 2]
        + body[w, row, CARGO + 3]
    )


@inline
def fit(body: Ints, limits: Ints, w: int, row: int) -> None:
    """Drop what goes beyond the limits; of elements, the last in their order first."""
    gear = body[w, row, GEAR]
    body[w, row, HP] = between(body[w, row, HP], limits[HP_LIMIT, gear])
    body[w, row, ENERGY] = between(body[w, row, ENERGY], limits[ENERGY_LIMIT, gear])
    body[w, row, HEARTS] = between(body[w, row, HEARTS], limits[HEARTS_LIMIT, gear])
    body[w, row, INFLUENCE] = between(body[w, row, INFLUENCE], limits[INFLUENCE_LIMIT, gear])
    surplus = carried(body, w, row) - limits[CARGO_LIMIT, gear]
    for element in range(3, -1, -1):
        if surplus > 0:
            dropped = min(surplus, body[w, row, CARGO + element])
            body[w, row, CARGO + element] -= dropped
            surplus -= dropped


@inline
def show(view: Words, body: Ints, w: int, row: int, team: int) -> None:
    """Put an agent, with its gear and vibe, on the cell where it stands."""
    extra = body[w, row, GEAR] << GEAR_SHIFT | body[w, row, VIBE] << VIBE_SHIFT
    put(view, w, body[w, row, CELL], AGENT, team, extra)


@inline
def look(
    seen: Bits, stats: Ints, r: Rules, w: int, row: int, top: int, left: int, tall: int, wide: int
) -> None:
    """Note a block of cells, given on the map without its pad, as seen by an agent."""
    new = 0
    for y in range(max(top, 0), min(top + tall, r.height)):
        for x in range(max(left, 0), min(left + wide, r.width)):
            bit = 1 << (x & 31)
            word = int(seen[w, row, y, x >> 5])
            if word & bit == 0:
                seen[w, row, y, x >> 5] = word | bit
                new += 1
    stats[w, row, EXPLORED] += new


@inline
def look_around(seen: Bits, stats: Ints, r: Rules, w: int, row: int, cell: int, move: int) -> None:
    """See the line of cells that came into the window by a move, or with move 0 all of it."""
    side = 2 * r.pad + 1
    top, left = cell // r.stride - 2 * r.pad, cell % r.stride - 2 * r.pad
    tall = side if move in (0, 3, 4) else 1
    wide = side if move in (0, 1, 2) else 1
    top += side - 1 if move == 2 else 0
    left += side - 1 if move == 4 else 0
    look(seen, stats, r, w, row, top, left, tall, wide)
