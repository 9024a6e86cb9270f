"""Events of CogsGuard, and the buffer in which kernels record them."""

from __future__ import annotations

import numpy as np

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline

# kind: row (-1: the clips), other, value. A former owner of -1 is nobody. Agents are recorded by row;
# since nobody dies, a row has one uid in an episode.
EVENT_KINDS = (
    "align",  # agent, junction, its former owner
    "scramble",  # agent, junction, its former owner
    "clips_align",  # -1, junction, its former owner
    "clips_scramble",  # -1, junction, its former owner
    "cut_off",  # -1, junction that lost its link to a hub or ship, its former owner
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
    """Allocate the event buffer `[W, 1 + capacity, N_EVENT_FIELDS]` for one step.

    The first entry of a world holds the number of entries that follow.

    Args:
        n_worlds: Worlds of the batch.
        n_rows: Rows per world.
        n_junctions: Junctions per world; with the rows they bound the number of events.
        enabled: False for a capacity of 0.
    """
    capacity = MAX_EVENTS_PER_ROW * n_rows + 4 * n_junctions + 16 if enabled else 0
    return np.zeros((n_worlds, 1 + capacity, N_EVENT_FIELDS), dtype=np.int64)


@inline
def record_event(events: Ints, w: int, kind: int, row: int, other: int, value: int) -> None:
    """Append an event to the buffer of a world, if there is room.

    Args:
        events: `[W, 1 + capacity, N_EVENT_FIELDS]`, written.
        w: World.
        kind: Index into `EVENT_KINDS`.
        row: Row of the agent, -1 for the clips.
        other: Second row, junction, element, gear or team.
        value: Amount, gear or former owner.
    """
    entry = events[w, 0, 0] + 1
    if entry < events.shape[1]:
        events[w, entry, 0] = kind
        events[w, entry, 1] = row
        events[w, entry, 2] = other
        events[w, entry, 3] = value
        events[w, 0, 0] = entry
