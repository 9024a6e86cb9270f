"""An index of free cells, so that births on a crowded grid need not search it each time.

It is a Fenwick tree over blocks of cells: entry `i` counts the free cells of a range that ends with
block `i - 1`. It is built when the first newborn of a step has no free neighbour cell. From then on
each birth takes a cell out. The k-th free cell is found by a descent to its block, and a search there.
"""

from __future__ import annotations

import numpy as np

from kinfolk.core.arrays import Bools
from kinfolk.core.jit import inline
from kinfolk.core.random import randint
from kinfolk.worlds.savanna.codes import PREDATOR, PREY
from kinfolk.worlds.savanna.state import Links
from kinfolk.worlds.savanna.step.occupancy import is_cell_free

_BLOCK = 256  # cells: counting them with vector instructions takes as long as a few random reads
# Entry 0 of the tree says whether it is built, the last one how many cells are free.
_SPARE_ENTRIES = 2


def allocate_free_cells(n_cells: int) -> Links:
    """Return the index of a grid, not yet built."""
    return np.zeros(-(-n_cells // _BLOCK) + _SPARE_ENTRIES, dtype=np.int32)


@inline
def count_free_cells(wall: Bools, first_in_cell: Links, w: int, first: int, last: int) -> int:
    """Return how many of some cells are free, without a branch, for vector instructions.

    Args:
        wall: `[cells]`.
        first_in_cell: `[W, 2, cells]`, first agent on each cell, -1 if none.
        w: World.
        first: First cell.
        last: End of the range, exclusive.
    """
    predators, prey, n_free = first_in_cell[w, PREDATOR], first_in_cell[w, PREY], 0
    for cell in range(first, last):
        is_empty = (predators[np.uint64(cell)] < 0) & (prey[np.uint64(cell)] < 0)
        n_free += 1 if is_empty & (not wall[np.uint64(cell)]) else 0
    return n_free


@inline
def build_free_cells(tree: Links, wall: Bools, first_in_cell: Links, w: int) -> None:
    """Build the index of a world.

    Args:
        tree: See `allocate_free_cells`, written.
        wall: `[cells]`.
        first_in_cell: `[W, 2, cells]`, first agent on each cell, -1 if none.
        w: World.
    """
    n_blocks, total = tree.shape[0] - _SPARE_ENTRIES, 0
    for block in range(n_blocks):
        first = block * _BLOCK
        last = min(first + _BLOCK, wall.shape[0])
        n_free = count_free_cells(wall, first_in_cell, w, first, last)
        tree[block + 1] = n_free
        total += n_free
    for i in range(1, n_blocks + 1):
        above = i + (i & -i)
        if above <= n_blocks:
            tree[above] += tree[i]
    tree[0] = 1
    tree[n_blocks + 1] = total


@inline
def take_free_cell(tree: Links, cell: int) -> None:
    """Take a cell, on which an agent is now, out of the index, if it is built."""
    if tree[0] == 0:
        return
    n_blocks = tree.shape[0] - _SPARE_ENTRIES
    i = cell // _BLOCK + 1
    while i <= n_blocks:
        tree[i] -= 1
        i += i & -i
    tree[n_blocks + 1] -= 1


@inline
def draw_free_cell(tree: Links, wall: Bools, first_in_cell: Links, w: int, key: int) -> int:
    """Draw a free cell of the whole grid at random; -1 if there is none.

    Args:
        tree: The index, built if it is not.
        wall: `[cells]`.
        first_in_cell: `[W, 2, cells]`, first agent on each cell, -1 if none.
        w: World.
        key: Random key.
    """
    if tree[0] == 0:
        build_free_cells(tree, wall, first_in_cell, w)
    n_blocks = tree.shape[0] - _SPARE_ENTRIES
    n_free = np.int64(tree[n_blocks + 1])
    if n_free == 0:
        return -1
    rank, before, span = randint(key, 0, n_free), 0, 1
    while 2 * span <= n_blocks:
        span *= 2
    while span > 0:
        if before + span <= n_blocks and tree[before + span] <= rank:
            before += span
            rank -= tree[before]
        span //= 2
    for cell in range(before * _BLOCK, wall.shape[0]):
        if is_cell_free(wall, first_in_cell, w, cell):
            if rank == 0:
                return cell
            rank -= 1
    return -1
