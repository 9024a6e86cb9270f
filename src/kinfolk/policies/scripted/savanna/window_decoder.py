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
from kinfolk.core.spaces import AgentGroup, WorldSpec
from kinfolk.worlds.savanna.spec import (
    CODES_PER_ENERGY,
    GRASS_SHIFT,
    MAX_CODE,
    PREDATOR_SHIFT,
    PREY_SHIFT,
)

WALL, PREDATOR, PREY, GRASS = range(4)  # planes of a scene
_GRASS_STEPS = 512.0
_MOVE_PATTERN = re.compile(r"([+-]\d+)([+-]\d+)")

Words = npt.NDArray[np.uint32]
Planes = npt.NDArray[np.float32]


class WindowDecoder(NamedTuple):
    """Tables by group: how its windows are laid out, and what its actions do."""

    is_compact: Bools
    start: Ints  # the window's first word in a row
    side: Ints  # cells across; the agent stands in the middle
    species: Ints  # PREDATOR or PREY
    n_actions: Ints  # how many there are
    moves: Ints  # [groups, actions, 2] steps in x and y


def make_window_decoder(spec: WorldSpec) -> WindowDecoder:
    """The tables of a world's face.

    Raises:
        SettingsError: It is not that of a savanna.
    """
    for group in spec.groups:
        if [field.name for field in group.fields] != ["window"] or len(group.heads) != 1:
            raise SettingsError(f"This policy plays the savanna; {spec.world} shows other things.")
    most = int(spec.n_choices.max())
    moves = np.zeros((len(spec.groups), most, 2), dtype=np.int64)
    for number, group in enumerate(spec.groups):
        moves[number, : len(group.heads[0].choices)] = _parse_moves(group)
    fields = [group.fields[0] for group in spec.groups]
    return WindowDecoder(
        is_compact=np.array([field.dtype == "uint32" for field in fields]),
        start=np.array([group.offsets["window"] // 4 for group in spec.groups], dtype=np.int64),
        side=np.array([field.shape[-1] for field in fields], dtype=np.int64),
        species=np.array(
            [PREDATOR if "predator" in g.name else PREY for g in spec.groups], np.int64
        ),
        n_actions=np.ascontiguousarray(spec.n_choices[:, 0]),
        moves=moves,
    )


def _parse_moves(group: AgentGroup) -> list[tuple[int, int]]:
    """What the names of the choices say: `+1-1`, or `stay`."""
    found = [_MOVE_PATTERN.fullmatch(choice) for choice in group.heads[0].choices]
    return [(int(m[1]), int(m[2])) if m else (0, 0) for m in found]


def as_words(observations: Bytes) -> tuple[Words, Planes]:
    """The rows as words and as floats: the same memory, or a copy where that is not fit."""
    fit = np.require(observations, requirements=["C", "W"])
    return fit.view(np.uint32), fit.view(np.float32)


@inline
def _quantize(value: float, steps: float, most: int) -> int:
    return max(0, min(ceil(np.float64(value) * steps), most))


@inline
def decode_window(
    decoder: WindowDecoder, group: int, words: Words, floats: Planes, row: int, window: Ints
) -> None:
    """Decode the window of one row into `window`: planes `[4, side, side]` of whole numbers."""
    side, start = decoder.side[group], decoder.start[group]
    area = side * side
    for cell in range(area):
        x, y = cell // side, cell % side
        if decoder.is_compact[group]:
            word = np.int64(words[row, start + cell])
            window[WALL, x, y] = (word >> 1) & 1
            window[PREDATOR, x, y] = (word >> PREDATOR_SHIFT) & MAX_CODE
            window[PREY, x, y] = (word >> PREY_SHIFT) & MAX_CODE
            window[GRASS, x, y] = (word >> GRASS_SHIFT) & MAX_CODE
        else:
            at = start + cell
            window[WALL, x, y] = 1 if floats[row, at] > 0.0 else 0
            window[PREDATOR, x, y] = _quantize(floats[row, at + area], CODES_PER_ENERGY, MAX_CODE)
            window[PREY, x, y] = _quantize(floats[row, at + 2 * area], CODES_PER_ENERGY, MAX_CODE)
            window[GRASS, x, y] = _quantize(floats[row, at + 3 * area], _GRASS_STEPS, 1 << 40)
