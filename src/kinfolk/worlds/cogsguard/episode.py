"""One tick of a game, as a list of phases."""

from __future__ import annotations

from kinfolk.core.arrays import Bools, Ints
from kinfolk.core.jit import lean_kernel
from kinfolk.core.keys import fold
from kinfolk.worlds.cogsguard.actions import change_vibes, take_turns
from kinfolk.worlds.cogsguard.areas import land_of
from kinfolk.worlds.cogsguard.births import breed
from kinfolk.worlds.cogsguard.bodies import folk_of
from kinfolk.worlds.cogsguard.clips import send_ships, spread
from kinfolk.worlds.cogsguard.log import Log
from kinfolk.worlds.cogsguard.rules import Rules
from kinfolk.worlds.cogsguard.state import State
from kinfolk.worlds.cogsguard.upkeep import affect, maintain, reward_all

TICK_BRANCH = 3  # of an episode's key; `founding` has the others


@lean_kernel
def step(
    s: State, r: Rules, log: Log, actions: Ints, order: Ints, linked: Bools, first: int, last: int
) -> None:
    """One tick of the worlds `first` to `last` that are not done; `order` and `linked` are scratch."""
    land, folk = land_of(s), folk_of(s)
    for w in range(first, last):
        log.kept[w] = 0
        if s.done[w]:
            continue
        tick = s.tick[w] + 1
        s.tick[w] = tick
        key = fold(fold(s.key[w], TICK_BRANCH), tick)
        take_turns(land, folk, r, log, linked, order, s.count, w, key, actions)
        change_vibes(land, folk, r, s.count, w, actions)
        if r.clips:
            if r.territory:
                send_ships(land, r, log, linked, w, tick)
            else:
                spread(land, r, log, w, tick, key)
        maintain(folk, r, s.count, w, tick)
        affect(land, folk, r, log, s.count, w)
        if r.temple:
            breed(s, land, folk, r, log, w, key)
        s.done[w] = reward_all(land, r, s.count, s.reward, s.truncated, w, tick)
