"""Operations on memories of nets: nested lists or tuples of arrays or tensors, as JAX's pytrees."""

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


def list_arrays(memory: Any) -> list[Any]:
    """Return the arrays and tensors of a memory, in order."""
    parts: list[Any] = []
    map_arrays(parts.append, memory)
    return parts


def copy_memory(memory: Any) -> Any:
    """Return a deep copy of a memory."""
    return map_arrays(lambda x: x.copy() if isinstance(x, np.ndarray) else x.clone(), memory)


def take_members(memory: Any, indices: Ints | np.int64) -> Any:
    """Return a memory in which member `i` has that of the member `indices[i]`; or one member's."""
    return map_arrays(lambda part: part[indices], memory)


def clear_rows(memory: Any, done: AnyArray | None) -> Any:
    """Return a memory with the rows of `done`, `[nets, batch]`, set to zero; all rows if None."""

    def clear(part: Any) -> Any:
        """Return one array or tensor with its ended rows set to zero."""
        is_array = isinstance(part, np.ndarray)
        if done is None:
            return np.zeros_like(part) if is_array else part.new_zeros(part.shape)
        keep = ~np.asarray(done).reshape(*np.shape(done), *[1] * (part.ndim - 2))
        return part * (keep if is_array else part.new_tensor(keep))

    return map_arrays(clear, memory)


def flatten_memory(memory: Any, prefix: str) -> dict[str, AnyArray]:
    """Return copies of a memory's arrays by the names `PREFIX/0`, `PREFIX/1` and so on.

    Args:
        memory: A memory of nets; None gives an empty dictionary.
        prefix: First part of the names.
    """
    arrays = {}
    for i, part in enumerate(list_arrays(memory)):
        numbers = part if isinstance(part, np.ndarray) else part.detach()
        arrays[f"{prefix}/{i}"] = np.asarray(numbers).copy()
    return arrays


def unflatten_memory(template: Any, arrays: Arrays, prefix: str) -> Any:
    """Rebuild the memory that `flatten_memory` flattened; None if no array has the prefix.

    Args:
        template: A memory of the same structure.
        arrays: May hold arrays of other prefixes too.
        prefix: The prefix given to `flatten_memory`.
    """
    if f"{prefix}/0" not in arrays:
        return None
    numbers = iter(range(len(arrays)))

    def next_array_like(part: Any) -> Any:
        """Return the next stored array, as a tensor if `part` is one."""
        array = arrays[f"{prefix}/{next(numbers)}"].copy()
        return array if isinstance(part, np.ndarray) else part.new_tensor(array)

    return map_arrays(next_array_like, template)


def stack_memories(parts: list[Any]) -> Any:
    """Return one memory of several of the same structure, with a new first axis."""
    columns = [list_arrays(part) for part in parts]
    stacked = iter([np.stack(column) for column in zip(*columns, strict=True)])
    return map_arrays(lambda _: next(stacked), parts[0])


def split_members(memory: Any, members: int) -> list[Any]:
    """Return the memory of each member, without the first axis; None for each if it is None."""
    if memory is None:
        return [None] * members
    return [take_members(memory, np.int64(member)) for member in range(members)]
