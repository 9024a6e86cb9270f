"""Happenings: what took place in a step, for those who watch."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinfolk.core.arrays import Floats, Ints
from kinfolk.core.jit import inline

# kind: who, whom, how much
EVENT_KINDS = (
    "birth",  # child, parent, 1 if its type mutated
    "death",  # the dead, -1, index into CAUSES; who ate it is told by bites and captures
    "capture",  # helper, prey, energy gained
    "failed_capture",  # helper, prey, energy it cost
    "bite",  # predator, living prey, energy gained
    "carcass_bite",  # predator, carcass, energy gained
    "carcass",  # prey that was bitten or captured and left, who did it, energy left
    "eat",  # prey, grass patch, energy gained
    "reproduction_blocked_due_to_capacity",  # the one that stays childless
    "reproduction_blocked_due_to_fertility",  # the one too old
    "fertility_expired",  # who, -1, its age
    "carcass_only_block",  # juvenile, the living prey it may not bite, its age
    "kick_back",  # grandparent, grandchild, reward
    "lineage_reward",  # ancestor, -1, reward
    "reproduction_reward",  # parent, child, reward
)
(
    BIRTH,
    DEATH,
    CAPTURE,
    FAILED_CAPTURE,
    BITE,
    CARCASS_BITE,
    CARCASS,
    EAT,
    CAPACITY_BLOCK,
    FERTILITY_BLOCK,
    FERTILITY_EXPIRED,
    CARCASS_ONLY_BLOCK,
    KICK_BACK,
    LINEAGE_REWARD,
    REPRODUCTION_REWARD,
) = range(len(EVENT_KINDS))
N_EVENT_FIELDS = 4  # kind, who, whom, how much
# A row can fail against nine neighbours and do one of each other thing in a step.
MAX_EVENTS_PER_ROW = 9 + len(EVENT_KINDS)


class EventBuffer(NamedTuple):
    """`[W, capacity, FIELDS]` and how many were kept; without capacity nothing is kept."""

    entries: Floats
    n_events: Ints


def allocate_event_buffer(n_worlds: int, n_rows: int, enabled: bool) -> EventBuffer:
    """A log with room for one step, or with none."""
    capacity = MAX_EVENTS_PER_ROW * n_rows if enabled else 0
    return EventBuffer(
        np.zeros((n_worlds, capacity, N_EVENT_FIELDS)), np.zeros(n_worlds, dtype=np.int64)
    )


@inline
def record_event(
    events: EventBuffer, w: int, kind: int, uid: int, other: int, value: float
) -> None:
    """Keep a happening, if there is room."""
    at = events.n_events[w]
    if at < events.entries.shape[1]:
        events.entries[w, at, 0] = kind
        events.entries[w, at, 1] = uid
        events.entries[w, at, 2] = other
        events.entries[w, at, 3] = value
        events.n_events[w] = at + 1
