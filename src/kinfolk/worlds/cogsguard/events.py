"""Happenings: what took place in a step, for those who watch."""

from __future__ import annotations

import numpy as np

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline

# kind: who (-1: the clips), whom or what, how much. A former owner of -1 is nobody. Agents are
# kept by row; since nobody dies, a row has one uid in an episode.
EVENT_KINDS = (
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
) = range(len(EVENT_KINDS))
N_EVENT_FIELDS = 4
MAX_EVENTS_PER_ROW = 6  # at most: a deposit of four elements, a birth, exhaustion


def allocate_event_buffer(n_worlds: int, n_rows: int, n_junctions: int, enabled: bool) -> Ints:
    """`[W, 1 + capacity, FIELDS]`: the first entry says how many follow.

    There is room for one step, or with `enabled` off for none.
    """
    capacity = MAX_EVENTS_PER_ROW * n_rows + 4 * n_junctions + 16 if enabled else 0
    return np.zeros((n_worlds, 1 + capacity, N_EVENT_FIELDS), dtype=np.int64)


@inline
def record_event(events: Ints, w: int, kind: int, row: int, other: int, value: int) -> None:
    """Keep a happening, if there is room."""
    at = events[w, 0, 0] + 1
    if at < events.shape[1]:
        events[w, at, 0] = kind
        events[w, at, 1] = row
        events[w, at, 2] = other
        events[w, at, 3] = value
        events[w, 0, 0] = at
