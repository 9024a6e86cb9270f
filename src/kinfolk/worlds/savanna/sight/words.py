"""The kernel that writes observations as compact words; see `spec`."""

from __future__ import annotations

from math import ceil

import numpy as np

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import allocation_free_kernel, inline, inline_always, prefetch
from kinfolk.worlds.savanna import spec
from kinfolk.worlds.savanna.codes import GRASS, PREDATOR, PREY
from kinfolk.worlds.savanna.sight.copying import copy_square
from kinfolk.worlds.savanna.sight.planes import (
    CLEAR,
    VisibleArrays,
    Words,
    WrittenRows,
    clear_empty_rows,
    clear_row,
    find_center,
)
from kinfolk.worlds.savanna.spec import ObservationTables
from kinfolk.worlds.savanna.step.context import LOOKAHEAD, StepPart, get_slice

_ROWS_AHEAD = 3  # how many agents before its turn a row of the buffer is loaded, for writing
_LINE_WORDS = 16  # words of a cache line
_LARGEST = np.float32(spec.MAX_CODE)
_CODES = np.float32(spec.CODES_PER_ENERGY)  # a power of two: products of float32 are exact


@inline
def quantize_energy(value: float, codes_per_energy: float) -> int:
    """Return the 10-bit code of an energy, rounded up."""
    return min(ceil(value * codes_per_energy), spec.MAX_CODE)


@inline
def write_lines(
    visible: VisibleArrays, tables: ObservationTables, w: int, work: Words, first: int, last: int
) -> None:
    """Write the words of all cells of some lines of the grid, with vector instructions.

    Args:
        visible: Arrays of the state, read.
        tables: Layout of the padded grid and words of an empty world.
        w: World.
        work: `[(size + 2 border)**2]`, written.
        first: First line.
        last: End of the range of lines, exclusive.
    """
    size, border, empty = tables.size, tables.border, tables.empty_words
    grass_codes = tables.grass_codes_per_energy
    predators, prey = visible.visible_energy[w, PREDATOR], visible.visible_energy[w, PREY]
    grass = visible.visible_energy[w, GRASS]
    for line in range(first, last):
        source, target = line * size, (line + border) * (size + 2 * border) + border
        for i in range(size):
            cell, index = np.uint64(source + i), np.uint64(target + i)
            hunter = np.int32(min(np.ceil(predators[cell] * _CODES), _LARGEST))
            grazer = np.int32(min(np.ceil(prey[cell] * _CODES), _LARGEST))
            patch = np.int32(min(np.ceil(grass[cell] * grass_codes), float(spec.MAX_CODE)))
            work[index] = (
                np.int64(empty[index])
                | np.int64(hunter) << spec.PREDATOR_SHIFT
                | np.int64(grazer) << spec.PREY_SHIFT
                | np.int64(patch) << spec.GRASS_SHIFT
            )


@inline
def write_occupied_cells(
    visible: VisibleArrays, tables: ObservationTables, w: int, work: Words
) -> None:
    """Write the words of the cells with grass or agents, where they are few.

    Args:
        visible: Arrays of the state, read.
        tables: Layout of the padded grid.
        w: World.
        work: `[(size + 2 border)**2]`, written; holds the empty world.
    """
    shown, patch_cell = visible.visible_energy, visible.patch_cell
    padded_index, grass_codes = tables.padded_index, tables.grass_codes_per_energy
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
    """Undo `write_occupied_cells`, so that `work` holds the empty world again.

    Args:
        visible: Arrays of the state, read.
        tables: Layout of the padded grid and words of an empty world.
        w: World.
        work: `[(size + 2 border)**2]`, written.
    """
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


@inline_always
def mask_window(
    tables: ObservationTables, species: int, x: int, y: int, window: Words, area: int
) -> None:
    """Hide the cells of a window that are not visible from its middle.

    Args:
        tables: Visibility patterns.
        species: PREDATOR or PREY.
        x: x of its middle.
        y: y of its middle.
        window: `[row_words]`, written.
        area: Cells of the window.
    """
    mask = tables.mask_of[species]
    pattern = 0 if tables.forward_view else tables.pattern_of[mask, x * tables.size + y]
    if not tables.is_open[mask, pattern]:
        visible_bits = tables.visible_bits[mask, pattern]
        for i in range(area):
            window[np.uint64(i)] &= visible_bits[np.uint64(i)]


