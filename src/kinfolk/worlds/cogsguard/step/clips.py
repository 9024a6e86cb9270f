"""The clips, an automatic opponent that acts at fixed periods, and the networks of edition A.

In edition A a junction is held while a chain of junctions links it to a hub or ship of its owner.
"""

from __future__ import annotations

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline
from kinfolk.core.random import fold_in, randint
from kinfolk.worlds.cogsguard import codes
from kinfolk.worlds.cogsguard.rules import CogsguardRules
from kinfolk.worlds.cogsguard.state import GameArrays, record_event
from kinfolk.worlds.cogsguard.territory import (
    change_junction_owner,
    is_near_junction,
    squared_distance,
)

_CLIPS_KEY = 1  # folded into a tick's key
SEED_TIMER, ALIGN_TIMER, SCRAMBLE_TIMER, SHIPS_TIMER = 0, 1, 2, 3  # rows of `rules.timers`
_INFINITE_DISTANCE = 1 << 40


@inline
def link_network(
    game: GameArrays, rules: CogsguardRules, w: int, owner: int, first: int, last: int
) -> None:
    """Mark the owner's junctions that are linked to one of its homes `first` to `last`.

    Args:
        game: Writes the column JUNCTION_LINKED of `junction`.
        rules: Rules of the batch.
        w: World.
        owner: Team, or the number of teams for the clips.
        first: First home, an index into `home_cell`.
        last: End of the range of homes, exclusive.
    """
    junction, stride, reach = game.junction, rules.stride, rules.network_reach
    for j in range(junction.shape[1]):
        junction[w, j, codes.JUNCTION_LINKED] = 0
        cell = junction[w, j, codes.JUNCTION_CELL]
        if cell > 0 and junction[w, j, codes.JUNCTION_OWNER] == owner:
            for i in range(first, last):
                home = game.home_cell[w, i]
                if home > 0 and squared_distance(stride, home, cell) <= reach:
                    junction[w, j, codes.JUNCTION_LINKED] = 1
    grew = True
    while grew:
        grew = False
        for j in range(junction.shape[1]):
            cell, is_linked = (
                junction[w, j, codes.JUNCTION_CELL],
                junction[w, j, codes.JUNCTION_LINKED],
            )
            if cell == 0 or junction[w, j, codes.JUNCTION_OWNER] != owner or is_linked == 1:
                continue
            for k in range(junction.shape[1]):
                other = junction[w, k, codes.JUNCTION_CELL]
                near = squared_distance(stride, cell, other) <= reach
                if junction[w, k, codes.JUNCTION_LINKED] == 1 and near:
                    junction[w, j, codes.JUNCTION_LINKED] = 1
                    grew = True
                    break


@inline
def release_unlinked_junctions(
    game: GameArrays, rules: CogsguardRules, events: Ints, w: int
) -> None:
    """Make junctions neutral that lost their link, in networks that lost a junction.

    The homes of the clips are their ships; without ships they need none.

    Args:
        game: Written.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
    """
    junction, teams = game.junction, game.teams
    for owner in range(rules.teams + 1):
        if teams[w, owner, codes.NETWORK_BROKEN] == 0:
            continue
        teams[w, owner, codes.NETWORK_BROKEN] = 0
        last = game.home_cell.shape[1] if owner == rules.teams else owner + 1
        if owner == last:
            continue
        link_network(game, rules, w, owner, owner, last)
        for j in range(junction.shape[1]):
            is_unlinked = junction[w, j, codes.JUNCTION_LINKED] == 0
            is_owned = junction[w, j, codes.JUNCTION_OWNER] == owner
            if junction[w, j, codes.JUNCTION_CELL] > 0 and is_owned and is_unlinked:
                change_junction_owner(game, rules, w, j, -1)
                record_event(events, w, codes.CUT_OFF_EVENT, -1, j, owner)


@inline
def is_due(timers: Ints, timer: int, tick: int) -> bool:
    """Return whether an action of the clips is due: at its first tick and then every period.

    Args:
        timers: `[4, 2]`, first tick and period.
        timer: Row of `timers`.
        tick: Current tick.
    """
    return bool(tick >= timers[timer, 0] and (tick - timers[timer, 0]) % timers[timer, 1] == 0)


@inline
def is_target(junction: Ints, rules: CogsguardRules, w: int, index: int, timer: int) -> bool:
    """Return whether a junction can be seeded, or aligned or scrambled from a junction of the clips.

    Args:
        junction: `[W, J, JUNCTION_COLUMNS]`.
        rules: Rules of the batch.
        w: World.
        index: Which junction.
        timer: SEED_TIMER, ALIGN_TIMER or SCRAMBLE_TIMER.
    """
    cell, owner = junction[w, index, codes.JUNCTION_CELL], junction[w, index, codes.JUNCTION_OWNER]
    if cell == 0:
        return False
    if timer == SEED_TIMER:
        return True
    if timer == ALIGN_TIMER and owner >= 0:
        return False
    if timer == SCRAMBLE_TIMER and (owner < 0 or owner == rules.teams):
        return False
    return is_near_junction(junction, rules.stride, rules.clips_reach, w, rules.teams, cell)


