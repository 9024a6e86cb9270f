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
def book(ledger: Ints, w: int, row: int, column: int, amount: int) -> None:
    """Book what an agent got or lost, if books are kept.

    Args:
        ledger: `[W, N, LEDGER]`, written; `[W, 0, LEDGER]` if books are not kept.
        w: World.
        row: Row of the agent.
        column: Source or sink, an index into `LEDGER`.
        amount: Change of what the agent holds.
    """
    if ledger.shape[1] > 0:
        ledger[w, row, column] += amount


@inline
def book_store(team_ledger: Ints, w: int, team: int, column: int, amount: int) -> None:
    """Book what a team's store got or lost, if books are kept.

    Args:
        team_ledger: `[W, T, TEAM_LEDGER]`, written; `[W, 0, TEAM_LEDGER]` if books are not kept.
        w: World.
        team: Team of the store.
        column: Source or sink, an index into `TEAM_LEDGER`.
        amount: Change of what is in the store.
    """
    if team_ledger.shape[1] > 0:
        team_ledger[w, team, column] += amount


@inline
def add_resources(
    body: Ints, ledger: Ints, limits: Ints, w: int, row: int, hp: int, energy: int, influence: int
) -> None:
    """Add to an agent's hp, energy and influence within the limits of its gear, and book the cuts.

    The caller books the sources.

    Args:
        body: `[W, N, BODY_COLUMNS]`, written.
        ledger: `[W, N, LEDGER]`, written.
        limits: `[5 limits, 5 gears]`.
        w: World.
        row: Row of the agent.
        hp: Change of hp.
        energy: Change of energy.
        influence: Change of influence.
    """
    gear = body[w, row, codes.GEAR]
    hp, energy = hp + body[w, row, codes.HP], energy + body[w, row, codes.ENERGY]
    influence += body[w, row, codes.INFLUENCE]
    body[w, row, codes.HP] = clamp(hp, limits[codes.HP_LIMIT, gear])
    body[w, row, codes.ENERGY] = clamp(energy, limits[codes.ENERGY_LIMIT, gear])
    body[w, row, codes.INFLUENCE] = clamp(influence, limits[codes.INFLUENCE_LIMIT, gear])
    if ledger.shape[1] > 0:
        ledger[w, row, codes.HP_CUT] += body[w, row, codes.HP] - hp
        ledger[w, row, codes.ENERGY_CUT] += body[w, row, codes.ENERGY] - energy
        ledger[w, row, codes.INFLUENCE_CUT] += body[w, row, codes.INFLUENCE] - influence


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
    body = game.body
    body[w, row, codes.GEAR] = codes.NO_GEAR
    add_resources(game.body, game.ledger, limits, w, row, 0, 0, 0)
    hearts = clamp(body[w, row, codes.HEARTS], limits[codes.HEARTS_LIMIT, codes.NO_GEAR])
    book(game.ledger, w, row, codes.HEARTS_CUT, hearts - body[w, row, codes.HEARTS])
    body[w, row, codes.HEARTS] = hearts
    room = limits[codes.CARGO_LIMIT, codes.NO_GEAR]
    for element in codes.ELEMENT_ORDER:
        carried = body[w, row, codes.FIRST_CARGO + element]
        remaining = min(carried, room)
        room -= remaining
        body[w, row, codes.FIRST_CARGO + element] = remaining
        book(game.ledger, w, row, codes.CARGO_CUT + element, remaining - carried)


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
