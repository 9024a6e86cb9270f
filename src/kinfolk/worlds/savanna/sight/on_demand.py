"""Kernels that write the observations of chosen agents, for windows on demand.

In a world of a million agents the windows of all take 300 MB or more, and few of them may be read.
"""

from __future__ import annotations

import numpy as np

from kinfolk.core.arrays import Bools, Ints
from kinfolk.core.jit import allocation_free_kernel, inline_always, prefetch
from kinfolk.worlds.savanna import spec
from kinfolk.worlds.savanna.codes import GRASS, PREDATOR, PREY
from kinfolk.worlds.savanna.sight.planes import (
    VisibleArrays,
    Words,
    clear_row,
    find_center,
    write_agent_planes,
)
from kinfolk.worlds.savanna.sight.words import (
    mask_window,
    prefetch_window,
    quantize_energy,
    write_window,
)
from kinfolk.worlds.savanna.spec import ObservationTables
from kinfolk.worlds.savanna.state import Links, Plane
from kinfolk.worlds.savanna.step.context import LOOKAHEAD

SPARE_ROWS = 2  # that `list_rows_by_cell` may write behind its result


@inline_always
def list_shared_cells(
    first_in_cell: Links, next_in_cell: Links, alive: Bools, w: int, out: Ints
) -> int:
    """List the batch rows of the living of a world, of whom several can be on one cell.

    Args:
        first_in_cell: `[W, 2, cells]`, first row on each cell, -1 if none.
        next_in_cell: `[W, N]`, the next row on the same cell.
        alive: `[W, N]`.
        w: World.
        out: `[at least as many]`, written.

    Returns:
        How many they are.
    """
    count = 0
    for cell in range(first_in_cell.shape[2]):
        for species in range(2):
            row = first_in_cell[w, species, cell]
            while row >= 0:
                if alive[w, row]:
                    out[count] = w * alive.shape[1] + row
                    count += 1
                row = next_in_cell[w, row]
    return count


@allocation_free_kernel
def list_rows_by_cell(
    first_in_cell: Links, next_in_cell: Links, alive: Bools, w: int, n_alive: int, out: Ints
) -> int:
    """List the batch rows of the living of a world in the order of their cells.

    Nearly always there is at most one agent of a species on a cell, and they all live. Then the
    lists of cells need not be followed, and a cell costs two stores without a branch.

    Args:
        first_in_cell: `[W, 2, cells]`, first row on each cell, -1 if none.
        next_in_cell: `[W, N]`, the next row on the same cell.
        alive: `[W, N]`.
        w: World.
        n_alive: How many live.
        out: `[n_alive + SPARE_ROWS]`, written.

    Returns:
        How many they are.
    """
    count, offset = 0, w * alive.shape[1]
    predators, prey = first_in_cell[w, PREDATOR], first_in_cell[w, PREY]
    for cell in range(first_in_cell.shape[2]):
        hunter, grazer = np.int64(predators[cell]), np.int64(prey[cell])
        out[np.uint64(count)] = offset + hunter
        count += 1 if hunter >= 0 else 0
        out[np.uint64(count)] = offset + grazer
        count += 1 if grazer >= 0 else 0
        if count > n_alive:
            break
    if count == n_alive:
        return count
    return list_shared_cells(first_in_cell, next_in_cell, alive, w, out)