@inline
def choose_target(junction: Ints, rules: CogsguardRules, w: int, timer: int, key: int) -> int:
    """Draw one of the junctions that are targets of an action; -1 if there is none.

    Args:
        junction: `[W, J, JUNCTION_COLUMNS]`.
        rules: Rules of the batch.
        w: World.
        timer: SEED_TIMER, ALIGN_TIMER or SCRAMBLE_TIMER.
        key: Random key.
    """
    n_targets = 0
    for j in range(junction.shape[1]):
        if is_target(junction, rules, w, j, timer):
            n_targets += 1
    if n_targets == 0:
        return -1
    chosen = randint(key, timer, n_targets)
    for j in range(junction.shape[1]):
        if is_target(junction, rules, w, j, timer):
            if chosen == 0:
                return j
            chosen -= 1
    return -1


@inline
def take_junction(
    game: GameArrays, rules: CogsguardRules, events: Ints, w: int, junction: int, aligns: bool
) -> int:
    """Align a junction with the clips, or make it neutral.

    Args:
        game: Written.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        junction: Index of the junction.
        aligns: Whether the clips get it; False scrambles it.

    Returns:
        Former owner of the junction, -1 for nobody.
    """
    owner = int(game.junction[w, junction, codes.JUNCTION_OWNER])
    kind = codes.CLIPS_ALIGN_EVENT if aligns else codes.CLIPS_SCRAMBLE_EVENT
    record_event(events, w, kind, -1, junction, owner)
    change_junction_owner(game, rules, w, junction, rules.teams if aligns else -1)
    return owner


@inline
def run_clips_events(
    game: GameArrays, rules: CogsguardRules, events: Ints, w: int, tick: int, key: int
) -> None:
    """Run the clips' actions of edition F that are due, each on one junction.

    They seed a junction only while they hold none.

    Args:
        game: Written.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        tick: Current tick.
        key: Random key of the tick.
    """
    clips = rules.teams
    for timer in range(3):
        holds_any = game.teams[w, clips, codes.JUNCTIONS_HELD] > 0
        if not is_due(rules.timers, timer, tick) or (timer == SEED_TIMER and holds_any):
            continue
        target = choose_target(game.junction, rules, w, timer, fold_in(key, _CLIPS_KEY))
        if target >= 0:
            take_junction(game, rules, events, w, target, timer != SCRAMBLE_TIMER)


@inline
def find_nearest_target(
    junction: Ints, rules: CogsguardRules, w: int, ship_cell: int, timer: int
) -> int:
    """Return the target nearest to a ship or to a junction linked to it; -1 if none is in reach.

    Args:
        junction: `[W, J, JUNCTION_COLUMNS]`, with links from the ship.
        rules: Rules of the batch.
        w: World.
        ship_cell: Cell of the ship.
        timer: ALIGN_TIMER or SCRAMBLE_TIMER.
    """
    best, target, stride = _INFINITE_DISTANCE, -1, rules.stride
    for j in range(junction.shape[1]):
        cell, owner = junction[w, j, codes.JUNCTION_CELL], junction[w, j, codes.JUNCTION_OWNER]
        is_candidate = owner < 0 if timer == ALIGN_TIMER else (owner >= 0 and owner != rules.teams)
        if cell == 0 or not is_candidate:
            continue
        distance = squared_distance(stride, ship_cell, cell)
        for k in range(junction.shape[1]):
            if junction[w, k, codes.JUNCTION_LINKED] == 1:
                linked_cell = junction[w, k, codes.JUNCTION_CELL]
                distance = min(distance, squared_distance(stride, linked_cell, cell))
        if distance <= rules.ships_reach and distance < best:
            best, target = distance, j
    return target


@inline
def run_clips_ships(
    game: GameArrays, rules: CogsguardRules, events: Ints, w: int, tick: int
) -> None:
    """Run the clips' actions of edition A, if they are due.

    Each ship aligns the nearest neutral junction, then scrambles the nearest enemy's; distances are
    from the ship or from junctions of the clips that are linked to it.

    Args:
        game: Written.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        tick: Current tick.
    """
    home_cell, clips = game.home_cell, rules.teams
    if not rules.clips or not is_due(rules.timers, SHIPS_TIMER, tick):
        return
    for i in range(2 * (home_cell.shape[1] - clips)):
        ship, timer = clips + i // 2, ALIGN_TIMER + i % 2
        link_network(game, rules, w, clips, ship, ship + 1)
        target = find_nearest_target(game.junction, rules, w, home_cell[w, ship], timer)
        if home_cell[w, ship] == 0 or target < 0:
            continue
        owner = take_junction(game, rules, events, w, target, timer == ALIGN_TIMER)
        if owner >= 0:
            game.teams[w, owner, codes.NETWORK_BROKEN] = 1
            release_unlinked_junctions(game, rules, events, w)
