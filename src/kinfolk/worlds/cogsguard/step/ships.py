"""The ships of the clips in edition A, each with a chain of junctions."""

from __future__ import annotations

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline
from kinfolk.core.random import fold_in, randint
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

_SHIPS_KEY = 2  # folded into a tick's key; `clips` uses 1


@inline
def chain_distance(junction: Ints, stride: int, w: int, ship_cell: int, cell: int) -> int:
    """Return the squared distance of a cell from a ship or the nearest junction in its chain.

    Args:
        junction: `[W, J, JUNCTION_COLUMNS]`, with the chain in the column JUNCTION_REACHED.
        stride: Cells per line.
        w: World.
        ship_cell: Cell of the ship.
        cell: Cell in question.
    """
    distance = squared_distance(stride, ship_cell, cell)
    for k in range(junction.shape[1]):
        if junction[w, k, codes.JUNCTION_REACHED] == 1:
            linked_cell = junction[w, k, codes.JUNCTION_CELL]
            distance = min(distance, squared_distance(stride, linked_cell, cell))
    return distance


@inline
def link_chain(junction: Ints, rules: CogsguardRules, w: int, ship: int, ship_cell: int) -> None:
    """Mark the junctions in a ship's chain: it took them, and edges of its reach link them to it.

    A junction that the map draws as the clips' counts as taken by every ship. With the quirk
    `stale_chains`, junctions that were freed since stay.

    Args:
        junction: `[W, J, JUNCTION_COLUMNS]`, writes the column JUNCTION_REACHED.
        rules: Rules of the batch.
        w: World.
        ship: Which ship.
        ship_cell: Its cell.
    """
    mark = codes.CLIPS_SHIP << ship
    for j in range(junction.shape[1]):
        junction[w, j, codes.JUNCTION_REACHED] = 0
    grew = True
    while grew:
        grew = False
        for j in range(junction.shape[1]):
            cell = junction[w, j, codes.JUNCTION_CELL]
            is_reached = junction[w, j, codes.JUNCTION_REACHED] == 1
            if cell == 0 or is_reached or junction[w, j, codes.JUNCTION_CLIPS_MARKS] & mark == 0:
                continue
            if chain_distance(junction, rules.stride, w, ship_cell, cell) <= rules.ships_reach:
                junction[w, j, codes.JUNCTION_REACHED] = 1
                grew = True


@inline
def count_rings(squared: int) -> int:
    """Return the radius of the smallest disc of whole cells that has a squared distance in it."""
    ring = 0
    while ring * ring < squared:
        ring += 1
    return ring


@inline
def get_target_ring(
    junction: Ints, rules: CogsguardRules, w: int, index: int, ship_cell: int, timer: int
) -> int:
    """Return the ring around a ship in which a junction lies; 0 if it is no target.

    Targets are in reach of the ship's chain, and neutral to be aligned, a team's to be scrambled.

    Args:
        junction: `[W, J, JUNCTION_COLUMNS]`, with the chain in the column JUNCTION_REACHED.
        rules: Rules of the batch.
        w: World.
        index: Index of the junction.
        ship_cell: Cell of the ship.
        timer: ALIGN_TIMER or SCRAMBLE_TIMER.
    """
    cell = junction[w, index, codes.JUNCTION_CELL]
    owner = junction[w, index, codes.JUNCTION_OWNER]
    is_wanted = owner < 0 if timer == ALIGN_TIMER else 0 <= owner < rules.teams
    if cell == 0 or not is_wanted:
        return 0
    if chain_distance(junction, rules.stride, w, ship_cell, cell) > rules.ships_reach:
        return 0
    ring = count_rings(squared_distance(rules.stride, ship_cell, cell))
    return ring if ring <= rules.ships_search else 0


@inline
def find_ship_target(
    junction: Ints, rules: CogsguardRules, w: int, ship_cell: int, timer: int, key: int
) -> int:
    """Draw one of the targets in the nearest ring around a ship that has any; -1 if none has.

    Args:
        junction: `[W, J, JUNCTION_COLUMNS]`, with the chain in the column JUNCTION_REACHED.
        rules: Rules of the batch.
        w: World.
        ship_cell: Cell of the ship.
        timer: ALIGN_TIMER or SCRAMBLE_TIMER.
        key: Random key of the draw.
    """
    nearest, n_targets = rules.ships_search + 1, 0
    for j in range(junction.shape[1]):
        ring = get_target_ring(junction, rules, w, j, ship_cell, timer)
        if 0 < ring < nearest:
            nearest, n_targets = ring, 0
        n_targets += ring == nearest
    if n_targets == 0:
        return -1
    chosen = randint(key, timer, n_targets)
    for j in range(junction.shape[1]):
        if get_target_ring(junction, rules, w, j, ship_cell, timer) == nearest:
            if chosen == 0:
                return j
            chosen -= 1
    return -1


@inline
def run_clips_ships(
    game: GameArrays, rules: CogsguardRules, events: Ints, w: int, tick: int, key: int
) -> None:
    """Run the clips' actions of edition A that are due.

    Each ship scrambles a junction of a team, then each aligns a neutral one, which may have been
    freed in the same tick: the nearest to the ship, in whole cells, in reach of its chain.

    Args:
        game: Written.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        tick: Current tick.
        key: Random key of the tick.
    """
    junction, clips = game.junction, rules.teams
    for k in range(2):
        timer = SCRAMBLE_TIMER if k == 0 else ALIGN_TIMER
        if not rules.clips or not is_due(rules.timers, timer, tick):
            continue
        for ship in range(game.home_cell.shape[1] - clips):
            ship_cell, mark = game.home_cell[w, clips + ship], codes.CLIPS_SHIP << ship
            if ship_cell == 0:
                continue
            link_chain(junction, rules, w, ship, ship_cell)
            draw_key = fold_in(fold_in(key, _SHIPS_KEY), ship)
            target = find_ship_target(junction, rules, w, ship_cell, timer, draw_key)
            if target >= 0:
                take_junction(game, rules, events, w, target, timer == ALIGN_TIMER)
                marks = junction[w, target, codes.JUNCTION_CLIPS_MARKS]
                marks = marks | mark if timer == ALIGN_TIMER else marks & ~mark
                junction[w, target, codes.JUNCTION_CLIPS_MARKS] = marks
