"""The end of a step: kin are paid, the clock goes on, and the episode may be over."""

from __future__ import annotations

from kinfolk.core.arrays import Bools, Floats, Ints
from kinfolk.core.jit import inline
from kinfolk.lineage.kernels import kin_change, kin_reward
from kinfolk.worlds.savanna.log import LINEAGE_REWARD, Log, note
from kinfolk.worlds.savanna.passing import Herds
from kinfolk.worlds.savanna.removal import Kin
from kinfolk.worlds.savanna.state import PREDATOR, PREY


@inline
def pay_kin(
    h: Herds,
    kin: Kin,
    log: Log,
    group: Ints,
    coefficient: Floats,
    types: int,
    symmetric: bool,
    first: int,
    last: int,
) -> None:
    """All the living, carcasses too, are paid for the change in their live descendants."""
    for w in range(first, last):
        if h.done[w]:
            continue
        for k in range(2):
            for i in range(h.length[w, k]):
                row = h.herd[w, k, i]
                uid = h.uid[w, row]
                change = kin_change(kin.live, kin.prev, w, uid)
                if change != 0:
                    own = coefficient[2 * k + group[w, row] - k * types]
                    pay = kin_reward(own, change, symmetric)
                    h.reward[w, row] += pay
                    note(log, w, LINEAGE_REWARD, uid, -1, pay)


@inline
def finish(
    h: Herds,
    tick: Ints,
    active: Ints,
    truncated: Bools,
    max_steps: int,
    zero_terminal: bool,
    first: int,
    last: int,
) -> None:
    """The episode ends when one species is gone or time is up; survivors are cut off."""
    for w in range(first, last):
        if h.done[w]:
            continue
        if zero_terminal:
            for i in range(h.ended_count[w]):
                h.reward[w, h.ended[w, i]] = 0.0
        tick[w] += 1
        extinct = active[w, PREDATOR] <= 0 or active[w, PREY] <= 0
        if extinct or tick[w] >= max_steps:
            h.done[w] = True
            for k in range(2):
                for i in range(h.length[w, k]):
                    truncated[w, h.herd[w, k, i]] = True
