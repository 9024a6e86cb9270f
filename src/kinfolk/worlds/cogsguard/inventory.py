"""What agents carry: limits that depend on gear, and how agents appear on cells."""

from __future__ import annotations

from typing import NamedTuple

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline
from kinfolk.worlds.cogsguard.codes import (
    AGENT,
    CARGO_LIMIT,
    CELL,
    ENERGY,
    ENERGY_LIMIT,
    EXPLORED,
    FIRST_CARGO,
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
from kinfolk.worlds.cogsguard.rules import CogsguardRules
from kinfolk.worlds.cogsguard.state import CellWords, CogsguardState, SeenBits
from kinfolk.worlds.cogsguard.territory import write_cell


class AgentArrays(NamedTuple):
    """The arrays of what agents carry and of their teams' stores."""

    body: Ints  # [W, N, BODY_COLUMNS]
    stats: Ints  # [W, N, STATISTICS]
    store: Ints  # [W, teams, elements and hearts]


@inline
def get_agent_arrays(state: CogsguardState) -> AgentArrays:
    """Return the arrays of a state of what agents carry."""
    return AgentArrays(state.body, state.stats, state.store)


@inline
def clamp(value: int, maximum: int) -> int:
    """Return `value` limited to 0 and `maximum`."""
    return min(max(value, 0), maximum)


@inline
def count_cargo(body: Ints, w: int, row: int) -> int:
    """Return how many elements an agent carries in total.

    Args:
        body: `[W, N, BODY_COLUMNS]`.
        w: World.
        row: Row of the agent.
    """
    return int(
        body[w, row, FIRST_CARGO]
        + body[w, row, FIRST_CARGO + 1]
        + body[w, row, FIRST_CARGO + 2]
        + body[w, row, FIRST_CARGO + 3]
    )


@inline
def apply_limits(body: Ints, limits: Ints, w: int, row: int) -> None:
    """Drop what exceeds the limits of an agent's gear; of elements, the last in their order first.

    Args:
        body: `[W, N, BODY_COLUMNS]`, written.
        limits: `[5 limits, 5 gears]`.
        w: World.
        row: Row of the agent.
    """
    gear = body[w, row, GEAR]
    body[w, row, HP] = clamp(body[w, row, HP], limits[HP_LIMIT, gear])
    body[w, row, ENERGY] = clamp(body[w, row, ENERGY], limits[ENERGY_LIMIT, gear])
    body[w, row, HEARTS] = clamp(body[w, row, HEARTS], limits[HEARTS_LIMIT, gear])
    body[w, row, INFLUENCE] = clamp(body[w, row, INFLUENCE], limits[INFLUENCE_LIMIT, gear])
    surplus = count_cargo(body, w, row) - limits[CARGO_LIMIT, gear]
    for element in range(3, -1, -1):
        if surplus > 0:
            dropped = min(surplus, body[w, row, FIRST_CARGO + element])
            body[w, row, FIRST_CARGO + element] -= dropped
            surplus -= dropped


@inline
def write_agent_cell(view: CellWords, body: Ints, w: int, row: int, team: int) -> None:
    """Show an agent with its gear and vibe on its cell.

    Args:
        view: `[W, T, cells]`, written.
        body: `[W, N, BODY_COLUMNS]`.
        w: World.
        row: Row of the agent.
        team: Its team.
    """
    extra = body[w, row, GEAR] << GEAR_SHIFT | body[w, row, VIBE] << VIBE_SHIFT
    write_cell(view, w, body[w, row, CELL], AGENT, team, extra)


@inline
def mark_seen(
    seen: SeenBits,
    stats: Ints,
    rules: CogsguardRules,
    w: int,
    row: int,
    top: int,
    left: int,
    height: int,
    width: int,
) -> None:
    """Mark a rectangle of cells, in coordinates of the unpadded map, as seen by an agent.

    Args:
        seen: `[W, N, height, words]`, a bit per cell, written.
        stats: `[W, N, STATISTICS]`, counts newly seen cells.
        rules: Rules of the batch.
        w: World.
        row: Row of the agent.
        top: First line.
        left: First column.
        height: Number of lines.
        width: Number of columns.
    """
    n_new = 0
    for y in range(max(top, 0), min(top + height, rules.height)):
        for x in range(max(left, 0), min(left + width, rules.width)):
            bit = 1 << (x & 31)
            word = int(seen[w, row, y, x >> 5])
            if word & bit == 0:
                seen[w, row, y, x >> 5] = word | bit
                n_new += 1
    stats[w, row, EXPLORED] += n_new


@inline
def mark_window_seen(
    seen: SeenBits, stats: Ints, rules: CogsguardRules, w: int, row: int, cell: int, move: int
) -> None:
    """Mark the cells that came into an agent's window by a move as seen.

    Args:
        seen: `[W, N, height, words]`, written.
        stats: `[W, N, STATISTICS]`, counts newly seen cells.
        rules: Rules of the batch.
        w: World.
        row: Row of the agent.
        cell: The agent's cell after the move.
        move: Index into `MOVES`; 0 marks the whole window.
    """
    side = 2 * rules.pad + 1
    top, left = cell // rules.stride - 2 * rules.pad, cell % rules.stride - 2 * rules.pad
    height = side if move in (0, 3, 4) else 1
    width = side if move in (0, 1, 2) else 1
    top += side - 1 if move == 2 else 0
    left += side - 1 if move == 4 else 0
    mark_seen(seen, stats, rules, w, row, top, left, height, width)
