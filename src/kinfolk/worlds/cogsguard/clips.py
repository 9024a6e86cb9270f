"""The clips: an automatic opponent that spreads by a timetable."""

from __future__ import annotations

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline
from kinfolk.core.keys import below, fold
from kinfolk.worlds.cogsguard.areas import Land, apart, hand_over
from kinfolk.worlds.cogsguard.codes import BROKEN, HELD, LINKED, WHERE, WHOSE
from kinfolk.worlds.cogsguard.log import CLIPS_ALIGN, CLIPS_SCRAMBLE, note
from kinfolk.worlds.cogsguard.network import connect, prune
from kinfolk.worlds.cogsguard.rules import Rules

_CLIPS_BRANCH = 1  # of a tick's key
SEED, ALIGN, SCRAMBLE, SHIPS = 0, 1, 2, 3  # rows of the timetable
_FAR = 1 << 40


@inline
def is_due(timers: Ints, deed: int, tick: int) -> bool:
    """Whether a deed is due: at its first tick, and then every period."""
    return bool(tick >= timers[deed, 0] and (tick - timers[deed, 0]) % timers[deed, 1] == 0)


@inline
def is_target(
    junction: Ints, stride: int, reach: int, clips: int, w: int, number: int, deed: int
) -> bool:
    """Whether a deed can befall a junction: seeding any, the others one near the clips."""
    owner, cell = junction[w, number, WHOSE], junction[w, number, WHERE]
    if cell == 0:
        return False
    if deed == SEED:
        return True
    if deed == ALIGN and owner >= 0:
        return False
    if deed == SCRAMBLE and (owner < 0 or owner == clips):
        return False
    for j in range(junction.shape[1]):
        near = apart(stride, junction[w, j, WHERE], cell) <= reach
        if junction[w, j, WHERE] > 0 and junction[w, j, WHOSE] == clips and near:
            return True
    return False


@inline
def choose(junction: Ints, stride: int, reach: int, clips: int, w: int, deed: int, key: int) -> int:
    """One of the junctions that a deed can befall, drawn from the key; -1 if there is none."""
    targets = 0
    for j in range(junction.shape[1]):
        if is_target(junction, stride, reach, clips, w, j, deed):
            targets += 1
    if targets == 0:
        return -1
    left = below(key, deed, targets)
    for j in range(junction.shape[1]):
        if is_target(junction, stride, reach, clips, w, j, deed):
            if left == 0:
                return j
            left -= 1
    return -1


@inline
def spread(land: Land, r: Rules, log: Ints, w: int, tick: int, key: int) -> None:
    """Edition F: what is due befalls one junction each; seeding only while they hold none."""
    clips = r.teams
    for deed in range(3):
        if not is_due(r.timers, deed, tick) or (deed == SEED and land.teams[w, clips, HELD] > 0):
            continue
        own = fold(key, _CLIPS_BRANCH)
        number = choose(land.junction, r.stride, r.clips_reach, clips, w, deed, own)
        if number >= 0:
            kind = CLIPS_SCRAMBLE if deed == SCRAMBLE else CLIPS_ALIGN
            note(log, w, kind, -1, number, land.junction[w, number, WHOSE])
            hand_over(land, r, w, number, -1 if deed == SCRAMBLE else clips)


@inline
def nearest(
    junction: Ints, ship: int, stride: int, reach: int, clips: int, w: int, deed: int
) -> int:
    """The junction nearest to a ship or its chain that a deed can befall, -1 if none is near."""
    best, found = _FAR, -1
    for j in range(junction.shape[1]):
        owner, cell = junction[w, j, WHOSE], junction[w, j, WHERE]
        fits = owner < 0 if deed == ALIGN else (owner >= 0 and owner != clips)
        if cell == 0 or not fits:
            continue
        near = apart(stride, ship, cell)
        for k in range(junction.shape[1]):
            if junction[w, k, LINKED] == 1:
                near = min(near, apart(stride, junction[w, k, WHERE], cell))
        if near <= reach and near < best:
            best, found = near, j
    return found


@inline
def send_ships(land: Land, r: Rules, log: Ints, w: int, tick: int) -> None:
    """Edition A: each ship aligns the nearest neutral junction, then scrambles the nearest enemy's.

    Its chain are the clips' junctions that are linked to it.
    """
    junction, home, clips = land.junction, land.home, r.teams
    if not r.clips or not is_due(r.timers, SHIPS, tick):
        return
    for i in range(2 * (home.shape[1] - clips)):
        ship, deed = clips + i // 2, ALIGN + i % 2
        connect(junction, home, r.stride, r.network_reach, w, clips, ship, ship + 1)
        number = nearest(junction, home[w, ship], r.stride, r.ships_reach, clips, w, deed)
        if home[w, ship] == 0 or number < 0:
            continue
        owner = junction[w, number, WHOSE]
        note(log, w, CLIPS_ALIGN if deed == ALIGN else CLIPS_SCRAMBLE, -1, number, owner)
        hand_over(land, r, w, number, clips if deed == ALIGN else -1)
        if owner >= 0:
            land.teams[w, owner, BROKEN] = 1
            prune(land, r, log, w)
