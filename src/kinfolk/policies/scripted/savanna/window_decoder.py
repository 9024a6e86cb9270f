"""Decode the window of a savanna agent for kernels, from either observation format.

Energies of animals are the codes of the compact format (units of 1/32, rounded up, at most 1023), also
when read from float32 planes, so both formats lead to the same decisions. The units of grass differ
between the formats: only compare it with other grass.
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

WALL, PREDATOR, PREY, GRASS = range(4)  # planes of a decoded window
_GRASS_STEPS = 512.0  # units of grass energy from float32 planes
_MOVE_PATTERN = re.compile(r"([+-]\d+)([+-]\d+)")

Words = npt.NDArray[np.uint32]  # observations, viewed as words
Planes = npt.NDArray[np.float32]  # observations, viewed as floats


class WindowDecoder(NamedTuple):
    """Layout of the window and meaning of the actions, one entry per group."""

    is_compact: Bools  # packed words instead of float32 planes
    start: Ints  # column of the window's first word in an observation
    side: Ints  # cells across; the agent stands in the middle
    species: Ints  # PREDATOR or PREY
    n_actions: Ints
    moves: Ints  # [groups, actions, 2] steps in x and y


def make_window_decoder(spec: WorldSpec) -> WindowDecoder:
    """Return the decoder for the groups of a savanna.

    Raises:
        SettingsError: The spec is not that of a savanna.
    """
    for group in spec.groups:
        if [field.name for field in group.fields] != ["window"] or len(group.heads) != 1:
            raise SettingsError(
                f"This policy plays savanna; {spec.world} has other observations or actions."
            )
    moves = np.zeros((len(spec.groups), int(spec.n_choices.max()), 2), dtype=np.int64)
    for group_id, group in enumerate(spec.groups):
        moves[group_id, : len(group.heads[0].choices)] = _parse_moves(group)
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
    """Return the steps in x and y of every choice, from its name: `+1-1`, or `stay`."""
    matches = [_MOVE_PATTERN.fullmatch(choice) for choice in group.heads[0].choices]
    return [(int(match[1]), int(match[2])) if match else (0, 0) for match in matches]


def as_words(observations: Bytes) -> tuple[Words, Planes]:
    """Return views of the observations as uint32 and float32, copied if not contiguous."""
    contiguous = np.require(observations, requirements=["C", "W"])
    return contiguous.view(np.uint32), contiguous.view(np.float32)


@inline
def _quantize(value: float, steps: float, limit: int) -> int:
    """Return a number in integer units, rounded up and clipped to 0..`limit`.

    Args:
        value: The number.
        steps: Units per 1.0.
        limit: The largest result.
    """
    return max(0, min(ceil(np.float64(value) * steps), limit))


@inline
def decode_window(
    decoder: WindowDecoder, group: int, words: Words, floats: Planes, row: int, window: Ints
) -> None:
    """Decode the window of one observation into planes of integers.

    Args:
        decoder: Layout of the windows.
        group: Group of the agent.
        words: `[rows, columns]`, all observations as words.
        floats: The same as floats.
        row: Row of the observation.
        window: `[4, side, side]`, filled: wall, predator, prey and grass.
    """
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
            col = start + cell
            window[WALL, x, y] = 1 if floats[row, col] > 0.0 else 0
            window[PREDATOR, x, y] = _quantize(floats[row, col + area], CODES_PER_ENERGY, MAX_CODE)
            window[PREY, x, y] = _quantize(floats[row, col + 2 * area], CODES_PER_ENERGY, MAX_CODE)
            window[GRASS, x, y] = _quantize(floats[row, col + 3 * area], _GRASS_STEPS, 1 << 40)
