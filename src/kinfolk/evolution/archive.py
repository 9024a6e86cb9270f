"""A map of behaviours: in each cell the best member found that behaves so (MAP-Elites).

Mouret and Clune 2015, arXiv:1504.04909. The map is a `GridArchive` of pyribs; parents are drawn
from its cells by our keys, so that a run can go on exactly from what the map holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays, Floats, Ints
from kinfolk.core.keys import below
from kinfolk.evolution.selection import check_fitness

Range = tuple[float, float]


class BehaviourMap:
    """Solutions by what they do.

    Args:
        parameters: How many a solution has.
        cells: How many cells each axis has.
        ranges: Where each axis begins and ends; what lies outside counts as at the end.
    """

    def __init__(self, parameters: int, cells: Sequence[int], ranges: Sequence[Range]) -> None:
        from ribs.archives import GridArchive

        self._archive: Any = GridArchive(
            solution_dim=parameters, dims=list(cells), ranges=list(ranges),
            extra_fields={"uid": ((), np.int64)}, dtype=np.float64,
        )  # fmt: skip
        self.cells = tuple(cells)

    def add(self, params: AnyArray, fitness: Floats, behaviour: Floats, uid: Ints) -> int:
        """Enter members; how many took a cell, or one over from a worse one.

        Raises:
            ContractError: The fitness of a member is not finite, or there is not one for each.
        """
        fitness = check_fitness(fitness, uid)
        found = self._archive.add(params.astype(np.float64), fitness, behaviour, uid=uid)
        return int((found["status"] > 0).sum())

    def parents(self, count: int, key: int) -> tuple[AnyArray, Ints]:
        """Parameters and uids of `count` members drawn from the filled cells, with equal chance."""
        kept = self.to_arrays()
        drawn = below(key, np.arange(count, dtype=np.int64), len(kept["uid"]))
        return kept["solution"][drawn].astype(np.float32), kept["uid"][drawn]

    @property
    def filled(self) -> int:
        """How many cells have a member."""
        return len(self._archive)

    @property
    def coverage(self) -> float:
        """The share of cells that have one."""
        return self.filled / int(np.prod(self.cells))

    @property
    def best(self) -> float:
        """The highest fitness in the map."""
        return float(self.to_arrays()["objective"].max())

    def quality(self) -> float:
        """The mean fitness of the filled cells."""
        return float(self.to_arrays()["objective"].mean())

    def grid(self) -> Floats:
        """The fitness in each cell, NaN where nobody is; axes as they were given."""
        kept = self.to_arrays()
        flat = np.full(int(np.prod(self.cells)), np.nan)
        flat[kept["index"]] = kept["objective"]
        return flat.reshape(self.cells)

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
