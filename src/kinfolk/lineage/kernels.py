"""Live descendants, kept exact in O(depth) per birth and per death.

Arrays are `[worlds, lives]`, indexed by uid. A life has one line of descent here: that of its
first parent. Where both parents count, `kinfolk.lineage.metrics` walks the whole tree instead.
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
    """Enter the life `uid`; every ancestor, dead or alive, gains a live descendant."""
    parent[w, uid] = first_parent
    living[w, uid] = True
    live_descendants[w, uid] = 0
    prev_live_descendants[w, uid] = 0
    ancestor = first_parent
    while ancestor >= 0:
        live_descendants[w, ancestor] += 1
        ancestor = parent[w, ancestor]


@inline
def record_death(parent: Ints, living: Bools, live_descendants: Ints, w: int, uid: int) -> None:
    """Mark the life `uid` as over; every ancestor loses a live descendant. Twice is once."""
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
    """How many live descendants `uid` gained (or lost, if negative) since it was last asked."""
    change: int = live_descendants[w, uid] - prev_live_descendants[w, uid]
    prev_live_descendants[w, uid] = live_descendants[w, uid]
    return change


@inline
def compute_lineage_reward(coefficient: float, change: int, symmetric: bool) -> float:
    """What a change in live descendants pays; losses cost only when `symmetric`."""
    if change > 0 or symmetric:
        return coefficient * change
    return 0.0
