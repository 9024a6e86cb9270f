"""What agents see, written in one of the two forms that `layout` describes.

Rows that nobody holds are zero. Only rows written before are cleared again, so a buffer must
come back as it was left; `World.observe` sees to that.
"""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kinfolk.core.arrays import Bools, Ints
from kinfolk.core.jit import allocation_free_kernel, inline
from kinfolk.worlds.savanna.spec import (
    CODES_PER_ENERGY,
    GRASS_SHIFT,
    MAX_CODE,
    PREDATOR_SHIFT,
    PREY_SHIFT,
    ObservationTables,
)
from kinfolk.worlds.savanna.state import GRASS, PREDATOR, PREY, RowIndices, SavannaState

Words = npt.NDArray[np.uint32]
Plane = npt.NDArray[np.float32]


class VisibleArrays(NamedTuple):
    """The part of the state that can be seen, and by whom."""

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
    """The scene of a state: views of its arrays."""
    return VisibleArrays(*(getattr(state, name) for name in VisibleArrays._fields))


class WrittenRows(NamedTuple):
    """Which rows of the caller's buffer hold something."""

    is_known: Bools  # [W] False: the world's part of the buffer may hold anything
    rows: Ints  # [W, N]
    n_rows: Ints  # [W]


@inline
def clear_row(words: Words, place: int, first_word: int) -> None:
    """Clear a row from the word `first_word` on: smaller windows leave some over."""
    for i in range(first_word, words.shape[1]):
        words[place, i] = 0


@inline
def clear_stale_rows(uid: Ints, written: WrittenRows, w: int, words: Words) -> None:
    """Clear the rows that were written before and are empty now."""
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
    """Remember that a row is written."""
    written.rows[w, written.n_rows[w]] = row
    written.n_rows[w] += 1


@inline
def quantize_energy(value: float, codes_per_energy: float) -> int:
    """A quantised energy, rounded up."""
    return min(ceil(value * codes_per_energy), MAX_CODE)


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
    """Write the published planes of one agent; returns how many numbers those are.

    `shown` and `out` are flat, and indices are cast to uint64: those cannot count from the end,
    so the compiler copies many numbers at a time.
    """
    reach, size = tables.radius[species], tables.size
    side = 2 * reach + 1
    area = side * side
    seen = tables.visible[species, tables.pattern_of[species, x * size + y]]
    x, y = x - reach, y - reach
    low, high = max(0, -y), min(side, size - y)
    if x < 0 or y < 0 or x + side > size or y + side > size:
        edge = np.float32(1.0) if tables.draw_border else np.float32(0.0)
        for j in range(out_start, out_start + area):
            out[np.uint64(j)] = edge
        for j in range(out_start + area, out_start + 4 * area):
            out[np.uint64(j)] = np.float32(0.0)
    for i in range(max(0, -x), min(side, size - x)):
        at = i * side
        cell = (x + i) * size + y
        for j in range(low, high):
            out[np.uint64(out_start + at + j)] = tables.walls[np.uint64(cell + j)]
        for plane in range(3):
            to = out_start + (plane + 1) * area + at
            source = world_offset + plane * size * size + cell
            if tables.masks_hidden_cells:
                for j in range(low, high):
                    out[np.uint64(to + j)] = shown[np.uint64(source + j)] * seen[np.uint64(at + j)]
            else:
                for j in range(low, high):
                    out[np.uint64(to + j)] = shown[np.uint64(source + j)]
    if tables.has_visibility_channel:
        for j in range(area):
            out[np.uint64(out_start + 4 * area + j)] = seen[np.uint64(j)]
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
    """Write float32 planes for the worlds `worlds[first:last]`; `words` is the same buffer."""
    rows, width = visible.uid.shape[1], words.shape[1]
    length, herd, ended, xs, ys = (
        visible.n_alive,
        visible.alive_rows,
        visible.ended_rows,
        visible.x,
        visible.y,
    )
    shown = visible.visible_energy.reshape(-1)
    for at in range(first, last):
        w = worlds[at]
        clear_stale_rows(visible.uid, written, w, words)
        world = w * 3 * tables.size * tables.size
        for k in range(2):
            for i in range(length[w, k]):
                row = herd[w, k, i]
                place = w * rows + row
                mark_written(written, w, row)
                used = write_planes(
                    shown, tables, k, xs[w, row], ys[w, row], world, floats, place * width
                )
                clear_row(words, place, used)
        for i in range(visible.n_ended[w]):
            row = ended[w, i]
            place = w * rows + row
            mark_written(written, w, row)
            used = 0
            if not tables.zero_terminal:
                k = PREDATOR if visible.group[w, row] < tables.n_types else PREY
                used = write_planes(
                    shown, tables, k, xs[w, row], ys[w, row], world, floats, place * width
                )
            clear_row(words, place, used)


