"""A map of behaviours: in each cell the best member found that behaves so (MAP-Elites).

Mouret and Clune 2015, arXiv:1504.04909. The map is a `GridArchive` of pyribs; parents are drawn
from its cells by our keys, so that a run can go on exactly from what the map holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays, Floats, Ints
from kinfolk.core.optional_dependencies import optional_import
from kinfolk.core.random import randint
from kinfolk.evolution.selection import check_fitness

AxisRange = tuple[float, float]


class MapElitesArchive:
    """Solutions by what they do.

    Args:
        parameters: How many a solution has.
        cells: How many cells each axis has.
        ranges: Where each axis begins and ends; what lies outside counts as at the end.
    """

    def __init__(self, solution_dim: int, dims: Sequence[int], ranges: Sequence[AxisRange]) -> None:
        with optional_import("A map of behaviours"):
            from ribs.archives import GridArchive

        self._archive: Any = GridArchive(
            solution_dim=solution_dim, dims=list(dims), ranges=list(ranges),
            extra_fields={"uid": ((), np.int64)}, dtype=np.float64,
        )  # fmt: skip
        self.dims = tuple(dims)

    def add(self, params: AnyArray, fitness: Floats, measures: Floats, uid: Ints) -> int:
        """Enter members; how many took a cell, or one over from a worse one.

        Raises:
            ContractError: The fitness of a member is not finite, or there is not one for each.
        """
        fitness = check_fitness(fitness, uid)
        found = self._archive.add(params.astype(np.float64), fitness, measures, uid=uid)
        return int((found["status"] > 0).sum())

    def sample_elites(self, count: int, key: int) -> tuple[AnyArray, Ints]:
        """Parameters and uids of `count` members drawn from the filled cells, with equal chance."""
        kept = self.to_arrays()
        drawn = randint(key, np.arange(count, dtype=np.int64), len(kept["uid"]))
        return kept["solution"][drawn].astype(np.float32), kept["uid"][drawn]

    @property
    def num_elites(self) -> int:
        """How many cells have a member."""
        return len(self._archive)

    @property
    def coverage(self) -> float:
        """The share of cells that have one."""
        return self.num_elites / int(np.prod(self.dims))

    @property
    def obj_max(self) -> float:
        """The highest fitness in the map."""
        return float(self.to_arrays()["objective"].max())

    def obj_mean(self) -> float:
        """The mean fitness of the filled cells."""
        return float(self.to_arrays()["objective"].mean())

    def fitness_grid(self) -> Floats:
        """The fitness in each cell, NaN where nobody is; axes as they were given."""
        kept = self.to_arrays()
        flat = np.full(int(np.prod(self.dims)), np.nan)
        flat[kept["index"]] = kept["objective"]
        return flat.reshape(self.dims)

    def to_arrays(self) -> dict[str, AnyArray]:
        """All members of the map, in the order of their cells."""
        data = self._archive.data()
        order = np.argsort(data["index"])
        names = ("solution", "objective", "measures", "index", "uid")
        return {name: np.asarray(data[name])[order] for name in names}

    def load_arrays(self, arrays: Arrays) -> None:
        """Fill an empty map with what `to_arrays` gave."""
        self._archive.add(
            arrays["solution"], arrays["objective"], arrays["measures"], uid=arrays["uid"]
        )
