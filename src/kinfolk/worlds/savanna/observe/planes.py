"""Observations as the published float32 planes."""

from __future__ import annotations

import numpy as np

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import allocation_free_kernel, inline
from kinfolk.worlds.savanna.observe.buffer import (
    Plane,
    VisibleArrays,
    Words,
    WrittenRows,
    clear_row,
    clear_stale_rows,
    mark_written,
)
from kinfolk.worlds.savanna.spec import ObservationTables
from kinfolk.worlds.savanna.state import PREDATOR, PREY


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
    """Write the published float32 planes of one agent.

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
    rows, width = visible.uid.shape[1], words.shape[1]
    n_alive, alive_rows, ended, xs, ys = (
        visible.n_alive,
        visible.alive_rows,
        visible.ended_rows,
        visible.x,
        visible.y,
    )
    shown = visible.visible_energy.reshape(-1)
    for i_world in range(first, last):
        w = worlds[i_world]
        clear_stale_rows(visible.uid, written, w, words)
        world_offset = w * 3 * tables.size * tables.size
        for k in range(2):
            for i in range(n_alive[w, k]):
                row = alive_rows[w, k, i]
                batch_row = w * rows + row
                mark_written(written, w, row)
                n_words = write_planes(
                    shown,
                    tables,
                    k,
                    xs[w, row],
                    ys[w, row],
                    world_offset,
                    floats,
                    batch_row * width,
                )
                clear_row(words, batch_row, n_words)
        for i in range(visible.n_ended[w]):
            row = ended[w, i]
            batch_row = w * rows + row
            mark_written(written, w, row)
            n_words = 0
            if not tables.zero_terminal:
                k = PREDATOR if visible.group[w, row] < tables.n_types else PREY
                n_words = write_planes(
                    shown,
                    tables,
                    k,
                    xs[w, row],
                    ys[w, row],
                    world_offset,
                    floats,
                    batch_row * width,
                )
            clear_row(words, batch_row, n_words)
