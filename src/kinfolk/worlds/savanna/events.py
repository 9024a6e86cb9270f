"""Events of the savanna, and the buffer in which kernels record them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinfolk.core.arrays import Floats, Ints
from kinfolk.core.jit import inline

# kind: uid, other, value
EVENT_KINDS = (
    "birth",  # child, parent, 1 if its type mutated
    "death",  # the dead, -1, index into DEATH_CAUSES; bites and captures name the predators
    "capture",  # helper, prey, energy gained
    "failed_capture",  # helper, prey, energy it cost
    "bite",  # predator, living prey, energy gained
    "carcass_bite",  # predator, carcass, energy gained
    "carcass",  # prey of which energy is left, predator that killed it, energy left
    "eat",  # prey, grass patch, energy gained
    "reproduction_blocked_due_to_capacity",  # agent that had no room for a child
    "reproduction_blocked_due_to_fertility",  # agent, -1, its age
    "fertility_expired",  # agent, -1, its age
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
N_EVENT_FIELDS = 4  # kind, uid, other, value
# In a step an agent can fail against nine neighbours and have one event of each other kind.
MAX_EVENTS_PER_ROW = 9 + len(EVENT_KINDS)


class EventBuffer(NamedTuple):
    """Buffer of the events of one step; nothing is recorded if its capacity is 0."""

    entries: Floats  # [W, capacity, N_EVENT_FIELDS]
    n_events: Ints  # [W] entries used


def allocate_event_buffer(n_worlds: int, n_rows: int, enabled: bool) -> EventBuffer:
    """Allocate a buffer for the events of one step.

    Args:
        n_worlds: Worlds of the batch.
        n_rows: Rows per world, which bound the number of events.
        enabled: False for a buffer of capacity 0.
    """
    capacity = MAX_EVENTS_PER_ROW * n_rows if enabled else 0
    return EventBuffer(
        np.zeros((n_worlds, capacity, N_EVENT_FIELDS)), np.zeros(n_worlds, dtype=np.int64)
    )


@inline
def record_event(
    events: EventBuffer, w: int, kind: int, uid: int, other: int, value: float
) -> None:
    """Append an event to the buffer of a world, if there is room.

    Args:
        events: Buffer to write to.
        w: World.
        kind: Index into `EVENT_KINDS`.
        uid: Agent it happened to.
        other: Second agent or grass patch, -1 if none.
        value: Amount; its meaning depends on the kind.
    """
    entry = events.n_events[w]
    if entry < events.entries.shape[1]:
        events.entries[w, entry, 0] = kind
        events.entries[w, entry, 1] = uid
        events.entries[w, entry, 2] = other
        events.entries[w, entry, 3] = value
        events.n_events[w] = entry + 1
