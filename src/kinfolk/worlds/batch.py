"""What every batch of worlds shows in the same way: its spec and read-only views of its state."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinfolk.core.arrays import Bools, Ints, read_only
from kinfolk.core.errors import require
from kinfolk.core.spaces import WorldSpec
from kinfolk.worlds.base import Columns


class Batch:
    """Base of worlds whose state is a NamedTuple with the world as first axis.

    The state has `tick`, `done` and an array `[W, N, ...]` for each of `Columns`; these arrays
    must stay where they are.
    """

    def __init__(self, spec: WorldSpec, state: Any) -> None:
        worlds, rows = state.uid.shape
        self._spec = spec
        self._all = np.arange(worlds, dtype=np.int64)
        self._done, self._tick = read_only(state.done), read_only(state.tick)
        arrays = {name: getattr(state, name) for name in Columns._fields}
        self._columns = Columns(
            **{n: read_only(a.reshape(worlds * rows, *a.shape[2:])) for n, a in arrays.items()}
        )

    @property
    def spec(self) -> WorldSpec:
        """What it shows and takes."""
        return self._spec

    @property
    def worlds(self) -> int:
        """How many run side by side."""
        return len(self._all)

    @property
    def columns(self) -> Columns:
        """Read-only views of every place."""
        return self._columns

    @property
    def done(self) -> Bools:
        """Whose episode has ended."""
        return self._done

    @property
    def tick(self) -> Ints:
        """Steps since the reset."""
        return self._tick


def check_worlds(worlds: int) -> None:
    """Refuse an empty batch before arrays are made for it."""
    require(worlds >= 1, f"A batch needs at least 1 world, not {worlds}.")
