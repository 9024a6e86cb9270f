"""A grazer: the best grass nearby, away from predators.

Its nerves are tuned on 20 seeds against hunters: more timid grazers starve the hunters, bolder
ones are eaten up. Where a bite needs the prey's own cell, `weak=0, strong=1` fits better: on
lineage_documented, against hunters with `desperate=100`, episodes then last twice as long.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline, kernel
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.savanna.paths import MOST_COST, can_go, downhill, reset_field, spread
from kinfolk.policies.savanna.scripts import Script, refuse_nonsense
from kinfolk.policies.savanna.wander import pause, wander
from kinfolk.policies.savanna.window import (
    GRASS,
    PREDATOR,
    PREY,
    WALL,
    Planes,
    Sight,
    Words,
    look,
)

_GREED = MOST_COST  # steps farther that ripe grass is worth, compared with bare ground


class Nerves(NamedTuple):
    """How near predators may come."""

    weak: int  # those that together could not take it
    strong: int  # those that could


class Grazer(Script):
    """Plays prey: goes to good grass nearby, flees predators, explores when nothing is seen.

    Predators played by a grazer only wander.

    Args:
        spec: The face of a savanna, in either form of observation.
        weak: It flees predators that come so near, however weak.
        strong: It flees from so far predators that together have the energy to take it.
    """

    def __init__(self, spec: WorldSpec, weak: int = 1, strong: int = 2) -> None:
        refuse_nonsense("Grazer", weak=weak, strong=strong)
        super().__init__(spec, Nerves(int(weak), int(strong)))

    @classmethod
    def kernels(cls) -> tuple[Callable[..., None]]:
        """The one that grazes."""
        return (_graze,)


@inline
def _is_threatened(scene: Ints, side: int, nerves: Nerves) -> bool:
    """Whether predators are too near, which is farther for those that are strong together."""
    half, nearest, together = side // 2, side, 0
    for x in range(side):
        for y in range(side):
            if scene[PREDATOR, x, y] > 0:
                away = max(abs(x - half), abs(y - half))
                nearest = min(nearest, away)
                if away <= nerves.strong + 1:
                    together += scene[PREDATOR, x, y]
    is_strong = together >= scene[PREY, half, half]
    return nearest <= (nerves.strong if is_strong else nerves.weak)


@inline
def _safety(scene: Ints, side: int, x: int, y: int) -> int:
    """How good a cell is to flee to: far from the nearest predator, then from all, then open."""
    nearest, total, room = side, 0, 0
    for i in range(side):
        for j in range(side):
            away = max(abs(x - i), abs(y - j))
            if scene[PREDATOR, i, j] > 0:
                nearest = min(nearest, away)
                total += min(away, side)
            if away == 1 and scene[WALL, i, j] == 0:
                room += 1
    grass = 4 if 0 <= x < side and 0 <= y < side and scene[GRASS, x, y] > 0 else 0
    return 10_000 * nearest + 20 * total + room + grass


@inline
def _flee(sight: Sight, group: int, scene: Ints) -> int:
    """The move to the safest cell; the first of equals."""
    side, own = sight.side[group], sight.own[group]
    best, most = -1, -1
    for action in range(sight.actions[group]):
        dx, dy = sight.moves[group, action, 0], sight.moves[group, action, 1]
        if can_go(scene, side, own, dx, dy):
            safety = _safety(scene, side, side // 2 + dx, side // 2 + dy)
            if safety > most:
                best, most = action, safety
    return best


@inline
def _mark_grass(scene: Ints, side: int, field: Ints, nerves: Nerves) -> None:
    """Make goals of grass that no other prey stands on; poor grass counts as farther away."""
    half, best = side // 2, 0
    for x in range(side):
        for y in range(side):
            best = max(best, scene[GRASS, x, y])
    for x in range(side):
        for y in range(side):
            grass = scene[GRASS, x, y]
            taken = scene[PREY, x, y] > 0 and (x != half or y != half)
            if grass > 0 and not taken and _is_calm(scene, side, x, y, nerves.weak):
                field[x, y] = (_GREED * (best - grass)) // best


@inline
def _is_calm(scene: Ints, side: int, x: int, y: int, near: int) -> bool:
    """Whether no predator stands so near to a cell."""
    for i in range(max(x - near, 0), min(x + near + 1, side)):
        for j in range(max(y - near, 0), min(y + near + 1, side)):
            if scene[PREDATOR, i, j] > 0:
                return False
    return True


@kernel
def _graze(
    words: Words, floats: Planes, place: Ints, group: Ints, keys: Ints, walk: Ints, sight: Sight,
    scene: Ints, field: Ints, nerves: Nerves, out: Ints,
) -> None:  # fmt: skip
    for i in range(place.shape[0]):
        kind = group[i]
        look(sight, kind, words, floats, i, scene)
        side = sight.side[kind]
        action = -1
        if sight.own[kind] == PREY:
            if _is_threatened(scene, side, nerves):
                action = _flee(sight, kind, scene)
            else:
                reset_field(field, side)
                _mark_grass(scene, side, field, nerves)
                spread(scene, side, field)
                action = downhill(sight, kind, scene, field)
        if action >= 0:
            pause(walk, place[i])
        else:
            action = wander(sight, kind, scene, walk, place[i], keys[i])
        out[i, 0] = action