@inline_always
def prefetch_window(
    visible: VisibleArrays, tables: ObservationTables, w: int, row: int, work: Words
) -> None:
    """Start to load the words around an agent, whose window is written soon.

    Args:
        visible: Reads positions.
        tables: Layout of the padded grid.
        w: World.
        row: Row of the agent.
        work: `[(size + 2 border)**2]`, words of the world.
    """
    wide, reach = tables.size + 2 * tables.border, tables.radius[PREY]
    corner = (visible.x[w, row] + tables.border - reach) * wide
    corner += visible.y[w, row] + tables.border - reach
    for i in range(2 * reach + 1):
        prefetch(work, corner + i * wide)
        prefetch(work, corner + i * wide + 2 * reach)


@inline_always
def write_window(
    tables: ObservationTables, species: int, x: int, y: int, work: Words, out: Words, batch_row: int
) -> int:
    """Copy the words around one agent.

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
    corner = (x + tables.border - reach) * wide + y + tables.border - reach
    window = out[batch_row]
    copy_square(work, corner, wide, window, 0, side)
    if not tables.all_open:
        mask_window(tables, species, x, y, window, side * side)
    return int(side * side)


@inline
def write_windows(
    visible: VisibleArrays,
    tables: ObservationTables,
    written: WrittenRows,
    w: int,
    work: Words,
    words: Words,
    first: int,
    last: int,
) -> None:
    """Write the windows of some agents of a world.

    Args:
        visible: Arrays of the state, read.
        tables: Layout, windows and visibility patterns.
        written: Reads the rows of the agents.
        w: World.
        work: `[(size + 2 border)**2]`, words of the world.
        words: `[W * N, row_words]`, written.
        first: First entry of `written.rows`.
        last: End of the range, exclusive.
    """
    n_rows, n_living = visible.uid.shape[1], written.n_rows[w] - visible.n_ended[w]
    for entry in range(first, last):
        row, n_words = written.rows[w, entry], 0
        if tables.exceeds_cache and entry + LOOKAHEAD < last:
            prefetch_window(visible, tables, w, written.rows[w, entry + LOOKAHEAD], work)
        if entry + _ROWS_AHEAD < last:
            start = (w * n_rows + np.int64(written.rows[w, entry + _ROWS_AHEAD])) * words.shape[1]
            for i in range(0, words.shape[1], _LINE_WORDS):
                prefetch(words, start + i)
        if entry < n_living or not tables.zero_view:
            k = PREDATOR if visible.group[w, row] < tables.n_types else PREY
            x, y = find_center(visible, tables, w, k, row)
            n_words = write_window(tables, k, x, y, work, words, w * n_rows + row)
        clear_row(words, w * n_rows + row, n_words)


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
    work = tables.work_words[thread]
    for i_world in range(first, last):
        w = worlds[i_world]
        if tables.dense:
            write_lines(visible, tables, w, work, 0, tables.size)
        else:
            write_occupied_cells(visible, tables, w, work)
        clear_empty_rows(visible, written, w, words)
        write_windows(visible, tables, written, w, work, words, 0, written.n_rows[w])
        if not tables.dense:
            restore_empty_words(visible, tables, w, work)


@allocation_free_kernel
def prepare_words_part(
    visible: VisibleArrays,
    tables: ObservationTables,
    written: WrittenRows,
    w: int,
    words: Words,
    part: StepPart,
) -> None:
    """Write a part of the words of a large world; with `CLEAR`, the first part clears empty rows.

    Args:
        visible: Arrays of the state, read.
        tables: Layout, windows and visibility patterns; writes `work_words`.
        written: Rows written before, updated.
        w: World.
        words: `[W * N, row_words]`, written.
        part: Which lines of the grid.
    """
    if part.number == 0 and part.stages & CLEAR:
        clear_empty_rows(visible, written, w, words)
    work = tables.work_words[0]
    if tables.dense:
        first, last = get_slice(part, tables.size)
        write_lines(visible, tables, w, work, first, last)
    elif part.number == 0:
        write_occupied_cells(visible, tables, w, work)


@allocation_free_kernel
def observe_words_part(
    visible: VisibleArrays,
    tables: ObservationTables,
    written: WrittenRows,
    w: int,
    words: Words,
    part: StepPart,
) -> None:
    """Write the windows of a part of the agents of a large world, after `prepare_words_part`.

    Args:
        visible: Arrays of the state, read.
        tables: Layout, windows and visibility patterns.
        written: Reads the rows of the agents.
        w: World.
        words: `[W * N, row_words]`, written.
        part: Which agents.
    """
    first, last = get_slice(part, written.n_rows[w])
    write_windows(visible, tables, written, w, tables.work_words[0], words, first, last)


@allocation_free_kernel
def restore_words(visible: VisibleArrays, tables: ObservationTables, w: int) -> None:
    """Empty the words of a large world again, unless all of them are written each time."""
    if not tables.dense:
        restore_empty_words(visible, tables, w, tables.work_words[0])
