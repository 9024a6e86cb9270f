"""How the fields of known worlds are read by a net: which bits are what, and how numbers scale."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from kinfolk.core.arrays import Ints
from kinfolk.core.spaces import Field
from kinfolk.policies.neural.unpacking import NUMBER, ONE_HOT, Numbers32
from kinfolk.worlds.cogsguard import codes
from kinfolk.worlds.cogsguard.layout import SCALES
from kinfolk.worlds.savanna.layout import GRASS_SHIFT, MOST_CODE, PREDATOR_SHIFT, PREY_SHIFT

_ENERGY = 1.0 / 320.0  # codes are 32nds of energy; ten units of energy are 1 to a net
_SMALL = 1.0 / 16.0  # for whole numbers of which nothing is known


@dataclass(frozen=True, eq=False)
class Reading:
    """What a net makes of one field.

    With `parts`, words of cells become `planes` of the field's shape; without, plain numbers are
    multiplied by `scales`.
    """

    planes: int
    scales: Numbers32
    parts: Ints | None = None


def _words(*parts: tuple[int, int, int, float]) -> Reading:
    """Parts as (shift, mask, kind, scale); planes are given out in order."""
    table, plane = [], 0
    for shift, mask, kind, _ in parts:
        table.append((shift, mask, kind, plane))
        plane += 1 if kind == NUMBER else mask
    scales = np.array([scale for *_, scale in parts], dtype=np.float32)
    return Reading(plane, scales, np.array(table, dtype=np.int64))


_SAVANNA = _words(
    (0, 1, NUMBER, 1.0),
    (1, 1, NUMBER, 1.0),
    (PREDATOR_SHIFT, MOST_CODE, NUMBER, _ENERGY),
    (PREY_SHIFT, MOST_CODE, NUMBER, _ENERGY),
    (GRASS_SHIFT, MOST_CODE, NUMBER, 1.0 / MOST_CODE),
)
_COGS = _words(
    (0, codes.KIND_MASK, ONE_HOT, 1.0),
    (codes.OWNER_SHIFT, 3, ONE_HOT, 1.0),
    (codes.GEAR_SHIFT, 7, ONE_HOT, 1.0),
    (codes.VIBE_SHIFT, 7, ONE_HOT, 1.0),
    (12, 1, NUMBER, 1.0),
    (13, 1, NUMBER, 1.0),
)
_KNOWN_WORDS = {("savanna", "window", "uint32"): _SAVANNA, ("cogsguard", "window", "uint16"): _COGS}
_FACTS = (1.0 / SCALES).astype(np.float32)
_FACTS[[codes.GEAR, codes.VIBE]] = 1.0 / len(codes.VIBES)


def reading_of(world: str, field: Field) -> Reading:
    """How a field is read: as the world's layout says, else as plain numbers."""
    known = _KNOWN_WORDS.get((world, field.name, field.dtype))
    if known is not None:
        return known
    count = prod(field.shape)
    if (world, field.name) == ("cogsguard", "facts"):
        return Reading(1, _FACTS)
    if (world, field.name) == ("savanna", "window"):  # float32 planes, the first of them walls
        scales = np.full(field.shape, 0.1, dtype=np.float32)
        scales[0], scales[3], scales[4:] = 1.0, 0.5, 1.0
        return Reading(1, scales.reshape(-1))
    scale = 1.0 if np.dtype(field.dtype).kind == "f" else _SMALL
    return Reading(1, np.full(count, scale, dtype=np.float32))


def planes_of(world: str, field: Field) -> tuple[int, int, int] | None:
    """`(channels, height, width)` if the field is a window of cells, channels first; else None."""
    reading = reading_of(world, field)
    if reading.parts is not None and len(field.shape) == 2:
        return (reading.planes, field.shape[0], field.shape[1])
    if reading.parts is None and len(field.shape) == 3:
        return (field.shape[0], field.shape[1], field.shape[2])
    return None
