"""Spaces of Gymnasium tasks: which are supported, and what their numbers are called in messages."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, MultiBinary, MultiDiscrete, Tuple
from gymnasium.spaces.utils import flatdim

from kinfolk.core.errors import SettingsError, find_definition


def count_numbers(task: str, env: Any) -> int:
    """Return how many numbers a flattened observation of an environment has.

    Args:
        task: Name of the task in error messages.
        env: The environment.

    Raises:
        SettingsError: Its observation space cannot be flattened, or there is none.
    """
    space = getattr(env, "observation_space", None)
    try:
        return flatdim(space)  # type: ignore[arg-type]
    except (AttributeError, NotImplementedError, ValueError):
        given = f"the observation space {space}" if space is not None else "no observation_space"
        raise SettingsError(
            f"gym:{task} has {given}; only spaces of a fixed number of numbers are supported: Box, "
            f"Discrete, MultiDiscrete, MultiBinary, Text, and Dict and Tuple of them"
            f"{locate_env(env)}."
        ) from None


def locate_env(env: Any) -> str:
    """Return where the class of an environment is defined, as ` (mine.py:14 in __init__)`."""
    kind = type(env.unwrapped)
    method = kind.__init__ if "__init__" in vars(kind) else kind.step
    if method.__module__.startswith("gymnasium.") and not kind.__module__.startswith("gymnasium."):
        return f" (class {kind.__qualname__} of {kind.__module__})"  # it has no methods of its own
    place = find_definition(method)
    return f" ({place})" if place else ""


def name_number(space: gymnasium.Space[Any], index: int, name: str = "observation") -> str:
    """Return the name of one number of a flattened observation, such as `observation['wind'][1]`.

    Args:
        space: The observation space.
        index: Which number.
        name: Name of the whole.

    >>> from gymnasium.spaces import Discrete
    >>> space = Dict({"goal": Discrete(3), "wind": Box(-1.0, 1.0, (2, 2))})
    >>> name_number(space, 1), name_number(space, 5)
    ("observation['goal']", "observation['wind'][1, 0]")
    """
    parts: Any = ()
    if isinstance(space, Dict):
        parts = space.spaces.items()
    elif isinstance(space, Tuple):
        parts = enumerate(space.spaces)
    for key, part in parts:
        size = flatdim(part)
        if index < size:
            return name_number(part, index, f"{name}[{key!r}]")
        index -= size
    if isinstance(space, Box | MultiBinary) and space.shape:
        place = np.unravel_index(index, space.shape)
        return f"{name}[{', '.join(str(int(i)) for i in place)}]"
    if isinstance(space, MultiDiscrete):
        ends = np.cumsum(space.nvec.ravel())
        return f"{name}[{int(np.searchsorted(ends, index, side='right'))}]"
    return name
