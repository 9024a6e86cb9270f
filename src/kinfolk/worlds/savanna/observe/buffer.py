"""The state that observations are made of, and the rows of the caller's buffer.

Empty rows are zero. Only rows written in the call before are cleared, so the kernels need the same
buffer again; `SavannaWorld.observe` has all rows of a new one cleared.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kinfolk.core.arrays import Bools, Ints
from kinfolk.core.jit import inline
from kinfolk.worlds.savanna.state import RowIndices, SavannaState

Words = npt.NDArray[np.uint32]
Plane = npt.NDArray[np.float32]


class VisibleArrays(NamedTuple):
    """The arrays of the state that observations are made of."""

    uid: Ints
    group: Ints
    x: Ints
    y: Ints
    n_alive: Ints
    alive_rows: RowIndices
    ended_rows: RowIndices
    n_ended: Ints
    visible_energy: Plane
    patch_cell: Ints


def get_visible_arrays(state: SavannaState) -> VisibleArrays:
    """Return views of the arrays of a state that observations read."""
    return VisibleArrays(*(getattr(state, name) for name in VisibleArrays._fields))


class WrittenRows(NamedTuple):
    """Which rows of the caller's buffer hold observations."""

    is_known: Bools  # [W] False: the world's part of the buffer may hold anything
    rows: Ints  # [W, N] rows that were written
    n_rows: Ints  # [W] how many


@inline
def clear_row(words: Words, batch_row: int, first_word: int) -> None:
    """Zero a row of the buffer from `first_word` on.

    Args:
        words: `[W * N, row_words]`, written.
        batch_row: `world * N + row`.
        first_word: First word to zero: smaller windows do not fill a row.
    """
    for i in range(first_word, words.shape[1]):
        words[batch_row, i] = 0


@inline
def clear_stale_rows(uid: Ints, written: WrittenRows, w: int, words: Words) -> None:
    """Zero the rows that were written before and are empty now.

    Args:
        uid: `[W, N]`, -1 for empty rows.
        written: Rows written before; emptied.
        w: World.
        words: `[W * N, row_words]`, written.
    """
    rows = uid.shape[1]
    if not written.is_known[w]:
        for row in range(rows):
            clear_row(words, w * rows + row, 0)
        written.is_known[w] = True
    else:
        for i in range(written.n_rows[w]):
            row = written.rows[w, i]
            if uid[w, row] < 0:
                clear_row(words, w * rows + row, 0)
    written.n_rows[w] = 0


@inline
def mark_written(written: WrittenRows, w: int, row: int) -> None:
    """Record that a row of the buffer was written.

    Args:
        written: Rows written, appended to.
        w: World.
        row: Row that was written.
    """
    written.rows[w, written.n_rows[w]] = row
    written.n_rows[w] += 1
