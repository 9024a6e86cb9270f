"""The clips: an automatic opponent that spreads by a timetable."""

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

_CLIPS_KEY = 1  # of a tick's key
SEED_TIMER, ALIGN_TIMER, SCRAMBLE_TIMER, SHIPS_TIMER = 0, 1, 2, 3  # rows of the timetable
_INFINITE_DISTANCE = 1 << 40


@inline
def is_due(timers: Ints, timer: int, tick: int) -> bool:
    """Whether a deed is due: at its first tick, and then every period."""
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
    """Whether a deed can befall a junction: seeding any, the others one near the clips."""
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
    """One of the junctions that a deed can befall, drawn from the key; -1 if there is none."""
    targets = 0
    for j in range(junction.shape[1]):
        if is_target(junction, stride, reach, clips_owner, w, j, timer):
            targets += 1
    if targets == 0:
        return -1
    left = randint(key, timer, targets)
    for j in range(junction.shape[1]):
        if is_target(junction, stride, reach, clips_owner, w, j, timer):
            if left == 0:
                return j
            left -= 1
    return -1


@inline
def run_clips_events(
    map_arrays: MapArrays, rules: CogsguardRules, events: Ints, w: int, tick: int, key: int
) -> None:
    """Edition F: what is due befalls one junction each; seeding only while they hold none."""
    clips = rules.teams
    for deed in range(3):
        if not is_due(rules.timers, deed, tick) or (
            deed == SEED_TIMER and map_arrays.teams[w, clips, JUNCTIONS_HELD] > 0
        ):
            continue
        own = fold_in(key, _CLIPS_KEY)
        number = choose_target(
            map_arrays.junction, rules.stride, rules.clips_reach, clips, w, deed, own
        )
        if number >= 0:
            kind = CLIPS_SCRAMBLE if deed == SCRAMBLE_TIMER else CLIPS_ALIGN
            record_event(
                events, w, kind, -1, number, map_arrays.junction[w, number, JUNCTION_OWNER]
            )
            change_junction_owner(
                map_arrays, rules, w, number, -1 if deed == SCRAMBLE_TIMER else clips
            )


@inline
def find_nearest_target(
    junction: Ints, ship_cell: int, stride: int, reach: int, clips_owner: int, w: int, timer: int
) -> int:
    """The junction nearest to a ship or its chain that a deed can befall, -1 if none is near."""
    best, found = _INFINITE_DISTANCE, -1
    for j in range(junction.shape[1]):
        owner, cell = junction[w, j, JUNCTION_OWNER], junction[w, j, JUNCTION_CELL]
        fits = owner < 0 if timer == ALIGN_TIMER else (owner >= 0 and owner != clips_owner)
        if cell == 0 or not fits:
            continue
        near = squared_distance(stride, ship_cell, cell)
        for k in range(junction.shape[1]):
            if junction[w, k, JUNCTION_LINKED] == 1:
                near = min(near, squared_distance(stride, junction[w, k, JUNCTION_CELL], cell))
        if near <= reach and near < best:
            best, found = near, j
    return found


@inline
def run_clips_ships(
    map_arrays: MapArrays, rules: CogsguardRules, events: Ints, w: int, tick: int
) -> None:
    """Edition A: each ship aligns the nearest neutral junction, then scrambles the nearest enemy's.

    Its chain are the clips' junctions that are linked to it.
    """
    junction, home, clips = map_arrays.junction, map_arrays.home_cell, rules.teams
    if not rules.clips or not is_due(rules.timers, SHIPS_TIMER, tick):
        return
    for i in range(2 * (home.shape[1] - clips)):
        ship, deed = clips + i // 2, ALIGN_TIMER + i % 2
        link_network(junction, home, rules.stride, rules.network_reach, w, clips, ship, ship + 1)
        number = find_nearest_target(
            junction, home[w, ship], rules.stride, rules.ships_reach, clips, w, deed
        )
        if home[w, ship] == 0 or number < 0:
            continue
        owner = junction[w, number, JUNCTION_OWNER]
        record_event(
            events, w, CLIPS_ALIGN if deed == ALIGN_TIMER else CLIPS_SCRAMBLE, -1, number, owner
        )
        change_junction_owner(map_arrays, rules, w, number, clips if deed == ALIGN_TIMER else -1)
        if owner >= 0:
            map_arrays.teams[w, owner, NETWORK_BROKEN] = 1
            release_unlinked_junctions(map_arrays, rules, events, w)
