"""The kernel that writes observations as float32 planes, and what it shares with `observe_words`.

Empty rows are zero. Only rows written in the call before are cleared, so the kernels need the same
buffer again; `SavannaWorld.observe` has all rows of a new one cleared.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kinfolk.core.arrays import Bools, Ints
from kinfolk.core.jit import allocation_free_kernel, inline, inline_always
from kinfolk.worlds.savanna.codes import PREDATOR, PREY
from kinfolk.worlds.savanna.sight.copying import copy_line
from kinfolk.worlds.savanna.spec import ObservationTables
from kinfolk.worlds.savanna.state import Plane, RowIndices, ShortInts
from kinfolk.worlds.savanna.step.context import StepPart, get_slice

Words = npt.NDArray[np.uint32]

# Bits of `StepPart.stages`: clear empty rows, and write windows.
CLEAR, WRITE = 1, 2


class VisibleArrays(NamedTuple):
    """The arrays of the state that observations are made of."""

    uid: Ints
    terminated: Bools
    group: Ints
    x: ShortInts
    y: ShortInts
    n_alive: Ints
    alive_rows: RowIndices
    ended_rows: RowIndices
    n_ended: Ints
    visible_energy: Plane
    patch_cell: Ints
    heading: Ints
    death_view: Plane


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
def find_center(
    visible: VisibleArrays, tables: ObservationTables, w: int, species: int, row: int
) -> tuple[int, int]:
    """Return the middle of an agent's window: its cell, or one ahead with `forward_view`.

    Args:
        visible: Reads positions and headings.
        tables: Reads windows.
        w: World.
        species: PREDATOR or PREY.
        row: Row of the agent.
    """
    x, y = visible.x[w, row], visible.y[w, row]
    if tables.forward_view and species == PREDATOR:
        heading = visible.heading[w, row]
        x += tables.radius[PREDATOR] * (heading // 3 - 1)
        y += tables.radius[PREDATOR] * (heading % 3 - 1)
    return x, y


@inline_always
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

    Args:
        shown: Flat `[W, 3 or 4, cells]`, energies of predators, prey and grass.
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
    area, n_planes = side * side, tables.plane_order.shape[0]
    mask = tables.mask_of[species]
    pattern = 0 if tables.forward_view else tables.pattern_of[mask, x * size + y]
    visible = tables.visible[mask, pattern]
    x, y = x - reach, y - reach
    low, high = max(0, -y), min(side, size - y)
    if x < 0 or y < 0 or x + side > size or y + side > size:
        edge = np.float32(1.0) if tables.draw_border else np.float32(0.0)
        for j in range(out_start, out_start + area):
            out[np.uint64(j)] = edge
        for j in range(out_start + area, out_start + (n_planes + 1) * area):
            out[np.uint64(j)] = np.float32(0.0)
    for i in range(max(0, -x), min(side, size - x)):
        cell, target = (x + i) * size + y + low, out_start + i * side + low
        copy_line(tables.walls, cell, out, target, high - low)
        for plane in range(n_planes):
            source = world_offset + tables.plane_order[plane] * size * size + cell
            copy_line(shown, source, out, target + (plane + 1) * area, high - low)
    if tables.masks_hidden_cells and not tables.is_open[mask, pattern]:
        for plane in range(1, n_planes + 1):
            start = out_start + plane * area
            for j in range(area):
                out[np.uint64(start + j)] *= visible[np.uint64(j)]
    if tables.has_visibility_channel:
        copy_line(visible, 0, out, out_start + (n_planes + 1) * area, area)
        return int((n_planes + 2) * area)
    return int((n_planes + 1) * area)


@inline_always
def write_agent_planes(
    visible: VisibleArrays,
    shown: Plane,
    tables: ObservationTables,
    w: int,
    row: int,
    is_dead: bool,
    out: Plane,
    out_start: int,
) -> int:
    """Write the float32 planes of the agent in a row.

    Args:
        visible: Arrays of the state, read.
        shown: `visible.visible_energy`, flat.
        tables: Walls, visibility patterns and windows.
        w: World.
        row: Row of the agent.
        is_dead: Whether it died in this step.
        out: Flat buffer, written.
        out_start: Index of the agent's first number in `out`.

    Returns:
        How many numbers were written.
    """
    offset = w * tables.plane_order.shape[0] * tables.size * tables.size
    k = PREDATOR if visible.group[w, row] < tables.n_types else PREY
    x, y = find_center(visible, tables, w, k, row)
    n_words = write_planes(shown, tables, k, x, y, offset, out, out_start)
    if is_dead and tables.view_at_death:
        area = (2 * tables.radius[k] + 1) ** 2
        for j in range(3 * area):
            out[out_start + area + j] = visible.death_view[w, row, j]
    return n_words


@inline_always
def write_plane_windows(
    visible: VisibleArrays,
    tables: ObservationTables,
    written: WrittenRows,
    w: int,
    words: Words,
    floats: Plane,
    first: int,
    last: int,
) -> None:
    """Write the planes of some agents of a world.

    Args:
        visible: Arrays of the state, read.
        tables: Walls, visibility patterns and windows.
        written: Reads the rows of the agents.
        w: World.
        words: `[W * N, row_words]`, the buffer as uint32.
        floats: The same buffer, flat, as float32.
        first: First entry of `written.rows`.
        last: End of the range, exclusive.
    """
    n_rows, width, shown = visible.uid.shape[1], words.shape[1], visible.visible_energy.reshape(-1)
    n_living = written.n_rows[w] - visible.n_ended[w]
    for entry in range(first, last):
        row, n_words, is_dead = written.rows[w, entry], 0, entry >= n_living
        if not (is_dead and tables.zero_view):
            start = (w * n_rows + row) * width
            n_words = write_agent_planes(visible, shown, tables, w, row, is_dead, floats, start)
        clear_row(words, w * n_rows + row, n_words)


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
    part: StepPart,
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
        part: Whether to clear empty rows (`CLEAR`), and which agents to write (`WRITE`).
    """
    for i_world in range(first, last):
        w = worlds[i_world]
        if part.stages & CLEAR:
            clear_empty_rows(visible, written, w, words)
        if part.stages & WRITE:
            start, stop = get_slice(part, written.n_rows[w])
            write_plane_windows(visible, tables, written, w, words, floats, start, stop)
