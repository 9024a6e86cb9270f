"""Happenings: what took place in a step, for those who watch."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinfolk.core.arrays import Floats, Ints
from kinfolk.core.jit import inline

# kind: who (-1: the clips), whom or what, how much. A former owner of -1 is nobody.
HAPPENINGS = (
    "align",  # agent, junction, its former owner
    "scramble",  # agent, junction, its former owner
    "clips_align",  # -1, junction, its former owner
    "clips_scramble",  # -1, junction, its former owner
    "cut_off",  # -1, junction without a way to its hub, its former owner
    "mine",  # agent, element, amount
    "extractor_emptied",  # agent, element, extractor
    "deposit",  # agent, element, amount
    "heart_made",  # agent, team, 1
    "heart_taken",  # agent, team, 1
    "gear",  # agent, gear it had, gear it has now
    "birth",  # child, first parent, second parent
    "exhausted",  # agent, gear it lost, hearts it lost
)
(
    ALIGN,
    SCRAMBLE,
    CLIPS_ALIGN,
    CLIPS_SCRAMBLE,
    CUT_OFF,
    MINE,
    EXTRACTOR_EMPTIED,
    DEPOSIT,
    HEART_MADE,
    HEART_TAKEN,
    GEAR_CHANGE,
    BIRTH,
    EXHAUSTED,
) = range(len(HAPPENINGS))
FIELDS = 4
PER_ROW = 6  # at most: a deposit of four elements, a birth, exhaustion


class Log(NamedTuple):
    """`[W, capacity, FIELDS]` and how many were kept; without capacity nothing is kept."""

    entries: Floats
    kept: Ints


def empty_log(worlds: int, rows: int, junctions: int, watching: bool) -> Log:
    """A log with room for one step, or with none."""
    capacity = PER_ROW * rows + 4 * junctions + 16 if watching else 0
    return Log(np.zeros((worlds, capacity, FIELDS)), np.zeros(worlds, dtype=np.int64))


@inline
def note(log: Log, w: int, kind: int, who: int, whom: int, value: int) -> None:
    """Keep a happening, if there is room."""
    at = log.kept[w]
    if at < log.entries.shape[1]:
        log.entries[w, at, 0] = kind
        log.entries[w, at, 1] = who
        log.entries[w, at, 2] = whom
        log.entries[w, at, 3] = value
        log.kept[w] = at + 1
