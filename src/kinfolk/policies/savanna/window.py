"""What an agent of the savanna has in view, decoded for kernels from either form of observation.

Energies of bodies come as the codes of the compact form (steps of 1/32, rounded up, at most 1023),
also when read from float32 planes, so both forms lead to the same decisions. Grass comes in steps
that differ between the forms: only compare it with other grass.
"""

from __future__ import annotations

import re
from math import ceil
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kinfolk.core.arrays import Bools, Bytes, Ints
from kinfolk.core.errors import SettingsError
from kinfolk.core.jit import inline
from kinfolk.core.spaces import Group, WorldSpec
from kinfolk.worlds.savanna.layout import (
    ENERGY_STEPS,
    GRASS_SHIFT,
    MOST_CODE,
    PREDATOR_SHIFT,
    PREY_SHIFT,
)

WALL, PREDATOR, PREY, GRASS = range(4)  # planes of a scene
_GRASS_STEPS = 512.0
_MOVE = re.compile(r"([+-]\d+)([+-]\d+)")

Words = npt.NDArray[np.uint32]
Planes = npt.NDArray[np.float32]


class Sight(NamedTuple):
    """Tables by group: how its windows are laid out, and what its actions do."""

    compact: Bools
    start: Ints  # the window's first word in a row
    side: Ints  # cells across; the agent stands in the middle
    own: Ints  # PREDATOR or PREY
    actions: Ints  # how many there are
    moves: Ints  # [groups, actions, 2] steps in x and y


def sight_of(spec: WorldSpec) -> Sight:
    """The tables of a world's face.

    Raises:
        SettingsError: It is not that of a savanna.
    """
    for group in spec.groups:
        if [field.name for field in group.fields] != ["window"] or len(group.heads) != 1:
            raise SettingsError(f"This policy plays the savanna; {spec.world} shows other things.")
    most = int(spec.choices.max())
    moves = np.zeros((len(spec.groups), most, 2), dtype=np.int64)
    for number, group in enumerate(spec.groups):
        moves[number, : len(group.heads[0].choices)] = _moves(group)
    fields = [group.fields[0] for group in spec.groups]
    return Sight(
        compact=np.array([field.dtype == "uint32" for field in fields]),
        start=np.array([group.offsets["window"] // 4 for group in spec.groups], dtype=np.int64),
        side=np.array([field.shape[-1] for field in fields], dtype=np.int64),
        own=np.array([PREDATOR if "predator" in g.name else PREY for g in spec.groups], np.int64),
        actions=np.ascontiguousarray(spec.choices[:, 0]),
        moves=moves,
    )


def _moves(group: Group) -> list[tuple[int, int]]:
    """What the names of the choices say: `+1-1`, or `stay`."""
    found = [_MOVE.fullmatch(choice) for choice in group.heads[0].choices]
    return [(int(m[1]), int(m[2])) if m else (0, 0) for m in found]


def as_words(observations: Bytes) -> tuple[Words, Planes]:
    """The rows as words and as floats: the same memory, or a copy where that is not fit."""
    fit = np.require(observations, requirements=["C", "W"])
    return fit.view(np.uint32), fit.view(np.float32)


@inline
def _code(value: float, steps: float, most: int) -> int:
    return max(0, min(ceil(np.float64(value) * steps), most))


@inline
def look(sight: Sight, group: int, words: Words, floats: Planes, row: int, scene: Ints) -> None:
    """Decode the window of one row into `scene`: planes `[4, side, side]` of whole numbers."""
    side, start = sight.side[group], sight.start[group]
    area = side * side
    for cell in range(area):
        x, y = cell // side, cell % side
        if sight.compact[group]:
            word = np.int64(words[row, start + cell])
            scene[WALL, x, y] = (word >> 1) & 1
            scene[PREDATOR, x, y] = (word >> PREDATOR_SHIFT) & MOST_CODE
            scene[PREY, x, y] = (word >> PREY_SHIFT) & MOST_CODE
            scene[GRASS, x, y] = (word >> GRASS_SHIFT) & MOST_CODE
        else:
            at = start + cell
            scene[WALL, x, y] = 1 if floats[row, at] > 0.0 else 0
            scene[PREDATOR, x, y] = _code(floats[row, at + area], ENERGY_STEPS, MOST_CODE)
            scene[PREY, x, y] = _code(floats[row, at + 2 * area], ENERGY_STEPS, MOST_CODE)
            scene[GRASS, x, y] = _code(floats[row, at + 3 * area], _GRASS_STEPS, 1 << 40)
