"""Lines of sight: what is visible from each cell of a grid with walls."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kinfolk.core.arrays import Bools, Ints
from kinfolk.core.jit import allocation_free_kernel
from kinfolk.worlds.savanna.settings import Savanna
from kinfolk.worlds.savanna.step.movement import has_clear_line, list_line


class VisibilityMask(NamedTuple):
    """Visible cells of a window, as distinct patterns; pattern 0 sees everything."""

    pattern_of: Ints  # [cells] pattern of a window around each cell
    patterns: Bools  # [patterns, R * R] True where visible


class SightLines(NamedTuple):
    """Cells strictly between the middle of a window and each of its cells, on two lines each."""

    offsets: Ints  # steps from the middle, as differences of indices in a padded grid
    starts: Ints  # [2 * R * R + 1] first entry of each line, there and back


def _make_sight_lines(reach: int, wide: int) -> SightLines:
    """List the cells on Bresenham's lines from the middle of a window, and back to it.

    Args:
        reach: Radius of the window.
        wide: Cells per line of the padded grid.
    """
    side, offsets, starts = 2 * reach + 1, [], [0]
    for j in range(side * side):
        x, y = j // side - reach, j % side - reach
        for line in (list_line(0, 0, x, y), list_line(x, y, 0, 0)):
            offsets += [cell_x * wide + cell_y for cell_x, cell_y in line]
            starts.append(len(offsets))
    return SightLines(np.array(offsets, np.int64), np.array(starts, np.int64))


@allocation_free_kernel
def _compute_views(wall: Bools, middles: Ints, lines: SightLines, out: Bools) -> None:
    """Compute which cells of a window are visible: those with a clear line there or back.

    Args:
        wall: Padded grid, flat, True where there is a wall.
        middles: Indices of the middles of the windows in it.
        lines: Lines to each cell of a window.
        out: `[middles, R * R]`, written: True where a cell is visible.
    """
    for i in range(middles.shape[0]):
        for j in range(out.shape[1]):
            is_visible = False
            for line in range(2 * j, 2 * j + 2):
                is_clear = True
                for k in range(lines.starts[line], lines.starts[line + 1]):
                    if wall[middles[i] + lines.offsets[k]]:
                        is_clear = False
                        break
                if is_clear:
                    is_visible = True
                    break
            out[i, j] = is_visible


def _hash_words(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return a hash of each row of words."""
    hashes = np.zeros(len(words), dtype=np.uint64)
    for column in words.T:
        hashes = (hashes ^ column) * np.uint64(0x9E3779B97F4A7C15)
        hashes ^= hashes >> np.uint64(29)
    return hashes


def _find_distinct(views: Bools) -> tuple[Ints, Ints]:
    """Return the index of one row of each kind, and for each row the number of its kind.

    Rows are compared by a hash of their bits, because sorting the rows themselves takes a minute for
    a million of them. A collision of hashes is noticed, and then they are sorted.
    """
    packed = np.packbits(views, axis=1)
    words = np.zeros((len(packed), -(-packed.shape[1] // 8)), dtype=np.uint64)
    words.view(np.uint8)[:, : packed.shape[1]] = packed
    hashes = _hash_words(words)
    _, first, kinds = np.unique(hashes, return_index=True, return_inverse=True)
    if not np.array_equal(words[first][kinds], words):
        _, first, kinds = np.unique(words, axis=0, return_index=True, return_inverse=True)
    return first, kinds.reshape(-1)


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
    wide = size + 2 * reach
    padded = np.zeros((wide, wide), dtype=np.bool_)
    padded[reach : reach + size, reach : reach + size] = wall.reshape(size, size)
    near = np.zeros((size, size), dtype=np.bool_)
    for x, y in np.argwhere(wall.reshape(size, size)).tolist():
        near[max(x - reach, 0) : x + reach + 1, max(y - reach, 0) : y + reach + 1] = True
    cells = np.flatnonzero(near)
    middles = (cells // size + reach) * wide + cells % size + reach
    # The open view is number 0, so that cells far from walls need no entry.
    views = np.ones((len(cells) + 1, window * window), dtype=np.bool_)
    _compute_views(padded.reshape(-1), middles, _make_sight_lines(reach, wide), views[1:])
    first, kinds = _find_distinct(views)
    number = np.arange(len(first))
    number[[0, kinds[0]]] = number[[kinds[0], 0]]
    pattern_of[cells] = number[kinds[1:]]
    return VisibilityMask(pattern_of, views[first[number]])


def _make_stale_mask(settings: Savanna, window: int) -> Bools:
    """Return the visibility mask of PredPreyGrass, `[1, window * window]`, one for all agents.

    PredPreyGrass takes the walls' coordinates on the grid for coordinates in the window, and looks
    from the middle of the window.
    """
    size = max(settings.grid_size, window)
    wall = np.zeros(size * size, dtype=np.bool_)
    for cell in settings.wall_cells:
        x, y = divmod(cell, settings.grid_size)
        wall[x * size + y] = True
    middle, cells = (window - 1) // 2, [divmod(j, window) for j in range(window**2)]
    visible = [has_clear_line(wall, size, middle, middle, x, y) for x, y in cells]
    return np.array([visible], dtype=np.bool_)
