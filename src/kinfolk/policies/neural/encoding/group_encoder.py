"""Encode the observations of one group as the input rows of evolved (numpy) nets.

Plain numbers are taken as they are. Words of cells are unpacked into planes, as each world's `spec`
describes them, and scaled so that most values lie within -1 and 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from kinfolk.core.arrays import AnyArray, Bytes
from kinfolk.core.spaces import AgentGroup, ObservationField, WorldSpec

FieldEncoder: TypeAlias = Callable[[AnyArray], AnyArray]
_ENERGY_SCALE = 0.1  # savanna: energies go up to about ten


@dataclass(frozen=True)
class GroupEncoder:
    """Turns the observations of a group into rows of float32 features."""

    group: AgentGroup
    field_encoders: tuple[tuple[str, FieldEncoder], ...]  # field name and its encoder, in order
    n_features: int  # columns of the result

    def __call__(self, observations: Bytes) -> AnyArray:
        """Return the features `[rows, n_features]` of observations `[rows, row_bytes]`."""
        parts = [
            np.asarray(encode(self.group.read_field(observations, name)), dtype=np.float32)
            for name, encode in self.field_encoders
        ]
        flat = [part.reshape(len(observations), -1) for part in parts]
        return flat[0] if len(flat) == 1 else np.concatenate(flat, axis=1)


def make_group_encoder(spec: WorldSpec, group: int) -> GroupEncoder:
    """Return the encoder for group number `group` of a world."""
    agents = spec.groups[group]
    encoders = tuple((field.name, _field_encoder(spec.world, field)) for field in agents.fields)
    unsized = GroupEncoder(agents, encoders, 0)
    n_features = unsized(np.zeros((1, spec.row_bytes), dtype=np.uint8)).shape[1]
    return GroupEncoder(agents, encoders, n_features)


def _field_encoder(world: str, field: ObservationField) -> FieldEncoder:
    """Return the function that turns one field into planes or numbers."""
    if world == "savanna":
        return _unpack_savanna_words if field.dtype == "uint32" else _scale_savanna_planes
    if world == "cogsguard":
        from kinfolk.worlds.cogsguard.spec import facts_to_features, window_to_planes

        return window_to_planes if field.name == "window" else facts_to_features
    return np.asarray


def _scale_savanna_planes(values: AnyArray) -> AnyArray:
    """Scale the energies in float32 planes `[n, planes, x, y]`."""
    scaled: AnyArray = values * np.float32(_ENERGY_SCALE)
    scaled[:, 0] = values[:, 0]  # walls
    scaled[:, 4:] = values[:, 4:]  # visibility, where there is such a plane
    return scaled


def _unpack_savanna_words(words: AnyArray) -> AnyArray:
    """Unpack compact words `[n, x, y]` into planes wall, predator, prey, grass, visibility."""
    from kinfolk.worlds.savanna.spec import (
        CODES_PER_ENERGY,
        GRASS_SHIFT,
        MAX_CODE,
        PREDATOR_SHIFT,
        PREY_SHIFT,
        VISIBLE_BIT,
        WALL_BIT,
    )

    bits = words.astype(np.int64)
    wall = (bits & WALL_BIT) > 0
    predator, prey = (
        (bits >> shift & MAX_CODE) * (_ENERGY_SCALE / CODES_PER_ENERGY)
        for shift in (PREDATOR_SHIFT, PREY_SHIFT)
    )
    grass = (bits >> GRASS_SHIFT & MAX_CODE) / MAX_CODE
    return np.stack([wall, predator, prey, grass, (bits & VISIBLE_BIT) > 0], axis=1)
