"""The contract between a population and its networks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from kinfolk.core.arrays import AnyArray, Arrays, Bools, Ints


class NetPopulation(Protocol):
    """A population of networks without hidden state: memory is an argument and a result.

    A memory is None, an array or tensor `[nets, batch, ...]`, or a list or tuple of such.
    """

    @property
    def num_nets(self) -> int:
        """Return the number of members."""
        ...

    def __call__(self, x: Any, memory: Any = None) -> tuple[Any, Any]:
        """Map inputs `[nets, batch, inputs]` to outputs `[nets, batch, outputs]` and new memory."""
        ...

    def initial_memory(self, batch: int) -> Any:
        """Return the memory of `batch` rows per net before their first step."""
        ...

    def reset(self, memory: Any, done: Bools | None = None) -> Any:
        """Clear the memory of the rows of `done`, `[nets, batch]`, or of all; running statistics stay."""
        ...

    def take(self, indices: Ints) -> None:
        """Replace member `i` by a copy of the member `indices[i]`."""
        ...

    def mutate(self, key: int, n_elites: int = 0) -> None:
        """Mutate all but the first `n_elites` members; member `i` draws from `fold_in(key, i)`."""
        ...

    def adapt_memory(self, memory: Any) -> Any:
        """Return a memory from before the last mutation in the shape that the nets have now."""
        ...

    def merge_copies(self, memories: Sequence[Any]) -> list[Any]:
        """Merge the running statistics of copies into the nets; return the memories without them."""
        ...

    def get_params(self) -> AnyArray:
        """Return all parameters, `[nets, parameters]`."""
        ...

    def set_params(self, params: AnyArray) -> None:
        """Replace all parameters, `[nets, parameters]`."""
        ...

    def to_arrays(self) -> dict[str, AnyArray]:
        """Return everything that members carry, with the member as first axis."""
        ...

    def load_arrays(self, arrays: Arrays) -> None:
        """Replace the population by what `to_arrays` returned."""
        ...
