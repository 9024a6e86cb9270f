"""MAP-Elites archive (Mouret and Clune 2015, arXiv:1504.04909) on a `GridArchive` of pyribs.

pyribs keeps fitness, measures and cells; the nets of the elites, of any kind, are kept beside it.
Parents are drawn by random keys and not by pyribs, so that a resumed run continues exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays, Floats, Ints
from kinfolk.core.imports import optional_import
from kinfolk.core.random import randint
from kinfolk.evolution.selection import check_fitness
from kinfolk.nets.base import BaseNets

AxisRange = tuple[float, float]
_NETS = "nets/"  # prefix of the arrays of nets


def _make_grid(dims: Sequence[int], ranges: Sequence[AxisRange]) -> Any:
    """Return an empty `GridArchive` whose solutions are numbers, with a uid each."""
    with optional_import("A MAP-Elites archive"):
        from ribs.archives import GridArchive

    grid = {"solution_dim": 1, "dims": list(dims), "ranges": list(ranges)}
    return GridArchive(**grid, extra_fields={"uid": ((), np.int64)}, dtype=np.float64)


def find_elites(
    dims: Sequence[int], ranges: Sequence[AxisRange], fitness: Floats, measures: Floats
) -> dict[int, int]:
    """Return the index of the fittest solution in each filled cell, by the cell's flat index.

    Args:
        dims: Cells along each axis of the grid.
        ranges: Lower and upper bound of each axis; measures outside are clipped to them.
        fitness: `[n]`, higher is better; of equals, the first wins.
        measures: `[n, axes]`, which decide the cell.
    """
    if not len(fitness):
        return {}
    grid, uid = _make_grid(dims, ranges), np.arange(len(fitness))
    grid.add(uid[:, None].astype(np.float64), fitness, measures, uid=uid)
    data = grid.data(["index", "uid"])
    return dict(sorted(zip(data["index"].tolist(), data["uid"].tolist(), strict=True)))


def find_cells(dims: Sequence[int], ranges: Sequence[AxisRange], measures: Floats) -> Ints:
    """Return the flat index of the cell of each solution.

    Args:
        dims: Cells along each axis of the grid.
        ranges: Lower and upper bound of each axis; measures outside are clipped to them.
        measures: `[n, axes]`.
    """
    return np.asarray(_make_grid(dims, ranges).index_of(measures), dtype=np.int64)


class MapElitesArchive:
    """Grid of cells over measures of behaviour, each with the best net found in it.

    Args:
        dims: Cells along each axis of the grid.
        ranges: Lower and upper bound of each axis; measures outside are clipped to them.
    """

    def __init__(self, dims: Sequence[int], ranges: Sequence[AxisRange]) -> None:
        self._archive: Any = _make_grid(dims, ranges)
        self._nets: dict[int, Arrays] = {}  # by cell, of one member each
        self.dims = tuple(dims)

    def add(self, nets: BaseNets, fitness: Floats, measures: Floats, uid: Ints) -> int:
        """Add members; each enters its cell if that is empty or holds a worse one.

        Args:
            nets: `n` nets.
            fitness: `[n]`, higher is better.
            measures: `[n, axes]`, which decide the cell.
            uid: `[n]`, uids of the members.

        Returns:
            How many members entered the archive.

        Raises:
            ContractError: There is not one finite fitness per member.
        """
        fitness = check_fitness(fitness, uid)
        rows = np.arange(len(fitness), dtype=np.float64)[:, None]
        added = self._archive.add(rows, fitness, measures, uid=uid)
        arrays = nets.to_arrays()
        cells = self._archive.index_of(measures)
        order = np.argsort(fitness, kind="stable")[
            ::-1
        ]  # of equals in a cell, pyribs takes the first
        holders = {int(cell): int(holder) for cell, holder in zip(*self._holders(), strict=True)}
        for member in order.tolist():
            cell = int(cells[member])
            if holders[cell] == uid[member]:
                self._nets[cell] = {n: a[member : member + 1].copy() for n, a in arrays.items()}
        return int((added["status"] > 0).sum())

    def _holders(self) -> tuple[Ints, Ints]:
        """Return the filled cells, and the uid of the elite in each."""
        data = self._archive.data(["index", "uid"])
        return np.asarray(data["index"]), np.asarray(data["uid"])

    def sample_elites(
        self, count: int, key: int, nets: BaseNets
    ) -> tuple[dict[str, AnyArray], Ints]:
        """Draw elites uniformly with replacement.

        Args:
            count: How many.
            key: Random key.
            nets: Nets of the kind that was added.

        Returns:
            The arrays of a population of them, and their uids.
        """
        cells, uid = self._ordered_holders()
        drawn = randint(key, np.arange(count, dtype=np.int64), len(cells))
        members = [self._nets[int(cell)] for cell in cells[drawn]]
        return nets.stack_members(members), uid[drawn]

    def _ordered_holders(self) -> tuple[Ints, Ints]:
        """Return the filled cells in ascending order, and the uid of the elite in each."""
        cells, uid = self._holders()
        order = np.argsort(cells)
        return cells[order], uid[order]

    @property
    def num_elites(self) -> int:
        """Number of cells that are filled."""
        return len(self._archive)

    @property
    def coverage(self) -> float:
        """Share of cells that are filled."""
        return self.num_elites / int(np.prod(self.dims))

    @property
    def obj_max(self) -> float:
        """Highest fitness in the archive."""
        return float(self._archive.data("objective").max())

    def obj_mean(self) -> float:
        """Return the mean fitness of the filled cells."""
        data = self._archive.data(["index", "objective"])
        return float(data["objective"][np.argsort(data["index"])].mean())

    def fitness_grid(self) -> Floats:
        """Return the fitness of each cell in the shape `dims`; NaN where a cell is empty."""
        data = self._archive.data(["index", "objective"])
        flat = np.full(int(np.prod(self.dims)), np.nan)
        flat[data["index"]] = data["objective"]
        return flat.reshape(self.dims)

    def to_arrays(self, nets: BaseNets) -> dict[str, AnyArray]:
        """Return all elites as arrays, in the order of their cells; `nets` are of their kind."""
        data = self._archive.data()
        order = np.argsort(data["index"])
        names = ("objective", "measures", "index", "uid")
        stored = {name: np.asarray(data[name])[order] for name in names}
        members = [self._nets[int(cell)] for cell in stored["index"]]
        return stored | {f"{_NETS}{n}": a for n, a in nets.stack_members(members).items()}

    def load_arrays(self, arrays: Arrays) -> None:
        """Fill an empty archive with what `to_arrays` returned."""
        rows = np.arange(len(arrays["uid"]), dtype=np.float64)[:, None]
        self._archive.add(rows, arrays["objective"], arrays["measures"], uid=arrays["uid"])
        stored = {n.removeprefix(_NETS): a for n, a in arrays.items() if n.startswith(_NETS)}
        for row, cell in enumerate(arrays["index"].tolist()):
            self._nets[cell] = {n: a[row : row + 1].copy() for n, a in stored.items()}
