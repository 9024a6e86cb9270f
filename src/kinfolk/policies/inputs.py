"""From what an agent is shown to the numbers a net takes in.

Floats are taken as they are and whole numbers as numbers. Words of cells are taken apart into planes,
as each world's `layout` describes them, and scaled so that most lie within -1 and 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from kinfolk.core.arrays import AnyArray, Bytes
from kinfolk.core.spaces import Field, Group, WorldSpec

Expand: TypeAlias = Callable[[AnyArray], AnyArray]
_ENERGY = 0.1  # savanna: energies go up to about ten


@dataclass(frozen=True)
class Inputs:
    """How a group's observations become rows of float32."""

    group: Group
    expand: tuple[tuple[str, Expand], ...]
    size: int

    def __call__(self, observations: Bytes) -> AnyArray:
        """`[rows, size]`."""
        parts = [
            np.asarray(expand(self.group.read(observations, name)), dtype=np.float32)
            for name, expand in self.expand
        ]
        flat = [part.reshape(len(observations), -1) for part in parts]
        return flat[0] if len(flat) == 1 else np.concatenate(flat, axis=1)


def inputs_of(spec: WorldSpec, group: int) -> Inputs:
    """How the observations of a group of a world are read."""
    owner = spec.groups[group]
    expand = tuple((field.name, _expand(spec.world, field)) for field in owner.fields)
    blank = Inputs(owner, expand, 0)
    size = blank(np.zeros((1, spec.row_bytes), dtype=np.uint8)).shape[1]
    return Inputs(owner, expand, size)


def _expand(world: str, field: Field) -> Expand:
    if world == "savanna":
        return _savanna_words if field.dtype == "uint32" else _savanna_planes
    if world == "cogsguard":
        from kinfolk.worlds.cogsguard.layout import features, planes

        return planes if field.name == "window" else features
    return _as_is


def _as_is(values: AnyArray) -> AnyArray:
    return values


def _savanna_planes(values: AnyArray) -> AnyArray:
    scaled: AnyArray = values * np.float32(_ENERGY)
    scaled[:, 0] = values[:, 0]  # walls
    scaled[:, 4:] = values[:, 4:]  # sight, where there is such a plane
    return scaled


def _savanna_words(words: AnyArray) -> AnyArray:
    from kinfolk.worlds.savanna.layout import (
        ENERGY_STEPS,
        GRASS_SHIFT,
        IN_SIGHT,
        MOST_CODE,
        PREDATOR_SHIFT,
        PREY_SHIFT,
        WALL_BIT,
    )

    bits = words.astype(np.int64)
    wall = (bits & WALL_BIT) > 0
    predator, prey = (
        (bits >> shift & MOST_CODE) * (_ENERGY / ENERGY_STEPS)
        for shift in (PREDATOR_SHIFT, PREY_SHIFT)
    )
    grass = (bits >> GRASS_SHIFT & MOST_CODE) / MOST_CODE
    return np.stack([wall, predator, prey, grass, (bits & IN_SIGHT) > 0], axis=1)
