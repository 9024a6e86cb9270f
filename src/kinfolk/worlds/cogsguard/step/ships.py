"""The ships of the clips in edition A, each with a chain of junctions that it took."""

from __future__ import annotations

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline
from kinfolk.worlds.cogsguard import codes
from kinfolk.worlds.cogsguard.rules import CogsguardRules
from kinfolk.worlds.cogsguard.state import GameArrays
from kinfolk.worlds.cogsguard.step.networks import (
    ALIGN_TIMER,
    SCRAMBLE_TIMER,
    is_due,
    take_junction,
)
from kinfolk.worlds.cogsguard.territory import squared_distance

_INFINITE_DISTANCE = 1 << 40


@inline
def chain_distance(junction: Ints, stride: int, w: int, ship_cell: int, cell: int) -> int:
    """Return the squared distance of a cell from a ship or the nearest junction in its chain.

    Args:
        junction: `[W, J, JUNCTION_COLUMNS]`, with the chain in the column JUNCTION_LINKED.
        stride: Cells per line.
        w: World.
        ship_cell: Cell of the ship.
        cell: Cell in question.
    """
    distance = squared_distance(stride, ship_cell, cell)
    for k in range(junction.shape[1]):
        if junction[w, k, codes.JUNCTION_LINKED] == 1:
            linked_cell = junction[w, k, codes.JUNCTION_CELL]
            distance = min(distance, squared_distance(stride, linked_cell, cell))
    return distance


@inline
def link_chain(junction: Ints, rules: CogsguardRules, w: int, ship: int, ship_cell: int) -> None:
    """Mark the junctions in a ship's chain: it took them, and edges of its reach link them to it.

    Junctions that were the clips' from the start are in the chain of every ship in reach. With the
    quirk `stale_chains`, junctions that were freed since stay.

    Args:
        junction: `[W, J, JUNCTION_COLUMNS]`, writes the column JUNCTION_LINKED.
        rules: Rules of the batch.
        w: World.
        ship: Which ship.
        ship_cell: Its cell.
    """
    mark = codes.CLIPS_SHIP << ship | codes.CLIPS_FOUND
    for j in range(junction.shape[1]):
        junction[w, j, codes.JUNCTION_LINKED] = 0
    grew = True
    while grew:
        grew = False
        for j in range(junction.shape[1]):
            cell = junction[w, j, codes.JUNCTION_CELL]
            is_linked = junction[w, j, codes.JUNCTION_LINKED] == 1
            if cell == 0 or is_linked or junction[w, j, codes.JUNCTION_CLIPS_MARKS] & mark == 0:
                continue
            if chain_distance(junction, rules.stride, w, ship_cell, cell) <= rules.ships_reach:
                junction[w, j, codes.JUNCTION_LINKED] = 1
                grew = True


@inline
def find_ship_target(
    junction: Ints, rules: CogsguardRules, w: int, ship_cell: int, timer: int
) -> int:
    """Return the target nearest to a ship among those in reach of its chain; -1 if there is none.

    Args:
        junction: `[W, J, JUNCTION_COLUMNS]`, with the chain in the column JUNCTION_LINKED.
        rules: Rules of the batch.
        w: World.
        ship_cell: Cell of the ship.
        timer: ALIGN_TIMER or SCRAMBLE_TIMER.
    """
    best, target, stride = _INFINITE_DISTANCE, -1, rules.stride
    for j in range(junction.shape[1]):
        cell, owner = junction[w, j, codes.JUNCTION_CELL], junction[w, j, codes.JUNCTION_OWNER]
        is_team = (owner >= 0 and owner != rules.teams) or (
            junction[w, j, codes.JUNCTION_SECOND_OWNER] >= 0
        )
        if cell == 0 or (timer == ALIGN_TIMER and owner >= 0):
            continue
        if timer == SCRAMBLE_TIMER and not is_team:
            continue
        distance = squared_distance(stride, ship_cell, cell)
        in_reach = chain_distance(junction, stride, w, ship_cell, cell) <= rules.ships_reach
        if distance < best and in_reach:
            best, target = distance, j
    return target


@inline
def run_clips_ships(
    game: GameArrays, rules: CogsguardRules, events: Ints, w: int, tick: int
) -> None:
    """Run the clips' actions of edition A that are due.

    Each ship scrambles a junction of a team, then each aligns a neutral one, which may have been
    freed in the same tick: the nearest to the ship in reach of its chain.

    Args:
        game: Written.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        tick: Current tick.
    """
    junction, clips = game.junction, rules.teams
    for k in range(2):
        timer = SCRAMBLE_TIMER if k == 0 else ALIGN_TIMER
        if not rules.clips or not is_due(rules.timers, timer, tick):
            continue
        for ship in range(game.home_cell.shape[1] - clips):
            ship_cell = game.home_cell[w, clips + ship]
            if ship_cell == 0:
                continue
            link_chain(junction, rules, w, ship, ship_cell)
            target = find_ship_target(junction, rules, w, ship_cell, timer)
            if target >= 0:
                take_junction(game, rules, events, w, target, timer == ALIGN_TIMER)
                if timer == ALIGN_TIMER:
                    junction[w, target, codes.JUNCTION_CLIPS_MARKS] |= codes.CLIPS_SHIP << ship
