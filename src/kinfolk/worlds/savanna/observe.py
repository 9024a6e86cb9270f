"""Kernels that write observations, as float32 planes or as compact words; see `spec`.

Empty rows are zero. Only rows written in the call before are cleared, so the kernels need the same
buffer again; `SavannaWorld.observe` has all rows of a new one cleared.
"""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kinfolk.core.arrays import Bools, Ints
from kinfolk.core.jit import allocation_free_kernel, inline
from kinfolk.worlds.savanna import spec
from kinfolk.worlds.savanna.codes import GRASS, PREDATOR, PREY
from kinfolk.worlds.savanna.spec import ObservationTables
from kinfolk.worlds.savanna.state import Plane, RowIndices

Words = npt.NDArray[np.uint32]


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


class WrittenRows(NamedTuple):
    """Which rows of the caller's buffer hold observations."""

    is_known: Bools  # [W] False: the world's part of the buffer may hold anything
    rows: RowIndices  # [W, N] rows that were written
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
def clear_empty_rows(visible: VisibleArrays, written: WrittenRows, w: int, words: Words) -> None:
    """Zero the rows that were written before and are empty now, and list those written next.

    Args:
        visible: Reads uids, and the rows of the living and of those that just died.
        written: Rows written before; becomes the list.
        w: World.
        words: `[W * N, row_words]`, written.
    """
    n_rows = visible.uid.shape[1]
    if not written.is_known[w]:
        for row in range(n_rows):
            clear_row(words, w * n_rows + row, 0)
        written.is_known[w] = True
    else:
        for i in range(written.n_rows[w]):
            row = written.rows[w, i]
            if visible.uid[w, row] < 0:
                clear_row(words, w * n_rows + row, 0)
    count = 0
    for species in range(2):
        for i in range(visible.n_alive[w, species]):
            written.rows[w, count] = visible.alive_rows[w, species, i]
            count += 1
    for i in range(visible.n_ended[w]):
        written.rows[w, count] = visible.ended_rows[w, i]
        count += 1
    written.n_rows[w] = count


@inline
def write_planes(
    shown: Plane,
    tables: ObservationTables,
    species: int,
    x: int,
    y: int,
    world_offset: int,
    out: Plane,
    out_start: int,
) -> int:
    """Write the float32 planes of one agent, laid out as in PredPreyGrass.

    `shown` and `out` are flat, and indices are cast to uint64: unsigned indices need no check for
    negative values, so the compiler vectorises the copies.

    Args:
        shown: Flat `[W, 3, cells]`, energies of predators, prey and grass.
        tables: Walls, visibility patterns and windows.
        species: PREDATOR or PREY.
        x: The agent's x.
        y: The agent's y.
        world_offset: Index of the world's first number in `shown`.
        out: Flat buffer, written.
        out_start: Index of the agent's first number in `out`.

    Returns:
        How many numbers were written.
    """
    reach, size = tables.radius[species], tables.size
    side = 2 * reach + 1
    area = side * side
    visible = tables.visible[species, tables.pattern_of[species, x * size + y]]
    x, y = x - reach, y - reach
    low, high = max(0, -y), min(side, size - y)
    if x < 0 or y < 0 or x + side > size or y + side > size:
        edge = np.float32(1.0) if tables.draw_border else np.float32(0.0)
        for j in range(out_start, out_start + area):
            out[np.uint64(j)] = edge
        for j in range(out_start + area, out_start + 4 * area):
            out[np.uint64(j)] = np.float32(0.0)
    for i in range(max(0, -x), min(side, size - x)):
        line_start = i * side
        cell = (x + i) * size + y
        for j in range(low, high):
            out[np.uint64(out_start + line_start + j)] = tables.walls[np.uint64(cell + j)]
        for plane in range(3):
            target = out_start + (plane + 1) * area + line_start
            source = world_offset + plane * size * size + cell
            if tables.masks_hidden_cells:
                for j in range(low, high):
                    out[np.uint64(target + j)] = (
                        shown[np.uint64(source + j)] * visible[np.uint64(line_start + j)]
                    )
            else:
                for j in range(low, high):
                    out[np.uint64(target + j)] = shown[np.uint64(source + j)]
    if tables.has_visibility_channel:
        for j in range(area):
            out[np.uint64(out_start + 4 * area + j)] = visible[np.uint64(j)]
        return int(5 * area)
    return int(4 * area)


@allocation_free_kernel
def observe_planes(
    visible: VisibleArrays,
    tables: ObservationTables,
    written: WrittenRows,
    worlds: Ints,
    first: int,
    last: int,
    words: Words,
    floats: Plane,
) -> None:
    """Write float32 planes for the worlds `worlds[first:last]`.

    Args:
        visible: Arrays of the state, read.
        tables: Walls, visibility patterns and windows.
        written: Rows written before, updated.
        worlds: Indices of worlds.
        first: First entry of `worlds`.
        last: End of the range, exclusive.
        words: `[W * N, row_words]`, the buffer as uint32.
        floats: The same buffer, flat, as float32.
    """
    n_rows, width = visible.uid.shape[1], words.shape[1]
    n_alive, alive_rows, ended_rows = visible.n_alive, visible.alive_rows, visible.ended_rows
    xs, ys, shown = visible.x, visible.y, visible.visible_energy.reshape(-1)
    for i_world in range(first, last):
        w = worlds[i_world]
        offset = w * 3 * tables.size * tables.size
        clear_empty_rows(visible, written, w, words)
        for k in range(2):
            for i in range(n_alive[w, k]):
                row = alive_rows[w, k, i]
                x, y, start = xs[w, row], ys[w, row], (w * n_rows + row) * width
                n_words = write_planes(shown, tables, k, x, y, offset, floats, start)
                clear_row(words, w * n_rows + row, n_words)
        for i in range(visible.n_ended[w]):
            row, n_words = ended_rows[w, i], 0
            if not tables.zero_terminal:
                k = PREDATOR if visible.group[w, row] < tables.n_types else PREY
                x, y, start = xs[w, row], ys[w, row], (w * n_rows + row) * width
                n_words = write_planes(shown, tables, k, x, y, offset, floats, start)
            clear_row(words, w * n_rows + row, n_words)


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
    n_rows, work = visible.uid.shape[1], tables.work_words[thread]
    n_alive, alive_rows, ended_rows = visible.n_alive, visible.alive_rows, visible.ended_rows
    xs, ys = visible.x, visible.y
    for i_world in range(first, last):
        w = worlds[i_world]
        clear_empty_rows(visible, written, w, words)
        write_world_words(visible, tables, w, work)
        for k in range(2):
            for i in range(n_alive[w, k]):
                row = alive_rows[w, k, i]
                batch_row = w * n_rows + row
                n_words = write_window(tables, k, xs[w, row], ys[w, row], work, words, batch_row)
                clear_row(words, batch_row, n_words)
        for i in range(visible.n_ended[w]):
            row, n_words = ended_rows[w, i], 0
            batch_row = w * n_rows + row
            if not tables.zero_terminal:
                k = PREDATOR if visible.group[w, row] < tables.n_types else PREY
                n_words = write_window(tables, k, xs[w, row], ys[w, row], work, words, batch_row)
            clear_row(words, batch_row, n_words)
        restore_empty_words(visible, tables, w, work)