@inline
def write_world_words(
    visible: VisibleArrays, tables: ObservationTables, w: int, work: Words
) -> None:
    """Lay the words of a world into `work`."""
    shown, place, patch_cell = visible.visible_energy, tables.padded_index, visible.patch_cell
    if tables.dense:
        for cell in range(place.shape[0]):
            at = place[cell]
            work[at] = (
                np.int64(tables.empty_words[at])
                | quantize_energy(shown[w, PREDATOR, cell], CODES_PER_ENERGY) << PREDATOR_SHIFT
                | quantize_energy(shown[w, PREY, cell], CODES_PER_ENERGY) << PREY_SHIFT
                | quantize_energy(shown[w, GRASS, cell], tables.grass_codes_per_energy)
                << GRASS_SHIFT
            )
        return
    for patch in range(patch_cell.shape[1]):
        cell = patch_cell[w, patch]
        at = place[cell]
        work[at] = (
            np.int64(work[at])
            | quantize_energy(shown[w, GRASS, cell], tables.grass_codes_per_energy) << GRASS_SHIFT
        )
    for k in range(2):
        shift = PREDATOR_SHIFT if k == PREDATOR else PREY_SHIFT
        for i in range(visible.n_alive[w, k]):
            row = visible.alive_rows[w, k, i]
            cell = visible.x[w, row] * tables.size + visible.y[w, row]
            at = place[cell]
            work[at] = (
                np.int64(work[at]) | quantize_energy(shown[w, k, cell], CODES_PER_ENERGY) << shift
            )


@inline
def restore_empty_words(
    visible: VisibleArrays, tables: ObservationTables, w: int, work: Words
) -> None:
    """Undo `paint`."""
    if tables.dense:
        return  # the next world writes every cell anyway
    base, place, patch_cell = tables.empty_words, tables.padded_index, visible.patch_cell
    for patch in range(patch_cell.shape[1]):
        at = place[patch_cell[w, patch]]
        work[at] = base[at]
    for k in range(2):
        for i in range(visible.n_alive[w, k]):
            row = visible.alive_rows[w, k, i]
            at = place[visible.x[w, row] * tables.size + visible.y[w, row]]
            work[at] = base[at]


@inline
def write_window(
    tables: ObservationTables, species: int, x: int, y: int, work: Words, out: Words, place: int
) -> int:
    """Copy the words around one agent; returns how many. For the casts, see `planes`."""
    reach = tables.radius[species]
    side = 2 * reach + 1
    wide = tables.size + 2 * tables.border
    keep = tables.visible_bits[species, tables.pattern_of[species, x * tables.size + y]]
    corner = (x + tables.border - reach) * wide + y + tables.border - reach
    for i in range(side):
        source, at = corner + i * wide, i * side
        for j in range(side):
            out[place, np.uint64(at + j)] = work[np.uint64(source + j)] & keep[np.uint64(at + j)]
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
    """Write compact words for the worlds `worlds[first:last]`."""
    rows = visible.uid.shape[1]
    length, herd, ended, xs, ys = (
        visible.n_alive,
        visible.alive_rows,
        visible.ended_rows,
        visible.x,
        visible.y,
    )
    work = tables.work_words[thread]
    for at in range(first, last):
        w = worlds[at]
        clear_stale_rows(visible.uid, written, w, words)
        write_world_words(visible, tables, w, work)
        for k in range(2):
            for i in range(length[w, k]):
                row = herd[w, k, i]
                place = w * rows + row
                mark_written(written, w, row)
                used = write_window(tables, k, xs[w, row], ys[w, row], work, words, place)
                clear_row(words, place, used)
        for i in range(visible.n_ended[w]):
            row = ended[w, i]
            place = w * rows + row
            mark_written(written, w, row)
            used = 0
            if not tables.zero_terminal:
                k = PREDATOR if visible.group[w, row] < tables.n_types else PREY
                used = write_window(tables, k, xs[w, row], ys[w, row], work, words, place)
            clear_row(words, place, used)
        restore_empty_words(visible, tables, w, work)
