"""How much memory a savanna takes, per agent, cell and life."""

from __future__ import annotations

from typing import NamedTuple

from kinfolk.worlds.savanna.settings import Savanna
from kinfolk.worlds.savanna.state import (
    INITIAL_UID_CAPACITY,
    PER_UID_FIELDS,
    allocate_state,
)
from kinfolk.worlds.savanna.step.runner import is_large

_CELL_FIELDS = ("first_in_cell", "visible_energy", "patch_in_cell")
_PATCH_FIELDS = ("patch_cell", "grass_energy")
_WORLD_FIELDS = (
    *("key", "tick", "done", "next_uid", "next_number", "active", "n_alive", "n_ended", "n_free"),
    *("trait_totals", "counters", "energy_accounts"),
)
# What kernels hold beside the state: rows of helpers and of written windows, locations of windows, and
# in large worlds lists of hunted prey, of the dead and of parents, and flags of postponed turns,
SCRATCH_BYTES_PER_ROW, LARGE_WORLD_BYTES_PER_ROW = 4 + 4 + 4, 4 + 4 + 4 + 1 + 1
# and of each cell its wall, as a flag, number and word, places in lists of cells, patterns of sight
# and working memory; in large worlds also who claims it.
SCRATCH_BYTES_PER_CELL, LARGE_WORLD_BYTES_PER_CELL = 1 + 4 + 4 + 8 + 8 + 8 + 4 + 1, 1


class MemoryUse(NamedTuple):
    """Bytes of memory of one world."""

    per_row: int  # of an agent that can be alive
    per_cell: int
    per_patch: int  # of grass
    per_life: int  # of an agent ever born, for its lineage


def describe_memory(settings: Savanna) -> MemoryUse:
    """Return the bytes that a world needs, without observations.

    Multiply them by `settings.rows`, by `settings.grid_size ** 2`, by the number of grass patches and
    by the number of lives. Observations take `spec.row_bytes` for each row that is asked for.
    """
    small = settings.model_copy(update={"max_rows": 64, "grid_size": 8, "initial_num_grass": 8})
    sizes = {name: array.nbytes for name, array in allocate_state(small, 1)._asdict().items()}
    others = (*_CELL_FIELDS, *_PATCH_FIELDS, *_WORLD_FIELDS, *PER_UID_FIELDS)
    n_cells, n_patches, large = 8 * 8, 8, is_large(settings)
    return MemoryUse(
        sum(size for name, size in sizes.items() if name not in others) // 64
        + SCRATCH_BYTES_PER_ROW
        + (LARGE_WORLD_BYTES_PER_ROW if large else 0),
        sum(sizes[name] for name in _CELL_FIELDS) // n_cells
        + SCRATCH_BYTES_PER_CELL
        + (LARGE_WORLD_BYTES_PER_CELL if large else 0),
        sum(sizes[name] for name in _PATCH_FIELDS) // n_patches,
        sum(sizes[name] for name in PER_UID_FIELDS) // INITIAL_UID_CAPACITY,
    )
