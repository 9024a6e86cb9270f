"""Actions of Gymnasium tasks: decoding of choices and numbers, and masks."""

from __future__ import annotations

from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete

from kinfolk.core.arrays import Ints
from kinfolk.core.spaces import decode_numbers


class MaskLayout(NamedTuple):
    """Where the action mask lies in the numbers of an observation."""

    offset: int
    n_choices: int


def decode_action(space: gymnasium.Space[Any], choices: Ints, bins: int | None) -> Any:
    """Convert choices into an action of the task.

    Args:
        space: The task's action space.
        choices: `[heads]`, one choice or number per component of the action.
        bins: Number of equidistant values of a continuous component; None if it is a number, which
            is clipped to the bounds of the space.
    """
    if isinstance(space, Discrete):
        return int(choices[0]) + int(space.start)
    if isinstance(space, MultiDiscrete):
        return choices.reshape(space.shape).astype(space.dtype) + space.start
    if isinstance(space, MultiBinary):
        return choices.reshape(space.shape).astype(space.dtype)
    assert isinstance(space, Box)  # checked when the world was made
    if bins is None:
        numbers = decode_numbers(choices).reshape(space.shape)
        return np.clip(numbers, space.low, space.high).astype(space.dtype)
    fraction = choices.reshape(space.shape) / (bins - 1)
    return (space.low + fraction * (space.high - space.low)).astype(space.dtype)
