"""The contract between a population and its networks, and operations on the networks' memories.

A memory is a nested list or tuple of arrays or tensors, as in JAX's pytrees.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays, Bools, Ints


class NetPopulation(Protocol):
    """A population of networks without hidden state: memory is an argument and a result.

    A memory is None, an array or tensor `[nets, batch, ...]`, or a list or tuple of such.
    """

    @property
    def num_nets(self) -> int:
        """Number of members of the population."""

    def __call__(self, x: Any, memory: Any = None) -> tuple[Any, Any]:
        """Map inputs `[nets, batch, inputs]` to outputs `[nets, batch, outputs]` and new memory."""

    def initial_memory(self, batch: int) -> Any:
        """Return the memory of `batch` rows per net before their first step."""

    def reset(self, memory: Any, done: Bools | None = None) -> Any:
        """Clear the memory of the rows of `done`, `[nets, batch]`, or of all; running statistics stay."""

    def take(self, indices: Ints) -> None:
        """Replace member `i` by a copy of the member `indices[i]`."""

    def mutate(self, key: int, n_elites: int = 0) -> None:
        """Mutate all but the first `n_elites` members; member `i` draws from `fold_in(key, i)`."""

    def adapt_memory(self, memory: Any) -> Any:
        """Return a memory from before the last mutation in the shape that the nets have now."""

    def merge_copies(self, memories: Sequence[Any]) -> list[Any]:
        """Merge the running statistics of copies into the nets; return the memories without them."""

    def get_params(self) -> AnyArray:
        """Return all parameters, `[nets, parameters]`."""

    def set_params(self, params: AnyArray) -> None:
        """Replace all parameters, `[nets, parameters]`."""

    def to_arrays(self) -> dict[str, AnyArray]:
        """Return everything that members carry, with the member as first axis."""

    def load_arrays(self, arrays: Arrays) -> None:
        """Replace the population by what `to_arrays` returned."""


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


def copy_memory(memory: Any) -> Any:
    """Return a deep copy of a memory."""
    return map_arrays(lambda x: x.copy() if isinstance(x, np.ndarray) else x.clone(), memory)


def take_members(memory: Any, indices: Ints) -> Any:
    """Return a memory in which member `i` has that of the member `indices[i]`."""
    return map_arrays(lambda part: part[indices], memory)


def flatten_memory(memory: Any, prefix: str) -> dict[str, AnyArray]:
    """Return copies of a memory's arrays by the names `PREFIX/0`, `PREFIX/1` and so on.

    Args:
        memory: A memory as `NetPopulation` describes it; None gives an empty dictionary.
        prefix: First part of the names.
    """
    parts: list[Any] = []
    map_arrays(parts.append, memory)
    return {f"{prefix}/{i}": np.asarray(part).copy() for i, part in enumerate(parts)}


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
