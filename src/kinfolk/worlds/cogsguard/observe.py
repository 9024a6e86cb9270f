"""Kernels that write observations in the format that `spec` describes; empty rows are zero."""

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
    """Copy the window whose first cell is `source`; both arrays are flat.

    Indices are cast to uint64: unsigned indices need no check for negative values, so the compiler
    vectorises the copies.

    Args:
        view: Flat `[W, T, cells]`.
        source: Index of the window's first cell in `view`.
        stride: Cells per line of the padded map.
        side: Side of the window.
        out: Flat buffer, written.
        out_start: Index of the window's first word in `out`.
    """
    for i in range(side):
        target, line_start = out_start + i * side, source + i * stride
        for j in range(side):
            out[np.uint64(target + j)] = view[np.uint64(line_start + j)]


@inline
def write_facts(
    body: Ints, store: Ints, stride: int, elapsed: float, w: int, row: int, team: int,
    out: npt.NDArray[np.float32], out_start: int,
) -> None:  # fmt: skip
    """Write the facts of an agent about itself and its team.

    Args:
        body: `[W, N, BODY_COLUMNS]`.
        store: `[W, teams, elements and hearts]`.
        stride: Cells per line of the padded map.
        elapsed: Fraction of the episode that has passed.
        w: World.
        row: Row of the agent.
        team: Its team.
        out: Flat buffer, written.
        out_start: Index of the first fact in `out`.
    """
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
    """Write the observations of the worlds `worlds[first:last]`.

    `bytes_`, `words` and `floats` are views of one flat buffer.

    Args:
        view: `[W, T, cells]`, cells as each team sees them.
        uid: `[W, N]`, -1 for empty rows.
        body: `[W, N, BODY_COLUMNS]`.
        store: `[W, teams, elements and hearts]`.
        tick: `[W]`, steps since the reset.
        rules: Rules of the batch.
        facts_offset: Byte of a row at which the facts begin.
        worlds: Indices of worlds.
        first: First entry of `worlds`.
        last: End of the range, exclusive.
        bytes_: The buffer as bytes, written.
        words: The buffer as uint16, written.
        floats: The buffer as float32, written.
    """
    rows, n_batch_rows = uid.shape[1], uid.shape[0] * uid.shape[1]
    width = bytes_.shape[0] // n_batch_rows
    side, cells = 2 * rules.pad + 1, view.shape[2]
    flat_view = view.reshape(-1)
    for i in range(first, last):
        w = worlds[i]
        elapsed = tick[w] / rules.max_steps
        for row in range(rows):
            start = (w * rows + row) * width
            if uid[w, row] < 0:
                for byte in range(start, start + width):
                    bytes_[byte] = 0
                continue
            team = row // rules.rows_per_team
            corner = body[w, row, CELL] - rules.pad * rules.stride - rules.pad
            source = (w * rules.teams + team) * cells + corner
            write_window(flat_view, source, rules.stride, side, words, start // 2)
            for byte in range(start + 2 * side * side, start + facts_offset):
                bytes_[byte] = 0
            for byte in range(start + facts_offset + 4 * N_FACTS, start + width):
                bytes_[byte] = 0
            write_facts(
                body,
                store,
                rules.stride,
                elapsed,
                w,
                row,
                team,
                floats,
                (start + facts_offset) // 4,
            )
