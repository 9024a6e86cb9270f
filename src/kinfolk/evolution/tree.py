"""Memories of any shape: copied, taken by member, laid out as arrays and put together again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays, Ints


def map_arrays(function: Callable[[Any], Any], memory: Any) -> Any:
    """The memory with every array or tensor in it changed.

    Raises:
        TypeError: It is of no type that a memory can have.
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
    """A memory of its own."""
    return map_arrays(
        lambda part: part.copy() if isinstance(part, np.ndarray) else part.clone(), memory
    )


def take_members(memory: Any, indices: Ints) -> Any:
    """Member `i` gets the memory of the member `indices[i]`."""
    return map_arrays(lambda part: part[indices], memory)


def flatten(memory: Any, prefix: str) -> dict[str, AnyArray]:
    """Its arrays by name, in order; none for None."""
    found: dict[str, AnyArray] = {}

    def note(part: Any) -> Any:
        found[f"{prefix}/{len(found)}"] = np.asarray(part).copy()
        return part

    map_arrays(note, memory)
    return found


def unflatten(template: Any, arrays: Arrays, prefix: str) -> Any:
    """A memory like `template` from the arrays that `to_arrays` laid out; None if there are none."""
    if f"{prefix}/0" not in arrays:
        return None
    count = iter(range(len(arrays)))

    def fill(part: Any) -> Any:
        array = arrays[f"{prefix}/{next(count)}"].copy()
        return array if isinstance(part, np.ndarray) else part.new_tensor(array)

    return map_arrays(fill, template)
