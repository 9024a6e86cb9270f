"""The clips: an automatic opponent that spreads by a timetable."""

from __future__ import annotations

from kinfolk.core.arrays import Bools, Ints
from kinfolk.core.jit import inline
from kinfolk.core.keys import below, fold
from kinfolk.worlds.cogsguard.areas import Land, apart, hand_over
from kinfolk.worlds.cogsguard.log import CLIPS_ALIGN, CLIPS_SCRAMBLE, Log, note
from kinfolk.worlds.cogsguard.network import connect, prune
from kinfolk.worlds.cogsguard.rules import Rules

_CLIPS_BRANCH = 1  # of a tick's key
SEED, ALIGN, SCRAMBLE = 0, 1, 2
_FAR = 1 << 40


@inline
def is_due(timer: Ints, tick: int) -> bool:
    """Whether something that happens every `timer[1]` ticks from `timer[0]` on is due."""
    return bool(tick >= timer[0] and (tick - timer[0]) % timer[1] == 0)


@inline
def is_target(land: Land, r: Rules, w: int, junction: int, deed: int) -> bool:
    """Whether a deed can befall a junction: seeding any, the others one near the clips."""
    owner = land.junction_owner[w, junction]
    if deed == SEED:
        return True
    if deed == ALIGN and owner >= 0:
        return False
    if deed == SCRAMBLE and (owner < 0 or owner == r.teams):
        return False
    for j in range(land.junctions[w]):
        if land.junction_owner[w, j] == r.teams:
            near = apart(r.stride, land.junction_cell[w, j], land.junction_cell[w, junction])
            if near <= r.clips_reach:
                return True
    return False


@inline
def spread(land: Land, r: Rules, log: Log, w: int, tick: int, key: int) -> None:
    """Edition F: what is due befalls one junction each, drawn from those that it can befall."""
    for deed in range(3):
        timer = r.clips_seed if deed == SEED else r.clips_align
        if deed == SCRAMBLE:
            timer = r.clips_scramble
        if not is_due(timer, tick) or (deed == SEED and land.held[w, r.teams] > 0):
            continue
        targets = 0
        for j in range(land.junctions[w]):
            if is_target(land, r, w, j, deed):
                targets += 1
        if targets == 0:
            continue
        left = below(fold(key, _CLIPS_BRANCH), deed, targets)
        for j in range(land.junctions[w]):
            if is_target(land, r, w, j, deed):
                if left == 0:
                    kind = CLIPS_SCRAMBLE if deed == SCRAMBLE else CLIPS_ALIGN
                    note(log, w, kind, -1, j, land.junction_owner[w, j])
                    hand_over(land, r, w, j, -1 if deed == SCRAMBLE else r.teams)
                    break
                left -= 1


@inline
def nearest(land: Land, r: Rules, w: int, ship: int, deed: int, linked: Bools) -> int:
    """The junction nearest to a ship or its chain that a deed can befall, -1 if none is near."""
    best, found = _FAR, -1
    for j in range(land.junctions[w]):
        owner = land.junction_owner[w, j]
        fits = owner < 0 if deed == ALIGN else (owner >= 0 and owner != r.teams)
        if not fits:
            continue
        cell = land.junction_cell[w, j]
        near = apart(r.stride, land.ship_cell[w, ship], cell)
        for k in range(land.junctions[w]):
            if linked[k]:
                near = min(near, apart(r.stride, land.junction_cell[w, k], cell))
        if near <= r.ships_reach and near < best:
            best, found = near, j
    return found


@inline
def send_ships(land: Land, r: Rules, log: Log, linked: Bools, w: int, tick: int) -> None:
    """Edition A: each ship aligns the nearest neutral junction, then scrambles the nearest enemy's."""
    if not is_due(r.ships, tick):
        return
    for ship in range(land.ships[w]):
        for deed in range(ALIGN, SCRAMBLE + 1):
            connect(land, r, w, r.teams, ship, ship + 1, linked)
            j = nearest(land, r, w, ship, deed, linked)
            if j < 0:
                continue
            owner = land.junction_owner[w, j]
            note(log, w, CLIPS_ALIGN if deed == ALIGN else CLIPS_SCRAMBLE, -1, j, owner)
            hand_over(land, r, w, j, r.teams if deed == ALIGN else -1)
            if owner >= 0:
                prune(land, r, log, w, owner, linked)
