"""Observations as compact words of 32 bits per cell."""

from __future__ import annotations

from math import ceil

import numpy as np

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import allocation_free_kernel, inline
from kinfolk.worlds.savanna.observe.buffer import (
    VisibleArrays,
    Words,
    WrittenRows,
    clear_row,
    clear_stale_rows,
    mark_written,
)
from kinfolk.worlds.savanna.spec import (
    CODES_PER_ENERGY,
    GRASS_SHIFT,
    MAX_CODE,
    PREDATOR_SHIFT,
    PREY_SHIFT,
    ObservationTables,
)
from kinfolk.worlds.savanna.state import GRASS, PREDATOR, PREY


@inline
def quantize_energy(value: float, codes_per_energy: float) -> int:
    """Return the 10-bit code of an energy, rounded up."""
    return min(ceil(value * codes_per_energy), MAX_CODE)


@inline
def write_world_words(
    visible: VisibleArrays, tables: ObservationTables, w: int, work: Words
) -> None:
    """Write the words of one world's cells into `work`.

    Args:
        visible: Arrays of the state, read.
        tables: Layout of the padded grid and words of an empty world.
        w: World.
        work: `[(size + 2 border)**2]`, written; holds the empty world unless `tables.dense`.
    """
    shown, padded_index, patch_cell = (
        visible.visible_energy,
        tables.padded_index,
        visible.patch_cell,
    )
    if tables.dense:
        for cell in range(padded_index.shape[0]):
            index = padded_index[cell]
            work[index] = (
                np.int64(tables.empty_words[index])
                | quantize_energy(shown[w, PREDATOR, cell], CODES_PER_ENERGY) << PREDATOR_SHIFT
                | quantize_energy(shown[w, PREY, cell], CODES_PER_ENERGY) << PREY_SHIFT
                | quantize_energy(shown[w, GRASS, cell], tables.grass_codes_per_energy)
                << GRASS_SHIFT
            )
        return
    for patch in range(patch_cell.shape[1]):
        cell = patch_cell[w, patch]
        index = padded_index[cell]
        work[index] = (
            np.int64(work[index])
            | quantize_energy(shown[w, GRASS, cell], tables.grass_codes_per_energy) << GRASS_SHIFT
        )
    for k in range(2):
        shift = PREDATOR_SHIFT if k == PREDATOR else PREY_SHIFT
        for i in range(visible.n_alive[w, k]):
            row = visible.alive_rows[w, k, i]
            cell = visible.x[w, row] * tables.size + visible.y[w, row]
            index = padded_index[cell]
            work[index] = (
                np.int64(work[index])
                | quantize_energy(shown[w, k, cell], CODES_PER_ENERGY) << shift
            )


@inline
def restore_empty_words(
    visible: VisibleArrays, tables: ObservationTables, w: int, work: Words
) -> None:
    """Undo `write_world_words`, so that `work` holds the empty world again.

    Args:
        visible: Arrays of the state, read.
        tables: Layout of the padded grid and words of an empty world.
        w: World.
        work: `[(size + 2 border)**2]`, written.
    """
    if tables.dense:
        return  # the next world writes every cell anyway
    empty_words, padded_index, patch_cell = (
        tables.empty_words,
        tables.padded_index,
        visible.patch_cell,
    )
    for patch in range(patch_cell.shape[1]):
        index = padded_index[patch_cell[w, patch]]
        work[index] = empty_words[index]
    for k in range(2):
        for i in range(visible.n_alive[w, k]):
            row = visible.alive_rows[w, k, i]
            index = padded_index[visible.x[w, row] * tables.size + visible.y[w, row]]
            work[index] = empty_words[index]


@inline
def write_window(
    tables: ObservationTables, species: int, x: int, y: int, work: Words, out: Words, batch_row: int
) -> int:
    """Copy the words around one agent; for the casts see `write_planes`.

    Args:
        tables: Windows and visibility patterns.
        species: PREDATOR or PREY.
        x: The agent's x.
        y: The agent's y.
        work: `[(size + 2 border)**2]`, words of the agent's world.
        out: `[W * N, row_words]`, written.
        batch_row: `world * N + row` of the agent.

    Returns:
        How many words were written.
    """
    reach = tables.radius[species]
    side = 2 * reach + 1
    wide = tables.size + 2 * tables.border
    visible_bits = tables.visible_bits[species, tables.pattern_of[species, x * tables.size + y]]
    corner = (x + tables.border - reach) * wide + y + tables.border - reach
    for i in range(side):
        source, line_start = corner + i * wide, i * side
        for j in range(side):
            out[batch_row, np.uint64(line_start + j)] = (
                work[np.uint64(source + j)] & visible_bits[np.uint64(line_start + j)]
            )
    return int(side * side)


@allocation_free_kernel
def observe_words(
    visible: VisibleArrays,
    tables: ObservationTables,
    written: WrittenRows,
    worlds: Ints,
    first: int,
    last: int,
    words: Words,
    thread: int,
) -> None:
    """Write compact words for the worlds `worlds[first:last]`.

    Args:
        visible: Arrays of the state, read.
        tables: Layout, windows and visibility patterns.
        written: Rows written before, updated.
        worlds: Indices of worlds.
        first: First entry of `worlds`.
        last: End of the range, exclusive.
        words: `[W * N, row_words]`, written.
        thread: Index of the calling thread, which has its own `tables.work_words`.
    """
    rows = visible.uid.shape[1]
    n_alive, alive_rows, ended, xs, ys = (
        visible.n_alive,
        visible.alive_rows,
        visible.ended_rows,
        visible.x,
        visible.y,
    )
    work = tables.work_words[thread]
    for i_world in range(first, last):
        w = worlds[i_world]
        clear_stale_rows(visible.uid, written, w, words)
        write_world_words(visible, tables, w, work)
        for k in range(2):
            for i in range(n_alive[w, k]):
                row = alive_rows[w, k, i]
                batch_row = w * rows + row
                mark_written(written, w, row)
                n_words = write_window(tables, k, xs[w, row], ys[w, row], work, words, batch_row)
                clear_row(words, batch_row, n_words)
        for i in range(visible.n_ended[w]):
            row = ended[w, i]
            batch_row = w * rows + row
            mark_written(written, w, row)
            n_words = 0
            if not tables.zero_terminal:
                k = PREDATOR if visible.group[w, row] < tables.n_types else PREY
                n_words = write_window(tables, k, xs[w, row], ys[w, row], work, words, batch_row)
            clear_row(words, batch_row, n_words)
        restore_empty_words(visible, tables, w, work)
