"""The end of a step: kin are paid, the clock goes on, and the episode may be over."""

from __future__ import annotations

from kinfolk.core.jit import inline
from kinfolk.lineage.kernels import kin_change, kin_reward
from kinfolk.worlds.savanna.log import LINEAGE_REWARD, Log, note
from kinfolk.worlds.savanna.rules import Rules
from kinfolk.worlds.savanna.state import PREDATOR, PREY, State


@inline
def pay_kin(s: State, r: Rules, log: Log, first: int, last: int) -> None:
    """All the living, carcasses too, are paid for the change in their live descendants."""
    done, count, herd, uids = s.done, s.count, s.herd, s.uid
    live, prev = s.live_descendants, s.prev_live_descendants
    for w in range(first, last):
        if done[w]:
            continue
        for k in range(2):
            for i in range(count[w, k]):
                row = herd[w, k, i]
                uid = uids[w, row]
                change = kin_change(live, prev, w, uid)
                if change != 0:
                    kind = 2 * k + s.group[w, row] - k * r.types
                    pay = kin_reward(r.kin[kind], change, r.symmetric)
                    s.reward[w, row] += pay
                    note(log, w, LINEAGE_REWARD, uid, -1, pay)


@inline
def finish(s: State, r: Rules, first: int, last: int) -> None:
    """The episode ends when one species is gone or time is up; survivors are cut off."""
    for w in range(first, last):
        if s.done[w]:
            continue
        if r.zero_terminal:
            for i in range(s.ended_count[w]):
                s.reward[w, s.ended[w, i]] = 0.0
        s.tick[w] += 1
        extinct = s.active[w, PREDATOR] <= 0 or s.active[w, PREY] <= 0
        if extinct or s.tick[w] >= r.max_steps:
            s.done[w] = True
            for k in range(2):
                for i in range(s.count[w, k]):
                    s.truncated[w, s.herd[w, k, i]] = True
