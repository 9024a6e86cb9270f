"""The kernel that writes observations as compact words; see `spec`."""

from __future__ import annotations

from math import ceil

import numpy as np

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import allocation_free_kernel, inline
from kinfolk.worlds.savanna import spec
from kinfolk.worlds.savanna.codes import GRASS, PREDATOR, PREY
from kinfolk.worlds.savanna.sight.planes import (
    VisibleArrays,
    Words,
    WrittenRows,
    clear_empty_rows,
    clear_row,
    find_center,
)
from kinfolk.worlds.savanna.spec import ObservationTables


@inline
def quantize_energy(value: float, codes_per_energy: float) -> int:
    """Return the 10-bit code of an energy, rounded up."""
    return min(ceil(value * codes_per_energy), spec.MAX_CODE)


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
    shown, patch_cell = visible.visible_energy, visible.patch_cell
    padded_index, grass_codes = tables.padded_index, tables.grass_codes_per_energy
    if tables.dense:
        for cell in range(padded_index.shape[0]):
            index = padded_index[cell]
            work[index] = (
                np.int64(tables.empty_words[index])
                | quantize_energy(shown[w, PREDATOR, cell], spec.CODES_PER_ENERGY)
                << spec.PREDATOR_SHIFT
                | quantize_energy(shown[w, PREY, cell], spec.CODES_PER_ENERGY) << spec.PREY_SHIFT
                | quantize_energy(shown[w, GRASS, cell], grass_codes) << spec.GRASS_SHIFT
            )
        return
    for patch in range(patch_cell.shape[1]):
        cell = patch_cell[w, patch]
        index = padded_index[cell]
        code = quantize_energy(shown[w, GRASS, cell], grass_codes)
        work[index] = np.int64(work[index]) | code << spec.GRASS_SHIFT
    for k in range(2):
        shift = spec.PREDATOR_SHIFT if k == PREDATOR else spec.PREY_SHIFT
        for i in range(visible.n_alive[w, k]):
            row = visible.alive_rows[w, k, i]
            cell = visible.x[w, row] * tables.size + visible.y[w, row]
            index = padded_index[cell]
            code = quantize_energy(shown[w, k, cell], spec.CODES_PER_ENERGY)
            work[index] = np.int64(work[index]) | code << shift


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
    empty_words, padded_index = tables.empty_words, tables.padded_index
    patch_cell = visible.patch_cell
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
    mask = tables.mask_of[species]
    pattern = 0 if tables.forward_view else tables.pattern_of[mask, x * tables.size + y]
    visible_bits = tables.visible_bits[mask, pattern]
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
    n_rows, work = visible.uid.shape[1], tables.work_words[thread]
    n_alive, alive_rows, ended_rows = visible.n_alive, visible.alive_rows, visible.ended_rows
    for i_world in range(first, last):
        w = worlds[i_world]
        clear_empty_rows(visible, written, w, words)
        write_world_words(visible, tables, w, work)
        for k in range(2):
            for i in range(n_alive[w, k]):
                row = alive_rows[w, k, i]
                batch_row = w * n_rows + row
                x, y = find_center(visible, tables, w, k, row)
                n_words = write_window(tables, k, x, y, work, words, batch_row)
                clear_row(words, batch_row, n_words)
        for i in range(visible.n_ended[w]):
            row, n_words = ended_rows[w, i], 0
            batch_row = w * n_rows + row
            if not tables.zero_view:
                k = PREDATOR if visible.group[w, row] < tables.n_types else PREY
                x, y = find_center(visible, tables, w, k, row)
                n_words = write_window(tables, k, x, y, work, words, batch_row)
            clear_row(words, batch_row, n_words)
        restore_empty_words(visible, tables, w, work)
