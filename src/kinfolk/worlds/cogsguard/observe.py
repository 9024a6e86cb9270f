"""What agents see, written as `layout` describes it. Rows that nobody holds are zero."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import allocation_free_kernel, inline
from kinfolk.worlds.cogsguard.codes import ACTION_SUCCEEDED, CELL, SPAWN_CELL
from kinfolk.worlds.cogsguard.rules import CogsguardRules
from kinfolk.worlds.cogsguard.spec import (
    EAST_FACT,
    ELAPSED_FACT,
    N_FACTS,
    SOUTH_FACT,
    STORE_FACT,
    SUCCEEDED_FACT,
)
from kinfolk.worlds.cogsguard.state import CellWords


@inline
def write_window(
    view: CellWords, source: int, stride: int, side: int, out: CellWords, out_start: int
) -> None:
    """Copy the cells whose first is `source`. Both arrays are flat.

    Indices are cast to uint64: those cannot count from the end, so the compiler copies many
    words at a time.
    """
    for i in range(side):
        at, here = out_start + i * side, source + i * stride
        for j in range(side):
            out[np.uint64(at + j)] = view[np.uint64(here + j)]


@inline
def write_facts(
    body: Ints, store: Ints, stride: int, elapsed: float, w: int, row: int, team: int,
    out: npt.NDArray[np.float32], out_start: int,
) -> None:  # fmt: skip
    """Write what an agent knows of itself and its team."""
    for column in range(ACTION_SUCCEEDED):
        out[out_start + column] = body[w, row, column]
    for item in range(store.shape[2]):
        out[out_start + STORE_FACT + item] = store[w, team, item]
    cell, spawn = body[w, row, CELL], body[w, row, SPAWN_CELL]
    out[out_start + SOUTH_FACT] = cell // stride - spawn // stride
    out[out_start + EAST_FACT] = cell % stride - spawn % stride
    out[out_start + SUCCEEDED_FACT] = body[w, row, ACTION_SUCCEEDED]
    out[out_start + ELAPSED_FACT] = elapsed


@allocation_free_kernel
def write_observations(
    view: CellWords,
    uid: Ints,
    body: Ints,
    store: Ints,
    tick: Ints,
    rules: CogsguardRules,
    facts_offset: int,
    worlds: Ints,
    first: int,
    last: int,
    bytes_: npt.NDArray[np.uint8],
    words: CellWords,
    floats: npt.NDArray[np.float32],
) -> None:
    """Write the rows of `worlds[first:last]`.

    `bytes_`, `words` and `floats` are one flat buffer; `facts_offset` counts in bytes.
    """
    rows, places = uid.shape[1], uid.shape[0] * uid.shape[1]
    width = bytes_.shape[0] // places
    side, cells = 2 * rules.pad + 1, view.shape[2]
    seen = view.reshape(-1)
    for at in range(first, last):
        w = worlds[at]
        gone = tick[w] / rules.max_steps
        for row in range(rows):
            start = (w * rows + row) * width
            if uid[w, row] < 0:
                for byte in range(start, start + width):
                    bytes_[byte] = 0
                continue
            team = row // rules.rows_per_team
            corner = body[w, row, CELL] - rules.pad * rules.stride - rules.pad
            source = (w * rules.teams + team) * cells + corner
            write_window(seen, source, rules.stride, side, words, start // 2)
            for byte in range(start + 2 * side * side, start + facts_offset):
                bytes_[byte] = 0
            for byte in range(start + facts_offset + 4 * N_FACTS, start + width):
                bytes_[byte] = 0
            write_facts(
                body, store, rules.stride, gone, w, row, team, floats, (start + facts_offset) // 4
            )
