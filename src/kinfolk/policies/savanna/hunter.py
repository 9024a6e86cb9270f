"""A hunter: the nearest prey that it, with those beside it, is strong enough for.

It rests when full, for hunters that never rest eat up their prey (tuned on 20 seeds against
grazers). It does not know whether capture takes strength; where it does not, as in the lineage
presets, `desperate=100` makes it hunt whatever it sees.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline, kernel
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.savanna.paths import downhill, reset_field, spread
from kinfolk.policies.savanna.scripts import Script, refuse_nonsense
from kinfolk.policies.savanna.wander import pause, stay, wander
from kinfolk.policies.savanna.window import (
    PREDATOR,
    PREY,
    Planes,
    Sight,
    Words,
    look,
)
from kinfolk.worlds.savanna.layout import ENERGY_STEPS

_TOGETHER = 2  # team-mates so near to the hunter, or to the prey, hunt with it
_DETOUR = 2  # steps more that a team-mate beside prey is worth


class Temper(NamedTuple):
    """Energies, in the steps in which they are seen."""

    full: int  # does not hunt from here on
    desperate: int  # below this it hunts anything
    effort: int  # what each predator spends until the capture


class Hunter(Script):
    """Plays predators: hunts, joins a team-mate when too weak alone, explores when nothing is seen.

    Prey played by a hunter only wanders.

    Args:
        spec: The face of a savanna, in either form of observation.
        full: The energy from which on it rests.
        desperate: The energy below which it hunts what may be too strong for it.
        effort: The energy that it expects itself and each helper to lose until the capture.
    """

    def __init__(
        self, spec: WorldSpec, full: float = 9.0, desperate: float = 1.0, effort: float = 0.25
    ) -> None:
        refuse_nonsense("Hunter", full=full, desperate=desperate, effort=effort)
        super().__init__(
            spec, Temper(*(round(e * ENERGY_STEPS) for e in (full, desperate, effort)))
        )

    @classmethod
    def kernels(cls) -> tuple[Callable[..., None]]:
        """The one that hunts."""
        return (_hunt,)


@inline
def _distance(x: int, y: int, to_x: int, to_y: int) -> int:
    return max(abs(x - to_x), abs(y - to_y))


@inline
def _strength(scene: Ints, side: int, x: int, y: int, effort: int) -> int:
    """What the hunter and the team-mates near it or near the prey at x, y bring together."""
    half, total = side // 2, 0
    for i in range(side):
        for j in range(side):
            energy = scene[PREDATOR, i, j]
            if energy > effort:
                near = min(_distance(i, j, x, y), _distance(i, j, half, half))
                if near <= _TOGETHER:
                    total += energy - effort
    return total


@inline
def _mark_prey(scene: Ints, side: int, field: Ints, temper: Temper) -> int:
    """Make goals of the prey that can be taken; returns how many are too strong."""
    half, too_strong = side // 2, 0
    desperate = scene[PREDATOR, half, half] < temper.desperate
    for x in range(side):
        for y in range(side):
            energy = scene[PREY, x, y]
            if energy == 0:
                continue
            if desperate or _strength(scene, side, x, y, temper.effort) > energy:
                field[x, y] = 0
            else:
                too_strong += 1
    return too_strong


@inline
def _mark_mates(scene: Ints, side: int, field: Ints) -> None:
    """Make goals of team-mates; those near prey are worth a detour."""
    half = side // 2
    for x in range(side):
        for y in range(side):
            if scene[PREDATOR, x, y] == 0 or (x == half and y == half):
                continue
            field[x, y] = _DETOUR
            for i in range(max(x - _TOGETHER, 0), min(x + _TOGETHER + 1, side)):
                for j in range(max(y - _TOGETHER, 0), min(y + _TOGETHER + 1, side)):
                    if scene[PREY, i, j] > 0:
                        field[x, y] = 0


@kernel
def _hunt(
    words: Words, floats: Planes, place: Ints, group: Ints, keys: Ints, walk: Ints, sight: Sight,
    scene: Ints, field: Ints, temper: Temper, out: Ints,
) -> None:  # fmt: skip
    for i in range(place.shape[0]):
        kind = group[i]
        look(sight, kind, words, floats, i, scene)
        side = sight.side[kind]
        action = -1
        if sight.own[kind] == PREDATOR:
            if scene[PREDATOR, side // 2, side // 2] >= temper.full:
                action = stay(sight, kind)
            else:
                reset_field(field, side)
                too_strong = _mark_prey(scene, side, field, temper)
                spread(scene, side, field)
                action = downhill(sight, kind, scene, field)
                if action < 0 and too_strong > 0:
                    _mark_mates(scene, side, field)
                    spread(scene, side, field)
                    action = downhill(sight, kind, scene, field)
        if action >= 0:
            pause(walk, place[i])
        else:
            action = wander(sight, kind, scene, walk, place[i], keys[i])
        out[i, 0] = action
