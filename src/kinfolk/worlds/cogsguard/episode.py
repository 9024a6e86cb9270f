"""One tick of a game, as a list of phases.

The tick is cut into kernels so that a game compiles only what it plays: the clips of its edition,
and births only with the temple.
"""

from __future__ import annotations

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline, lean_kernel
from kinfolk.core.keys import fold
from kinfolk.worlds.cogsguard.actions import change_vibes, take_turns
from kinfolk.worlds.cogsguard.areas import land_of
from kinfolk.worlds.cogsguard.births import breed, lives_of
from kinfolk.worlds.cogsguard.bodies import folk_of
from kinfolk.worlds.cogsguard.clips import send_ships, spread
from kinfolk.worlds.cogsguard.network import prune
from kinfolk.worlds.cogsguard.rules import Rules
from kinfolk.worlds.cogsguard.state import State
from kinfolk.worlds.cogsguard.upkeep import affect, credit, maintain, reward_all

_TICK_BRANCH = 3  # of an episode's key; `founding` has the others


@inline
def tick_key(key: int, tick: int) -> int:
    """The key from which all chance of one tick follows."""
    made: int = fold(fold(key, _TICK_BRANCH), tick)
    return made


@lean_kernel
def act_all(
    s: State, r: Rules, log: Ints, actions: Ints, order: Ints, first: int, last: int
) -> None:
    """The clock goes on, agents act, then change their vibes; `order` is scratch."""
    land, folk, key, seen = land_of(s), folk_of(s), s.key, s.seen
    for w in range(first, last):
        log[w, 0, 0] = 0
        if s.done[w]:
            continue
        s.tick[w] += 1
        own = tick_key(key[w], s.tick[w])
        take_turns(land, folk, r, log, order, seen, w, own, actions)
        change_vibes(land, folk, r, w, actions)


@lean_kernel
def spread_clips(s: State, r: Rules, log: Ints, first: int, last: int) -> None:
    """Edition F: the events of the clips."""
    land = land_of(s)
    for w in range(first, last):
        if not s.done[w]:
            spread(land, r, log, w, s.tick[w], tick_key(s.key[w], s.tick[w]))


@lean_kernel
def send_clips(s: State, r: Rules, log: Ints, first: int, last: int) -> None:
    """Edition A: networks that agents broke shrink, then the clips' ships do their deeds."""
    land = land_of(s)
    for w in range(first, last):
        if not s.done[w]:
            prune(land, r, log, w)
            send_ships(land, r, log, w, s.tick[w])


@lean_kernel
def live_on(s: State, r: Rules, log: Ints, first: int, last: int) -> None:
    """Upkeep, then the effects of areas."""
    land, folk = land_of(s), folk_of(s)
    for w in range(first, last):
        if not s.done[w]:
            maintain(land.teams, folk.body, r, w, s.tick[w])
            affect(land, folk, r, log, w)


@lean_kernel
def breed_all(s: State, r: Rules, log: Ints, first: int, last: int) -> None:
    """Births, if the temple is open."""
    land, folk, lives = land_of(s), folk_of(s), lives_of(s)
    for w in range(first, last):
        if not s.done[w]:
            key = tick_key(s.key[w], s.tick[w])
            breed(lives, land, folk, r, log, w, s.tick[w], key)


@lean_kernel
def finish(s: State, r: Rules, first: int, last: int) -> None:
    """Agents are credited and paid, and the episode ends when time is up."""
    teams, reward, truncated = s.teams, s.reward, s.truncated
    for w in range(first, last):
        if not s.done[w]:
            credit(s.junction, s.stats, w)
            s.done[w] = reward_all(teams, r, reward, truncated, w, s.tick[w])
