"""Memories of any shape: copied, taken by member, laid out as arrays and put together again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays, Ints


def mapped(change: Callable[[Any], Any], memory: Any) -> Any:
    """The memory with every array or tensor in it changed.

    Raises:
        TypeError: It is of no type that a memory can have.
    """
    if memory is None:
        return None
    if isinstance(memory, list):
        return [mapped(change, part) for part in memory]
    if isinstance(memory, tuple):
        parts = [mapped(change, part) for part in memory]
        return type(memory)(*parts) if hasattr(memory, "_fields") else tuple(parts)
    if isinstance(memory, np.ndarray) or hasattr(memory, "clone"):
        return change(memory)
    raise TypeError(
        f"A memory is None, an array, a tensor, or a list or tuple of these, "
        f"not {type(memory).__name__}."
    )


def copied(memory: Any) -> Any:
    """A memory of its own."""
    return mapped(
        lambda part: part.copy() if isinstance(part, np.ndarray) else part.clone(), memory
    )


def taken(memory: Any, indices: Ints) -> Any:
    """Member `i` gets the memory of the member `indices[i]`."""
    return mapped(lambda part: part[indices], memory)


def to_arrays(memory: Any, prefix: str) -> dict[str, AnyArray]:
    """Its arrays by name, in order; none for None."""
    found: dict[str, AnyArray] = {}

    def note(part: Any) -> Any:
        found[f"{prefix}/{len(found)}"] = np.asarray(part).copy()
        return part

    mapped(note, memory)
    return found


def from_arrays(template: Any, arrays: Arrays, prefix: str) -> Any:
    """A memory like `template` from the arrays that `to_arrays` laid out; None if there are none."""
    if f"{prefix}/0" not in arrays:
        return None
    count = iter(range(len(arrays)))

    def fill(part: Any) -> Any:
        array = arrays[f"{prefix}/{next(count)}"].copy()
        return array if isinstance(part, np.ndarray) else part.new_tensor(array)

    return mapped(fill, template)
