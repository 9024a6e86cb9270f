"""Operations on memories: nested lists and tuples of arrays or tensors, as in JAX's pytrees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays, Ints


def map_arrays(function: Callable[[Any], Any], memory: Any) -> Any:
    """Apply a function to every array or tensor of a memory and return the same structure.

    Raises:
        TypeError: The memory has a type that memories cannot have.
    """
    if memory is None:
        return None
    if isinstance(memory, list):
        return [map_arrays(function, part) for part in memory]
    if isinstance(memory, tuple):
        parts = [map_arrays(function, part) for part in memory]
        return type(memory)(*parts) if hasattr(memory, "_fields") else tuple(parts)
    if isinstance(memory, np.ndarray) or hasattr(memory, "clone"):
        return function(memory)
    raise TypeError(
        f"A memory is None, an array, a tensor, or a list or tuple of these, "
        f"not {type(memory).__name__}."
    )


def copy_arrays(memory: Any) -> Any:
    """Return a deep copy of a memory."""
    return map_arrays(
        lambda part: part.copy() if isinstance(part, np.ndarray) else part.clone(), memory
    )


def take_members(memory: Any, indices: Ints) -> Any:
    """Return a memory in which member `i` has that of the member `indices[i]`."""
    return map_arrays(lambda part: part[indices], memory)


def flatten(memory: Any, prefix: str) -> dict[str, AnyArray]:
    """Return copies of a memory's arrays as `PREFIX/0`, `PREFIX/1` and so on; none for None."""
    arrays: dict[str, AnyArray] = {}

    def add(part: Any) -> Any:
        arrays[f"{prefix}/{len(arrays)}"] = np.asarray(part).copy()
        return part

    map_arrays(add, memory)
    return arrays


def unflatten(template: Any, arrays: Arrays, prefix: str) -> Any:
    """Return the memory that `flatten` took apart; None if there are no arrays of the prefix.

    Args:
        template: A memory of the same structure.
        arrays: May hold arrays of other prefixes too.
        prefix: The prefix given to `flatten`.
    """
    if f"{prefix}/0" not in arrays:
        return None
    numbers = iter(range(len(arrays)))

    def fill(part: Any) -> Any:
        array = arrays[f"{prefix}/{next(numbers)}"].copy()
        return array if isinstance(part, np.ndarray) else part.new_tensor(array)

    return map_arrays(fill, template)
