"""MAP-Elites archive (Mouret and Clune 2015, arXiv:1504.04909) on a `GridArchive` of pyribs.

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

AxisRange = tuple[float, float]


class MapElitesArchive:
    """Grid of cells over measures of behaviour, each with the best solution found in it.

    Args:
        solution_dim: Parameters of a solution.
        dims: Cells along each axis of the grid.
        ranges: Lower and upper bound of each axis; measures outside are clipped to them.
    """

    def __init__(self, solution_dim: int, dims: Sequence[int], ranges: Sequence[AxisRange]) -> None:
        with optional_import("A MAP-Elites archive"):
            from ribs.archives import GridArchive

        grid = {"solution_dim": solution_dim, "dims": list(dims), "ranges": list(ranges)}
        fields = {"uid": ((), np.int64)}
        self._archive: Any = GridArchive(**grid, extra_fields=fields, dtype=np.float64)
        self.dims = tuple(dims)

    def add(self, params: AnyArray, fitness: Floats, measures: Floats, uid: Ints) -> int:
        """Add solutions; each enters its cell if that is empty or holds a worse one.

        Args:
            params: `[n, solution_dim]`.
            fitness: `[n]`, higher is better.
            measures: `[n, axes]`, which decide the cell.
            uid: `[n]`, uids of the members.

        Returns:
            How many solutions entered the archive.

        Raises:
            ContractError: There is not one finite fitness per member.
        """
        fitness = check_fitness(fitness, uid)
        added = self._archive.add(params.astype(np.float64), fitness, measures, uid=uid)
        return int((added["status"] > 0).sum())

    def sample_elites(self, count: int, key: int) -> tuple[AnyArray, Ints]:
        """Return parameters and uids of `count` elites, drawn uniformly with replacement."""
        elites = self.to_arrays()
        drawn = randint(key, np.arange(count, dtype=np.int64), len(elites["uid"]))
        return elites["solution"][drawn].astype(np.float32), elites["uid"][drawn]

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
        return float(self.to_arrays()["objective"].max())

    def obj_mean(self) -> float:
        """Return the mean fitness of the filled cells."""
        return float(self.to_arrays()["objective"].mean())

    def fitness_grid(self) -> Floats:
        """Return the fitness of each cell in the shape `dims`; NaN where a cell is empty."""
        elites = self.to_arrays()
        flat = np.full(int(np.prod(self.dims)), np.nan)
        flat[elites["index"]] = elites["objective"]
        return flat.reshape(self.dims)

    def to_arrays(self) -> dict[str, AnyArray]:
        """Return all elites as arrays, in the order of their cells."""
        data = self._archive.data()
        order = np.argsort(data["index"])
        names = ("solution", "objective", "measures", "index", "uid")
        return {name: np.asarray(data[name])[order] for name in names}

    def load_arrays(self, arrays: Arrays) -> None:
        """Fill an empty archive with what `to_arrays` returned."""
        solutions = (arrays["solution"], arrays["objective"], arrays["measures"])
        self._archive.add(*solutions, uid=arrays["uid"])
