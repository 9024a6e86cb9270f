"""What agents carry, within limits that depend on gear, and how agents appear on cells."""

from __future__ import annotations

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline
from kinfolk.worlds.cogsguard import codes
from kinfolk.worlds.cogsguard.rules import CogsguardRules
from kinfolk.worlds.cogsguard.state import CellWords, GameArrays, SeenBits
from kinfolk.worlds.cogsguard.territory import write_cell


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
    total = 0
    for element in range(4):
        total += int(body[w, row, codes.FIRST_CARGO + element])
    return total


@inline
def add_hp(game: GameArrays, limits: Ints, w: int, row: int, amount: int, book: int) -> None:
    """Add to an agent's hp within the limit of its gear, and book it.

    Args:
        game: Writes `body` and `ledger`.
        limits: `[5 limits, 5 gears]`.
        w: World.
        row: Row of the agent.
        amount: Change of hp.
        book: Source or sink, a column of `ledger`.
    """
    total = game.body[w, row, codes.HP] + amount
    hp = clamp(total, limits[codes.HP_LIMIT, game.body[w, row, codes.GEAR]])
    game.body[w, row, codes.HP] = hp
    game.ledger[w, row, book] += amount
    game.ledger[w, row, codes.HP_CUT] += hp - total


@inline
def add_energy(game: GameArrays, limits: Ints, w: int, row: int, amount: int, book: int) -> None:
    """Add to an agent's energy within the limit of its gear, and book it.

    Args:
        game: Writes `body` and `ledger`.
        limits: `[5 limits, 5 gears]`.
        w: World.
        row: Row of the agent.
        amount: Change of energy.
        book: Source or sink, a column of `ledger`.
    """
    total = game.body[w, row, codes.ENERGY] + amount
    energy = clamp(total, limits[codes.ENERGY_LIMIT, game.body[w, row, codes.GEAR]])
    game.body[w, row, codes.ENERGY] = energy
    game.ledger[w, row, book] += amount
    game.ledger[w, row, codes.ENERGY_CUT] += energy - total


@inline
def add_influence(game: GameArrays, limits: Ints, w: int, row: int, amount: int, book: int) -> None:
    """Add to an agent's influence within the limit of its gear, and book it.

    Args:
        game: Writes `body` and `ledger`.
        limits: `[5 limits, 5 gears]`.
        w: World.
        row: Row of the agent.
        amount: Change of influence.
        book: Source or sink, a column of `ledger`.
    """
    total = game.body[w, row, codes.INFLUENCE] + amount
    influence = clamp(total, limits[codes.INFLUENCE_LIMIT, game.body[w, row, codes.GEAR]])
    game.body[w, row, codes.INFLUENCE] = influence
    game.ledger[w, row, book] += amount
    game.ledger[w, row, codes.INFLUENCE_CUT] += influence - total


@inline
def take_off_gear(game: GameArrays, limits: Ints, w: int, row: int) -> None:
    """Take off an agent's gear and drop what exceeds the limits of no gear.

    Of elements, those that come first in `ELEMENT_ORDER` are kept.

    Args:
        game: Writes `body` and `ledger`.
        limits: `[5 limits, 5 gears]`.
        w: World.
        row: Row of the agent.
    """
    body, ledger = game.body, game.ledger
    body[w, row, codes.GEAR] = codes.NO_GEAR
    add_hp(game, limits, w, row, 0, codes.HP_CUT)
    add_energy(game, limits, w, row, 0, codes.ENERGY_CUT)
    add_influence(game, limits, w, row, 0, codes.INFLUENCE_CUT)
    hearts = clamp(body[w, row, codes.HEARTS], limits[codes.HEARTS_LIMIT, codes.NO_GEAR])
    ledger[w, row, codes.HEARTS_CUT] += hearts - body[w, row, codes.HEARTS]
    body[w, row, codes.HEARTS] = hearts
    room = limits[codes.CARGO_LIMIT, codes.NO_GEAR]
    for element in codes.ELEMENT_ORDER:
        carried = body[w, row, codes.FIRST_CARGO + element]
        kept = min(carried, room)
        room -= kept
        body[w, row, codes.FIRST_CARGO + element] = kept
        ledger[w, row, codes.CARGO_CUT + element] += kept - carried


@inline
def write_agent_cell(view: CellWords, body: Ints, w: int, row: int, team: int) -> None:
    """Show an agent with its gear and vibe on its cell.

    Args:
        view: `[W, T, cells]`, written.
        body: `[W, N, BODY_COLUMNS]`.
        w: World.
        row: Row of the agent.
        team: Team of the agent.
    """
    gear, vibe = body[w, row, codes.GEAR], body[w, row, codes.VIBE]
    extra = gear << codes.GEAR_SHIFT | vibe << codes.VIBE_SHIFT
    write_cell(view, w, body[w, row, codes.CELL], codes.AGENT, team, extra)


@inline
def mark_window_seen(
    seen: SeenBits, stats: Ints, rules: CogsguardRules, w: int, row: int, cell: int, move: int
) -> None:
    """Mark the cells that came into an agent's window by a move as seen.

    Args:
        seen: `[W, N, height, words]`, a bit per cell of the unpadded map, written.
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
    n_new = 0
    for y in range(max(top, 0), min(top + height, rules.height)):
        for x in range(max(left, 0), min(left + width, rules.width)):
            bit = 1 << (x & 31)
            word = int(seen[w, row, y, x >> 5])
            if word & bit == 0:
                seen[w, row, y, x >> 5] = word | bit
                n_new += 1
    stats[w, row, codes.EXPLORED] += n_new
