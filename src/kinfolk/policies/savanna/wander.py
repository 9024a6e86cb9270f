"""Exploring: straight on in one direction for a while, turning where the way is barred.

The world does not say whether a move succeeded, and may not draw its border. So an agent compares
the walls and grass it sees with those it saw before: if nothing has shifted, it has not moved.
"""

from __future__ import annotations

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline
from kinfolk.core.keys import below
from kinfolk.policies.base import Cell
from kinfolk.policies.savanna.paths import can_go
from kinfolk.policies.savanna.window import GRASS, WALL, Sight

HEADING, LEFT, PICTURE = range(3)  # what is remembered of a walk
WALK = Cell((3,), "int64")
_SHORTEST, _LONGEST = 8, 16  # ticks in one direction
_TRIES = 8
_MODULUS = 1_000_003


@inline
def _picture(scene: Ints, side: int) -> int:
    """A number that stands for the walls and grass in view; 0 if there are none."""
    found, number = 0, 0
    for x in range(side):
        for y in range(side):
            mark = 1 if scene[WALL, x, y] != 0 else (2 if scene[GRASS, x, y] > 0 else 0)
            found += mark
            number = (number * 31 + mark) % _MODULUS
    return number + 1 if found > 0 else 0


@inline
def _ahead(sight: Sight, group: int, scene: Ints, heading: int) -> int:
    """The action that goes farthest along a heading (0 to 7), or -1 if all are barred."""
    compass = heading if heading < 4 else heading + 1  # the middle of 3 x 3 is no direction
    to_x, to_y = compass // 3 - 1, compass % 3 - 1
    best, most = -1, 0
    for action in range(sight.actions[group]):
        dx, dy = sight.moves[group, action, 0], sight.moves[group, action, 1]
        gain = dx * to_x + dy * to_y
        score = 8 * gain - abs(dx * to_y - dy * to_x)
        if gain <= 0 or score <= most:
            continue
        if can_go(scene, sight.side[group], sight.own[group], dx, dy):
            best, most = action, score
    return best


@inline
def wander(sight: Sight, group: int, scene: Ints, walk: Ints, place: int, key: int) -> int:
    """The next action of a walk; it stays put only where every direction tried is barred."""
    picture = _picture(scene, sight.side[group])
    stuck = picture != 0 and picture == walk[place, PICTURE]
    walk[place, PICTURE] = picture
    action = -1
    if walk[place, LEFT] > 0 and not stuck:
        walk[place, LEFT] -= 1
        action = _ahead(sight, group, scene, walk[place, HEADING])
    for attempt in range(_TRIES):
        if action >= 0:
            return action
        walk[place, HEADING] = below(key, attempt, 8)
        walk[place, LEFT] = _SHORTEST + below(key, _TRIES, _LONGEST - _SHORTEST + 1)
        action = _ahead(sight, group, scene, walk[place, HEADING])
    return action if action >= 0 else stay(sight, group)


@inline
def stay(sight: Sight, group: int) -> int:
    """The action that does not move."""
    for action in range(sight.actions[group]):
        if sight.moves[group, action, 0] == 0 and sight.moves[group, action, 1] == 0:
            return action
    return 0


@inline
def pause(walk: Ints, place: int) -> None:
    """Something else is done this tick: standing still then means nothing."""
    walk[place, PICTURE] = 0