@inline_always
def write_single_window(
    visible: VisibleArrays,
    tables: ObservationTables,
    w: int,
    species: int,
    x: int,
    y: int,
    window: Words,
) -> int:
    """Write the words of one window from the energies on its cells.

    Args:
        visible: Arrays of the state, read.
        tables: Layout, windows and visibility patterns.
        w: World.
        species: PREDATOR or PREY.
        x: x of its middle.
        y: y of its middle.
        window: `[row_words]`, written.

    Returns:
        How many words were written.
    """
    reach, size, shown = tables.radius[species], tables.size, visible.visible_energy
    side, wide = 2 * reach + 1, size + 2 * tables.border
    for i in range(side * side):
        to_x, to_y = x + i // side - reach, y + i % side - reach
        index = (to_x + tables.border) * wide + to_y + tables.border
        word = np.int64(tables.empty_words[index])
        if 0 <= to_x < size and 0 <= to_y < size:
            cell = to_x * size + to_y
            word |= quantize_energy(shown[w, PREDATOR, cell], spec.CODES_PER_ENERGY) << (
                spec.PREDATOR_SHIFT
            )
            word |= quantize_energy(shown[w, PREY, cell], spec.CODES_PER_ENERGY) << spec.PREY_SHIFT
            code = quantize_energy(shown[w, GRASS, cell], tables.grass_codes_per_energy)
            word |= code << spec.GRASS_SHIFT
        window[i] = word
    mask_window(tables, species, x, y, window, side * side)
    return int(side * side)


@inline_always
def prefetch_agent(visible: VisibleArrays, batch_row: int) -> None:
    """Start to load what the window of an agent needs to know of it."""
    prefetch(visible.uid, batch_row)
    prefetch(visible.group, batch_row)
    prefetch(visible.x, batch_row)
    prefetch(visible.y, batch_row)


@allocation_free_kernel
def observe_word_rows(
    visible: VisibleArrays,
    tables: ObservationTables,
    rows: Ints,
    words: Words,
    first: int,
    last: int,
    has_grid: bool,
) -> None:
    """Write the compact windows of `rows[first:last]`; those of empty rows are zero.

    Args:
        visible: Arrays of the state, read.
        tables: Layout, windows and visibility patterns.
        rows: Batch rows.
        words: `[rows, row_words]`, written.
        first: First entry of `rows`.
        last: End of the range, exclusive.
        has_grid: Whether `tables.work_words` holds the words of the only world.
    """
    n_rows, work = visible.uid.shape[1], tables.work_words[0]
    for i in range(first, last):
        w, row, n_words = 0, rows[i], 0
        if not has_grid:
            w, row = row // n_rows, row % n_rows
        elif tables.exceeds_cache:
            if i + 2 * LOOKAHEAD < last:
                prefetch_agent(visible, rows[i + 2 * LOOKAHEAD])
            if i + LOOKAHEAD < last:
                prefetch_window(visible, tables, w, rows[i + LOOKAHEAD], work)
        if visible.uid[w, row] >= 0 and not (tables.zero_view and visible.terminated[w, row]):
            k = PREDATOR if visible.group[w, row] < tables.n_types else PREY
            x, y = find_center(visible, tables, w, k, row)
            if has_grid:
                n_words = write_window(tables, k, x, y, work, words, i)
            else:
                n_words = write_single_window(visible, tables, w, k, x, y, words[i])
        clear_row(words, i, n_words)


@allocation_free_kernel
def observe_plane_rows(
    visible: VisibleArrays,
    tables: ObservationTables,
    rows: Ints,
    words: Words,
    floats: Plane,
    first: int,
    last: int,
) -> None:
    """Write the float32 planes of `rows[first:last]`; those of empty rows are zero.

    Args:
        visible: Arrays of the state, read.
        tables: Walls, visibility patterns and windows.
        rows: Batch rows.
        words: `[rows, row_words]`, the buffer as uint32.
        floats: The same buffer, flat, as float32.
        first: First entry of `rows`.
        last: End of the range, exclusive.
    """
    n_rows, shown = visible.uid.shape[1], visible.visible_energy.reshape(-1)
    for i in range(first, last):
        w, row, n_words = rows[i] // n_rows, rows[i] % n_rows, 0
        is_dead = visible.terminated[w, row]
        if visible.uid[w, row] >= 0 and not (tables.zero_view and is_dead):
            start = i * words.shape[1]
            n_words = write_agent_planes(visible, shown, tables, w, row, is_dead, floats, start)
        clear_row(words, i, n_words)
