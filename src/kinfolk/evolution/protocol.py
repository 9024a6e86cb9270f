"""What a population asks of its nets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from kinfolk.core.arrays import AnyArray, Arrays, Bools, Ints


class NetPopulation(Protocol):
    """A population of networks; memory lies outside of them, and they hold no other state.

    A memory is None, an array or tensor `[nets, batch, ...]`, or a list or tuple of such.
    """

    @property
    def num_nets(self) -> int:
        """How many members."""
        ...

    def __call__(self, x: Any, memory: Any = None) -> tuple[Any, Any]:
        """`[nets, batch, inputs]` to `[nets, batch, outputs]`, and the memory after it."""
        ...

    def initial_memory(self, batch: int) -> Any:
        """What a row remembers before its first step."""
        ...

    def reset(self, memory: Any, done: Bools | None = None) -> Any:
        """Forget the rows of `done`, `[nets, batch]`, or all; what was learned stays."""
        ...

    def take(self, indices: Ints) -> None:
        """Member `i` becomes a copy of the member `indices[i]`."""
        ...

    def mutate(self, key: int, n_elites: int = 0) -> None:
        """Change all but the first `n_elites` members; member `i` draws from its share of `key`."""
        ...

    def adapt_memory(self, memory: Any) -> Any:
        """A memory from before the last mutation, made to fit."""
        ...

    def merge_copies(self, memories: Sequence[Any]) -> list[Any]:
        """Keep what was learned in copies that ran side by side; the memories without it."""
        ...

    def get_params(self) -> AnyArray:
        """`[nets, parameters]`."""
        ...

    def set_params(self, params: AnyArray) -> None:
        """Take parameters."""
        ...

    def to_arrays(self) -> dict[str, AnyArray]:
        """All that members carry."""
        ...

    def load_arrays(self, arrays: Arrays) -> None:
        """Become what `to_arrays` described."""
        ...
