"""What agents see, written as `layout` describes it. Rows that nobody holds are zero."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import inline, lean_kernel
from kinfolk.worlds.cogsguard.codes import CELL, SPAWN, SUCCEEDED
from kinfolk.worlds.cogsguard.layout import (
    EAST_FACT,
    FACTS_COUNT,
    GONE_FACT,
    SOUTH_FACT,
    STORE_FACT,
    SUCCEEDED_FACT,
)
from kinfolk.worlds.cogsguard.rules import Rules
from kinfolk.worlds.cogsguard.state import Words


@inline
def window(view: Words, source: int, stride: int, side: int, out: Words, to: int) -> None:
    """Copy the cells whose first is `source`. Both arrays are flat.

    Indices are cast to uint64: those cannot count from the end, so the compiler copies many
    words at a time.
    """
    for i in range(side):
        at, here = to + i * side, source + i * stride
        for j in range(side):
            out[np.uint64(at + j)] = view[np.uint64(here + j)]


@inline
def facts(
    body: Ints, store: Ints, stride: int, gone: float, w: int, row: int, team: int,
    out: npt.NDArray[np.float32], to: int,
) -> None:  # fmt: skip
    """Write what an agent knows of itself and its team."""
    for column in range(SUCCEEDED):
        out[to + column] = body[w, row, column]
    for item in range(store.shape[2]):
        out[to + STORE_FACT + item] = store[w, team, item]
    cell, spawn = body[w, row, CELL], body[w, row, SPAWN]
    out[to + SOUTH_FACT] = cell // stride - spawn // stride
    out[to + EAST_FACT] = cell % stride - spawn % stride
    out[to + SUCCEEDED_FACT] = body[w, row, SUCCEEDED]
    out[to + GONE_FACT] = gone


@lean_kernel
def observe(
    view: Words,
    uid: Ints,
    body: Ints,
    store: Ints,
    tick: Ints,
    r: Rules,
    facts_at: int,
    worlds: Ints,
    first: int,
    last: int,
    bytes_: npt.NDArray[np.uint8],
    words: Words,
    floats: npt.NDArray[np.float32],
) -> None:
    """Write the rows of `worlds[first:last]`.

    `bytes_`, `words` and `floats` are one flat buffer; `facts_at` counts in bytes.
    """
    rows, places = uid.shape[1], uid.shape[0] * uid.shape[1]
    width = bytes_.shape[0] // places
    side, cells = 2 * r.pad + 1, view.shape[2]
    seen = view.reshape(-1)
    for at in range(first, last):
        w = worlds[at]
        gone = tick[w] / r.max_steps
        for row in range(rows):
            start = (w * rows + row) * width
            if uid[w, row] < 0:
                for byte in range(start, start + width):
                    bytes_[byte] = 0
                continue
            team = row // r.rows_per_team
            corner = body[w, row, CELL] - r.pad * r.stride - r.pad
            source = (w * r.teams + team) * cells + corner
            window(seen, source, r.stride, side, words, start // 2)
            for byte in range(start + 2 * side * side, start + facts_at):
                bytes_[byte] = 0
            for byte in range(start + facts_at + 4 * FACTS_COUNT, start + width):
                bytes_[byte] = 0
            facts(body, store, r.stride, gone, w, row, team, floats, (start + facts_at) // 4)
