"""Lives that begin in other processes: given what parents remember, told of, told of again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kinfolk.core.arrays import AnyArray
from kinfolk.evaluation.guest import Trouble
from kinfolk.evaluation.household import PARENT_PLACES, PLACE, UID, Household, Unit
from kinfolk.evaluation.wire import BEGIN, EXPORT, raw


def begin_lives(house: Household, block: AnyArray) -> None:
    """Forward to every process that has lives to begin, and wait for all of them."""
    parts = list(house.parts(block))
    if house.by_agent:  # another agent sits here now, and has failed in nothing
        for unit, _ in parts:
            unit.down, unit.restarts = False, 0
            unit.lives.clear()
    for unit, part in parts:
        unit.lives |= {int(row[PLACE]): row.copy() for row in block[part]}
    house.make_ready([unit for unit, _ in parts if not unit.down])
    if house.by_agent:
        _inherit(house, [(unit, block[part][0]) for unit, part in parts])
    _tell(house, [(unit, block[part]) for unit, part in parts])


def begin_again(house: Household, parts: Sequence[tuple[Unit, slice]], block: AnyArray) -> None:
    """Processes that failed and may go on: made anew, told of their lives, all else lost."""
    again = [(unit, part) for unit, part in parts if unit.guest is None and not unit.down]
    if not again:
        return
    house.make_ready([unit for unit, _ in again])
    told = []
    for unit, part in again:
        lives = np.array([unit.lives[place] for place in block[part, PLACE].tolist()])
        lives[:, PARENT_PLACES] = -1
        told.append((unit, lives))
    _tell(house, told)


def _tell(house: Household, parts: Sequence[tuple[Unit, AnyArray]]) -> None:
    """Send the beginnings of lives, and wait until they have been heard."""
    care = house.care
    where = {}
    for unit, block in parts:
        if unit.guest is None:
            continue
        if house.by_agent:
            block = block.copy()
            block[:, PLACE] = 0
        unit.guest.post(BEGIN, raw(block))
        where[unit.guest] = unit, block[:, UID]
    failed = [
        (where[guest], said)
        for guest, said in house.circle.gather(where, care.step_timeout, care.start_timeout)
        if isinstance(said, Trouble)
    ]
    for (unit, uids), trouble in sorted(failed, key=lambda one: int(one[0][1][0])):
        house.fail(unit, trouble, "begin", uids)


def _inherit(house: Household, parts: Sequence[tuple[Unit, AnyArray]]) -> None:
    """Carry what parents remember from their processes to their children's."""
    wanted = sorted({p for _, row in parts for p in row[PARENT_PLACES].tolist() if p >= 0})
    givers = {p: guest for p in wanted if (guest := house.guest_at(p)) is not None}
    for guest in givers.values():
        guest.post(EXPORT)
    for guest, said in house.circle.gather(givers.values(), house.care.step_timeout):
        if isinstance(said, Trouble):  # its own agent will meet the same at its next question
            givers = {p: other for p, other in givers.items() if other is not guest}
    left = {
        p: guest.heirlooms[0].copy() for p, guest in givers.items() if guest.heirlooms is not None
    }
    for unit, row in parts:
        for side, parent in enumerate(row[PARENT_PLACES].tolist()):
            row[PARENT_PLACES.start + side] = 1 + side if parent in givers else -1
            if parent in left and unit.guest is not None and unit.guest.heirlooms is not None:
                unit.guest.heirlooms[1 + side] = left[parent]
