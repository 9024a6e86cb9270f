"""Count live descendants exactly, in O(depth) per birth and per death.

Arrays are `[worlds, max uids]`, indexed by world and uid. An agent has one line of descent here,
that of its first parent. Where both parents count, use `kinfolk.lineage.family` instead.
"""

from __future__ import annotations

from kinfolk.core.arrays import Bools, Ints
from kinfolk.core.jit import inline


@inline
def record_birth(
    parent: Ints,
    living: Bools,
    live_descendants: Ints,
    prev_live_descendants: Ints,
    w: int,
    uid: int,
    first_parent: int,
) -> None:
    """Register a newborn; every ancestor, dead or alive, gains a live descendant.

    Args:
        parent: Written: first parent of each uid, -1 for founders.
        living: Written: whether each uid is alive.
        live_descendants: Written: number of live descendants of each uid.
        prev_live_descendants: Written: that number at the last `update_descendant_change`.
        w: Index of the world.
        uid: Uid of the newborn.
        first_parent: Uid of its first parent, or -1 for a founder.
    """
    register_birth(parent, living, live_descendants, prev_live_descendants, w, uid, first_parent)
    count_birth(parent, live_descendants, w, uid)


@inline
def register_birth(
    parent: Ints,
    living: Bools,
    live_descendants: Ints,
    prev_live_descendants: Ints,
    w: int,
    uid: int,
    first_parent: int,
) -> None:
    """Register a newborn, which `count_birth` then counts; the arguments are those of `record_birth`.

    Args:
        parent: Written.
        living: Written.
        live_descendants: Written.
        prev_live_descendants: Written.
        w: Index of the world.
        uid: Uid of the newborn.
        first_parent: Uid of its first parent, or -1 for a founder.
    """
    parent[w, uid] = first_parent
    living[w, uid] = True
    live_descendants[w, uid] = 0
    prev_live_descendants[w, uid] = 0


@inline
def count_birth(parent: Ints, live_descendants: Ints, w: int, uid: int) -> None:
    """Give every ancestor of a newborn, dead or alive, a live descendant.

    Args:
        parent: Read: first parent of each uid, -1 for founders.
        live_descendants: Written: number of live descendants of each uid.
        w: Index of the world.
        uid: Uid of the newborn.
    """
    ancestor = parent[w, uid]
    while ancestor >= 0:
        live_descendants[w, ancestor] += 1
        ancestor = parent[w, ancestor]


@inline
def record_death(parent: Ints, living: Bools, live_descendants: Ints, w: int, uid: int) -> None:
    """Mark an agent as dead; every ancestor loses a live descendant. A second call does nothing.

    Args:
        parent: Read: first parent of each uid, -1 for founders.
        living: Written: whether each uid is alive.
        live_descendants: Written: number of live descendants of each uid.
        w: Index of the world.
        uid: Uid of the agent that died.
    """
    if living[w, uid]:
        living[w, uid] = False
        ancestor = parent[w, uid]
        while ancestor >= 0:
            live_descendants[w, ancestor] -= 1
            ancestor = parent[w, ancestor]


@inline
def update_descendant_change(
    live_descendants: Ints, prev_live_descendants: Ints, w: int, uid: int
) -> int:
    """Return how many live descendants an agent has gained, or lost, since the last call.

    Args:
        live_descendants: Read: number of live descendants of each uid.
        prev_live_descendants: Written: that number now, for the next call.
        w: Index of the world.
        uid: Uid of the agent.
    """
    change: int = live_descendants[w, uid] - prev_live_descendants[w, uid]
    if change != 0:
        prev_live_descendants[w, uid] = live_descendants[w, uid]
    return change


@inline
def compute_lineage_reward(coefficient: float, change: int, symmetric: bool) -> float:
    """Return the reward for a change in the number of live descendants.

    Args:
        coefficient: Reward per descendant.
        change: Descendants gained, negative if lost.
        symmetric: Whether losses give a negative reward; otherwise they give 0.
    """
    if change > 0 or symmetric:
        return coefficient * change
    return 0.0
