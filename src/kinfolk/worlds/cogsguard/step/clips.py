"""The clips: an automatic opponent that acts at fixed periods."""

from __future__ import annotations

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline
from kinfolk.core.random import fold_in, randint
from kinfolk.worlds.cogsguard.codes import (
    JUNCTION_CELL,
    JUNCTION_LINKED,
    JUNCTION_OWNER,
    JUNCTIONS_HELD,
    NETWORK_BROKEN,
)
from kinfolk.worlds.cogsguard.events import CLIPS_ALIGN, CLIPS_SCRAMBLE, record_event
from kinfolk.worlds.cogsguard.rules import CogsguardRules
from kinfolk.worlds.cogsguard.step.network import link_network, release_unlinked_junctions
from kinfolk.worlds.cogsguard.territory import MapArrays, change_junction_owner, squared_distance

_CLIPS_KEY = 1  # folded into a tick's key
SEED_TIMER, ALIGN_TIMER, SCRAMBLE_TIMER, SHIPS_TIMER = 0, 1, 2, 3  # rows of `rules.timers`
_INFINITE_DISTANCE = 1 << 40


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
def is_target(
    junction: Ints,
    stride: int,
    reach: int,
    clips_owner: int,
    w: int,
    junction_index: int,
    timer: int,
) -> bool:
    """Return whether a junction can be seeded, or aligned or scrambled from a junction of the clips.

    Args:
        junction: `[W, J, JUNCTION_COLUMNS]`.
        stride: Cells per line.
        reach: Squared reach of the clips.
        clips_owner: The owner that stands for the clips.
        w: World.
        junction_index: Which junction.
        timer: SEED_TIMER, ALIGN_TIMER or SCRAMBLE_TIMER.
    """
    owner, cell = (
        junction[w, junction_index, JUNCTION_OWNER],
        junction[w, junction_index, JUNCTION_CELL],
    )
    if cell == 0:
        return False
    if timer == SEED_TIMER:
        return True
    if timer == ALIGN_TIMER and owner >= 0:
        return False
    if timer == SCRAMBLE_TIMER and (owner < 0 or owner == clips_owner):
        return False
    for j in range(junction.shape[1]):
        near = squared_distance(stride, junction[w, j, JUNCTION_CELL], cell) <= reach
        if (
            junction[w, j, JUNCTION_CELL] > 0
            and junction[w, j, JUNCTION_OWNER] == clips_owner
            and near
        ):
            return True
    return False


@inline
def choose_target(
    junction: Ints, stride: int, reach: int, clips_owner: int, w: int, timer: int, key: int
) -> int:
    """Draw one of the junctions that are targets of an action; -1 if there is none.

    Args:
        junction: `[W, J, JUNCTION_COLUMNS]`.
        stride: Cells per line.
        reach: Squared reach of the clips.
        clips_owner: The owner that stands for the clips.
        w: World.
        timer: SEED_TIMER, ALIGN_TIMER or SCRAMBLE_TIMER.
        key: Random key.
    """
    n_targets = 0
    for j in range(junction.shape[1]):
        if is_target(junction, stride, reach, clips_owner, w, j, timer):
            n_targets += 1
    if n_targets == 0:
        return -1
    chosen = randint(key, timer, n_targets)
    for j in range(junction.shape[1]):
        if is_target(junction, stride, reach, clips_owner, w, j, timer):
            if chosen == 0:
                return j
            chosen -= 1
    return -1


@inline
def run_clips_events(
    map_arrays: MapArrays, rules: CogsguardRules, events: Ints, w: int, tick: int, key: int
) -> None:
    """Run the clips' actions of edition F that are due, each on one junction.

    They seed a junction only while they hold none.

    Args:
        map_arrays: Written.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        tick: Current tick.
        key: Random key of the tick.
    """
    clips = rules.teams
    for timer in range(3):
        if not is_due(rules.timers, timer, tick) or (
            timer == SEED_TIMER and map_arrays.teams[w, clips, JUNCTIONS_HELD] > 0
        ):
            continue
        clips_key = fold_in(key, _CLIPS_KEY)
        target = choose_target(
            map_arrays.junction, rules.stride, rules.clips_reach, clips, w, timer, clips_key
        )
        if target >= 0:
            kind = CLIPS_SCRAMBLE if timer == SCRAMBLE_TIMER else CLIPS_ALIGN
            record_event(
                events, w, kind, -1, target, map_arrays.junction[w, target, JUNCTION_OWNER]
            )
            change_junction_owner(
                map_arrays, rules, w, target, -1 if timer == SCRAMBLE_TIMER else clips
            )


@inline
def find_nearest_target(
    junction: Ints, ship_cell: int, stride: int, reach: int, clips_owner: int, w: int, timer: int
) -> int:
    """Return the target nearest to a ship or to a junction linked to it; -1 if none is in reach.

    Args:
        junction: `[W, J, JUNCTION_COLUMNS]`, with links from the ship.
        ship_cell: Cell of the ship.
        stride: Cells per line.
        reach: Squared reach of ships.
        clips_owner: The owner that stands for the clips.
        w: World.
        timer: ALIGN_TIMER or SCRAMBLE_TIMER.
    """
    best, target = _INFINITE_DISTANCE, -1
    for j in range(junction.shape[1]):
        owner, cell = junction[w, j, JUNCTION_OWNER], junction[w, j, JUNCTION_CELL]
        is_candidate = owner < 0 if timer == ALIGN_TIMER else (owner >= 0 and owner != clips_owner)
        if cell == 0 or not is_candidate:
            continue
        distance = squared_distance(stride, ship_cell, cell)
        for k in range(junction.shape[1]):
            if junction[w, k, JUNCTION_LINKED] == 1:
                distance = min(
                    distance, squared_distance(stride, junction[w, k, JUNCTION_CELL], cell)
                )
        if distance <= reach and distance < best:
            best, target = distance, j
    return target


@inline
def run_clips_ships(
    map_arrays: MapArrays, rules: CogsguardRules, events: Ints, w: int, tick: int
) -> None:
    """Run the clips' actions of edition A, if they are due.

    Each ship aligns the nearest neutral junction, then scrambles the nearest enemy's; distances are
    from the ship or from junctions of the clips that are linked to it.

    Args:
        map_arrays: Written.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        tick: Current tick.
    """
    junction, home_cell, clips = map_arrays.junction, map_arrays.home_cell, rules.teams
    if not rules.clips or not is_due(rules.timers, SHIPS_TIMER, tick):
        return
    for i in range(2 * (home_cell.shape[1] - clips)):
        ship, timer = clips + i // 2, ALIGN_TIMER + i % 2
        link_network(
            junction, home_cell, rules.stride, rules.network_reach, w, clips, ship, ship + 1
        )
        target = find_nearest_target(
            junction, home_cell[w, ship], rules.stride, rules.ships_reach, clips, w, timer
        )
        if home_cell[w, ship] == 0 or target < 0:
            continue
        owner = junction[w, target, JUNCTION_OWNER]
        record_event(
            events, w, CLIPS_ALIGN if timer == ALIGN_TIMER else CLIPS_SCRAMBLE, -1, target, owner
        )
        change_junction_owner(map_arrays, rules, w, target, clips if timer == ALIGN_TIMER else -1)
        if owner >= 0:
            map_arrays.teams[w, owner, NETWORK_BROKEN] = 1
            release_unlinked_junctions(map_arrays, rules, events, w)
