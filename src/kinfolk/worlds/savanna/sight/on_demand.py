"""Kernels that write the observations of chosen agents, for windows on demand.

In a world of a million agents the windows of all take 300 MB or more, and few of them may be read.
"""

from __future__ import annotations

import numpy as np

from kinfolk.core.arrays import Bools, Ints
from kinfolk.core.jit import allocation_free_kernel, inline_always, prefetch
from kinfolk.worlds.savanna import spec
from kinfolk.worlds.savanna.codes import GRASS, PREDATOR, PREY
from kinfolk.worlds.savanna.sight.copying import copy_square
from kinfolk.worlds.savanna.sight.planes import (
    VisibleArrays,
    Words,
    clear_row,
    find_center,
    write_agent_planes,
)
from kinfolk.worlds.savanna.sight.words import mask_window, quantize_energy, write_lines
from kinfolk.worlds.savanna.spec import ObservationTables
from kinfolk.worlds.savanna.state import Links, Plane, SavannaState
from kinfolk.worlds.savanna.step.context import LOOKAHEAD, StepPart, get_slice
from kinfolk.worlds.threads import ThreadTeam

_PARTS_PER_THREAD = 2  # of the cells whose agents are listed


@allocation_free_kernel
def list_rows_of_lists(
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
def list_first_rows(
    first_in_cell: Links, w: int, offset: int, first: int, last: int, out: Ints
) -> int:
    """List the first row of each list of agents, in the order of cells, without a branch for it.

    Args:
        first_in_cell: `[W, 2, cells]`, first row on each cell, -1 if none.
        w: World.
        offset: Batch row of the first row of the world.
        first: First cell.
        last: End of the range, exclusive.
        out: Batch rows, written.

    Returns:
        How many were listed.
    """
    count, end = 0, out.shape[0]
    predators, prey = first_in_cell[w, PREDATOR], first_in_cell[w, PREY]
    for cell in range(first, last):
        hunter, grazer = np.int64(predators[np.uint64(cell)]), np.int64(prey[np.uint64(cell)])
        if count == end:
            break
        out[np.uint64(count)] = offset + hunter
        count += 1 if hunter >= 0 else 0
        if count == end:
            break
        out[np.uint64(count)] = offset + grazer
        count += 1 if grazer >= 0 else 0
    return count


def list_rows_by_cell(state: SavannaState, w: int, team: ThreadTeam) -> Ints:
    """Return the batch rows of the living of a world in the order of their cells.

    Nearly always there is at most one agent of a species on a cell: then there are as many lists as
    agents, and the lists need not be followed.

    Args:
        state: State of the batch.
        w: World.
        team: Threads that share the cells.
    """
    lists, offset = state.first_in_cell, w * state.uid.shape[1]
    n_cells, n_alive = lists.shape[2], int(state.n_alive[w].sum())
    n_parts = 1 if team.threads == 1 else _PARTS_PER_THREAD * team.threads
    rows = [np.empty(n_alive, dtype=np.int64) for _ in range(n_parts)]

    def list_part(number: int, thread: int) -> int:
        del thread
        first, last = get_slice(StepPart(0, number, n_parts), n_cells)
        return list_first_rows(lists, w, offset, first, last, rows[number])

    counts = team.run_each(n_parts, list_part)
    if sum(counts) != n_alive:
        list_rows_of_lists(lists, state.next_in_cell, state.alive, w, rows[0])
        return rows[0]
    if len(counts) == 1:
        return rows[0]
    return np.concatenate([part[:count] for part, count in zip(rows, counts, strict=True)])


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
def find_location(visible: VisibleArrays, tables: ObservationTables, w: int, row: int) -> int:
    """Return twice the index of the middle of a window in `work_words`, plus the species.

    Args:
        visible: Reads positions and groups.
        tables: Layout of the padded grid.
        w: World.
        row: Row of the agent.
    """
    species = PREDATOR if visible.group[w, row] < tables.n_types else PREY
    x, y = find_center(visible, tables, w, species, row)
    wide = tables.size + 2 * tables.border
    return 2 * ((x + tables.border) * wide + y + tables.border) + species


@allocation_free_kernel
def prepare_windows(
    visible: VisibleArrays, tables: ObservationTables, w: int, part: StepPart
) -> None:
    """Write words of cells, and the locations of agents into `work_locations`, which is -1 elsewhere.

    Windows are asked for in any order. From their locations they are written with one jump through the
    memory of a large world, instead of one for each field of their agents.

    Args:
        visible: Arrays of the state, read.
        tables: Writes `work_words` and `work_locations`.
        w: World.
        part: Which lines of the grid, and which agents.
    """
    locations, lines = tables.work_locations, get_slice(part, tables.size)
    write_lines(visible, tables, w, tables.work_words[0], lines[0], lines[1])
    for species in range(2):
        first, last = get_slice(part, visible.n_alive[w, species])
        for i in range(first, last):
            row = visible.alive_rows[w, species, i]
            locations[row] = find_location(visible, tables, w, row)
    if part.number == 0 and not tables.zero_view:
        for i in range(visible.n_ended[w]):
            row = visible.ended_rows[w, i]
            locations[row] = find_location(visible, tables, w, row)


@inline_always
def prefetch_location(tables: ObservationTables, location: int) -> None:
    """Start to load the words of a window, which is written soon."""
    wide, reach = tables.size + 2 * tables.border, tables.radius[location & 1]
    corner = (location >> 1) - reach * (wide + 1)
    for i in range(2 * reach + 1):
        prefetch(tables.work_words, corner + i * wide)
        prefetch(tables.work_words, corner + i * wide + 2 * reach)


@allocation_free_kernel
def observe_located_rows(
    tables: ObservationTables, rows: Ints, words: Words, first: int, last: int
) -> None:
    """Write the compact windows of `rows[first:last]` of the only world, after `prepare_windows`.

    Args:
        tables: Places, words of the world, windows and visibility patterns.
        rows: Batch rows.
        words: `[rows, row_words]`, written.
        first: First entry of `rows`.
        last: End of the range, exclusive.
    """
    locations, work = tables.work_locations, tables.work_words[0]
    wide = tables.size + 2 * tables.border
    for i in range(first, last):
        if tables.exceeds_cache:
            if i + 2 * LOOKAHEAD < last:
                prefetch(locations, rows[i + 2 * LOOKAHEAD])
            if i + LOOKAHEAD < last:
                prefetch_location(tables, int(locations[rows[i + LOOKAHEAD]]))
        location, n_words = int(locations[rows[i]]), 0
        if location >= 0:
            species, middle = location & 1, location >> 1
            reach = tables.radius[species]
            side = 2 * reach + 1
            copy_square(work, middle - reach * (wide + 1), wide, words[i], 0, side)
            if not tables.all_open:
                x, y = middle // wide - tables.border, middle % wide - tables.border
                mask_window(tables, species, x, y, words[i], side * side)
            n_words = side * side
        clear_row(words, i, n_words)


@allocation_free_kernel
def observe_word_rows(
    visible: VisibleArrays,
    tables: ObservationTables,
    rows: Ints,
    words: Words,
    first: int,
    last: int,
) -> None:
    """Write the compact windows of `rows[first:last]`; those of empty rows are zero.

    Args:
        visible: Arrays of the state, read.
        tables: Layout, windows and visibility patterns.
        rows: Batch rows.
        words: `[rows, row_words]`, written.
        first: First entry of `rows`.
        last: End of the range, exclusive.
    """
    n_rows = visible.uid.shape[1]
    for i in range(first, last):
        w, row, n_words = rows[i] // n_rows, rows[i] % n_rows, 0
        if visible.uid[w, row] >= 0 and not (tables.zero_view and visible.terminated[w, row]):
            k = PREDATOR if visible.group[w, row] < tables.n_types else PREY
            x, y = find_center(visible, tables, w, k, row)
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
