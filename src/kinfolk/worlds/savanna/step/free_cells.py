"""An index of free cells, so that births on a crowded grid need not search it each time.

It is a Fenwick tree over the cells: entry `i` counts the free cells of a range that ends with cell
`i - 1`. It is built when the first newborn of a step has no free neighbour cell. From then on each
birth takes a cell out, and finding the k-th free cell takes as many steps as the grid has bits.
"""

from __future__ import annotations

from kinfolk.core.arrays import Bools
from kinfolk.core.jit import inline
from kinfolk.core.random import randint
from kinfolk.worlds.savanna.state import Links
from kinfolk.worlds.savanna.step.occupancy import is_cell_free

# Entry 0 of the tree says whether it is built, the last one how many cells are free.
SPARE_ENTRIES = 2


@inline
def build_free_cells(tree: Links, wall: Bools, first_in_cell: Links, w: int) -> None:
    """Build the index of a world.

    Args:
        tree: `[cells + SPARE_ENTRIES]`, written.
        wall: `[cells]`.
        first_in_cell: `[W, 2, cells]`, first agent on each cell, -1 if none.
        w: World.
    """
    n_cells, n_free = wall.shape[0], 0
    for cell in range(n_cells):
        is_free = 1 if is_cell_free(wall, first_in_cell, w, cell) else 0
        tree[cell + 1] = is_free
        n_free += is_free
    for i in range(1, n_cells + 1):
        above = i + (i & -i)
        if above <= n_cells:
            tree[above] += tree[i]
    tree[0] = 1
    tree[n_cells + 1] = n_free


@inline
def take_free_cell(tree: Links, cell: int) -> None:
    """Take a cell out of the index, if it is built."""
    if tree[0] == 0:
        return
    n_cells = tree.shape[0] - SPARE_ENTRIES
    i = cell + 1
    while i <= n_cells:
        tree[i] -= 1
        i += i & -i
    tree[n_cells + 1] -= 1


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
    n_cells = wall.shape[0]
    if tree[n_cells + 1] == 0:
        return -1
    rank, before, span = randint(key, 0, tree[n_cells + 1]), 0, 1
    while 2 * span <= n_cells:
        span *= 2
    while span > 0:
        if before + span <= n_cells and tree[before + span] <= rank:
            before += span
            rank -= tree[before]
        span //= 2
    return before
