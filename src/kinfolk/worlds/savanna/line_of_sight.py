"""Lines of sight, precomputed for a wall map.

Two cells see each other if Bresenham's line is free of walls in at least one of the two
directions, which makes sight symmetric. A wall cell itself can be seen. Cells outside the grid
hide nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kinfolk.core.arrays import Bools, Ints
from kinfolk.core.jit import allocation_free_kernel
from kinfolk.worlds.savanna.settings import Savanna
from kinfolk.worlds.savanna.step.movement import has_clear_line


class VisibilityMask(NamedTuple):
    """Visible cells of a window, as distinct patterns; pattern 0 sees everything."""

    pattern_of: Ints  # [cells] pattern of a window around each cell
    patterns: Bools  # [patterns, R * R] True where visible


@allocation_free_kernel
def _compute_views(wall: Bools, size: int, reach: int, cells: Ints, out: Bools) -> None:
    """Compute which cells of a window are visible from each of `cells`.

    Args:
        wall: `[size * size]`, True where there is a wall.
        size: Side of the grid.
        reach: Radius of the window.
        cells: Cells in whose windows are computed.
        out: `[len(cells), (2 * reach + 1) ** 2]`, written.
    """
    side = 2 * reach + 1
    for i in range(cells.shape[0]):
        x, y = cells[i] // size, cells[i] % size
        for j in range(side * side):
            to_x, to_y = x + j // side - reach, y + j % side - reach
            out[i, j] = has_clear_line(wall, size, x, y, to_x, to_y) or has_clear_line(
                wall, size, to_x, to_y, x, y
            )


def compute_visibility(settings: Savanna, wall: Bools, window: int) -> VisibilityMask:
    """Compute what is visible from every cell of the grid.

    Args:
        settings: Grid, walls and quirks.
        wall: `[cells]`, True where there is a wall.
        window: Side of the window, odd.
    """
    size, reach = settings.grid_size, (window - 1) // 2
    open_view = np.ones((1, window * window), dtype=np.bool_)
    pattern_of = np.zeros(size * size, dtype=np.int64)
    if settings.quirks.fixed_visibility:
        mask = _make_stale_mask(settings, window) if settings.quirks.stale_visibility else open_view
        return VisibilityMask(pattern_of, mask)
    near = np.zeros((size, size), dtype=np.bool_)
    for x, y in np.argwhere(wall.reshape(size, size)):
        near[max(x - reach, 0) : x + reach + 1, max(y - reach, 0) : y + reach + 1] = True
    cells = np.flatnonzero(near)
    views = np.ones((len(cells), window * window), dtype=np.bool_)
    _compute_views(wall, size, reach, cells, views)
    patterns, index = np.unique(np.concatenate([open_view, views]), axis=0, return_inverse=True)
    index = index.reshape(-1)
    # The open view becomes number 0, so that cells far from walls need no entry.
    swap = np.arange(len(patterns))
    swap[[0, index[0]]] = swap[[index[0], 0]]
    pattern_of[cells] = swap[index[1:]]
    return VisibilityMask(pattern_of, np.ascontiguousarray(patterns[swap]))


def _make_stale_mask(settings: Savanna, window: int) -> Bools:
    """Return the published mask: seen from the middle of the window, with walls in window coordinates."""
    size = max(settings.grid_size, window)
    wall = np.zeros((size, size), dtype=np.bool_)
    for x, y in settings.manual_wall_positions:
        if 0 <= min(x, y) <= max(x, y) < settings.grid_size:
            wall[x, y] = True
    middle = (window - 1) // 2
    flat: npt.NDArray[np.bool_] = wall.reshape(-1)
    rows = [
        has_clear_line(flat, size, middle, middle, j // window, j % window)
        for j in range(window**2)
    ]
    return np.array([rows], dtype=np.bool_)
