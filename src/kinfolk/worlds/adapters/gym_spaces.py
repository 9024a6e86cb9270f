"""The spaces of a group, as Gymnasium writes them."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from kinfolk.core.spaces import Field, Group
from kinfolk.worlds.adapters.one_world import Observation


def observation_space(group: Group, bounds: tuple[float, float]) -> spaces.Space[Any]:
    """A box, or one per field if there are several. `bounds` are for numbers with a fraction."""
    boxes: dict[str, spaces.Space[Any]] = {f.name: _box(f, bounds) for f in group.fields}
    if len(boxes) == 1:
        return next(iter(boxes.values()))
    return spaces.Dict(boxes)


def _box(field: Field, bounds: tuple[float, float]) -> spaces.Box:
    dtype = np.dtype(field.dtype)
    low, high = bounds
    if dtype.kind in "iu":
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    elif dtype.kind == "b":
        low, high = 0, 1
    return spaces.Box(low, high, field.shape, dtype.type)


def action_space(group: Group) -> spaces.Space[Any]:
    """One choice, or one per head."""
    sizes = [len(head.choices) for head in group.heads]
    return spaces.Discrete(sizes[0]) if len(sizes) == 1 else spaces.MultiDiscrete(sizes)


def nothing_seen(group: Group) -> Observation:
    """The observation of an empty place: zeros."""
    blank = {field.name: np.zeros(field.shape, field.dtype) for field in group.fields}
    return next(iter(blank.values())) if len(blank) == 1 else blank


def stacked_observation_space(group: Group, rows: int, bounds: tuple[float, float]) -> spaces.Dict:
    """All fields of all rows, and who of them lives."""
    stacked = [Field(field.name, (rows, *field.shape), field.dtype) for field in group.fields]
    boxes: dict[str, spaces.Space[Any]] = {field.name: _box(field, bounds) for field in stacked}
    return spaces.Dict(boxes | {"alive": spaces.MultiBinary(rows)})


def stacked_action_space(group: Group, rows: int) -> spaces.MultiDiscrete:
    """One choice per row and head."""
    sizes = [len(head.choices) for head in group.heads]
    return spaces.MultiDiscrete(np.tile(np.array(sizes, dtype=np.int64), (rows, 1)))
