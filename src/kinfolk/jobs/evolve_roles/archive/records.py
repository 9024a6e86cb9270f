"""What is known of a team or role: its scores and behaviour descriptors over all its games.

A descriptor is a ratio of sums over all games, so more games make it more exact, and one game without
any event of a kind does not leave it undefined.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinfolk.core.arrays import Arrays, Floats, Ints
from kinfolk.core.errors import make_unknown_name_error
from kinfolk.evolution.archive import find_cells, find_elites
from kinfolk.jobs.evolve_nets.settings import ArchiveAxis
from kinfolk.jobs.evolve_roles.games import RoleGameResult
from kinfolk.policies.role_domain import RoleDomain
from kinfolk.roles.catalog import RoleCatalog

# Weight in games of the mean of all records in a value, so that a lucky start does not win a cell.
_PRIOR_GAMES = 3.0


@dataclass(frozen=True)
class BehaviorRecord:
    """Sums over the games of a team or of an agent's role.

    Attributes:
        games: Number of games.
        score: Sum of scores.
        numerators: `[axes]`, sums above the line of each descriptor.
        denominators: `[axes]`, sums below it.
    """

    games: int
    score: float
    numerators: Floats
    denominators: Floats

    def __add__(self, other: BehaviorRecord) -> BehaviorRecord:
        """Return the record of the games of both."""
        return BehaviorRecord(
            self.games + other.games,
            self.score + other.score,
            self.numerators + other.numerators,
            self.denominators + other.denominators,
        )

    @property
    def mean_score(self) -> float:
        """Mean score of its games."""
        return self.score / self.games

    @property
    def measures(self) -> Floats:
        """`[axes]` descriptors; 0 where nothing was counted below the line."""
        known = self.denominators > 0
        ratios: Floats = np.where(
            known, self.numerators / np.where(known, self.denominators, 1.0), 0.0
        )
        return ratios


class Descriptors:
    """Computes behaviour descriptors from the results of games.

    Args:
        domain: Role domain, which lists descriptors of its own.
        catalog: Catalog, whose behaviors have sources.
        axes: The descriptors to compute.

    Raises:
        UnknownNameError: There is no such descriptor.
    """

    def __init__(
        self, domain: RoleDomain, catalog: RoleCatalog, axes: Sequence[ArchiveAxis]
    ) -> None:
        self._domain, self.axes = domain, tuple(axes)
        self._sources = [str(behavior.source) for behavior in catalog.behaviors]
        known = [*dict.fromkeys(self._sources), *domain.descriptors]
        for axis in axes:
            if axis.name not in known:
                raise make_unknown_name_error("No behaviour descriptor is named", axis.name, known)

    @property
    def dims(self) -> tuple[int, ...]:
        """Number of cells along each axis."""
        return tuple(axis.cells for axis in self.axes)

    @property
    def ranges(self) -> list[tuple[float, float]]:
        """Lower and upper bound of each axis."""
        return [(axis.low, axis.high) for axis in self.axes]

    def describe(
        self, result: RoleGameResult, agents: Sequence[int], score: float, n_ticks: int
    ) -> BehaviorRecord:
        """Return the record of one game.

        Args:
            result: Result of the game.
            agents: Agents of the first team that are described.
            score: Score of the game.
            n_ticks: Ticks of the game.
        """
        rows, above, below = list(agents), [], []
        assert result.acted is not None  # compiled policies count
        acted = result.acted[rows].sum(axis=0)
        for axis in self.axes:
            if axis.name in self._domain.descriptors:
                over, under = self._domain.descriptors[axis.name]
                counted = {n: float(result.agent_counters[n][-1, rows].sum()) for n in over + under}
                above.append(sum(counted[name] for name in over))
                below.append(sum(counted[n] for n in under) if under else len(rows) * n_ticks)
            else:
                of_source = [i for i, source in enumerate(self._sources) if source == axis.name]
                above.append(float(acted[of_source].sum()))
                below.append(float(acted.sum()))
        return BehaviorRecord(1, score, np.array(above, np.float64), np.array(below, np.float64))

    def find_cells(self, records: Sequence[BehaviorRecord]) -> Ints:
        """Return the flat index of each record's cell."""
        if not records:
            return np.zeros(0, dtype=np.int64)
        return find_cells(self.dims, self.ranges, np.stack([r.measures for r in records]))

    def name_cell(self, cell: int) -> str:
        """Return the name of a cell: its place along every axis, from 0 on.

        For a grid of 10 x 10 x 5 cells, `name_cell(57)` is `1-1-2`.
        """
        return "-".join(str(int(place)) for place in np.unravel_index(cell, self.dims))


def estimate_values(records: Sequence[BehaviorRecord]) -> Floats:
    """Return the mean scores of records, shrunk towards the mean of all."""
    games = np.array([record.games for record in records], dtype=np.float64)
    scores = np.array([record.score for record in records])
    values: Floats = (scores + _PRIOR_GAMES * scores.sum() / games.sum()) / (games + _PRIOR_GAMES)
    return values


def select_elites(
    descriptors: Descriptors, records: Mapping[Any, BehaviorRecord], values: Floats | None = None
) -> dict[int, Any]:
    """Return the key of the best record in each cell, by the cell's flat index.

    Args:
        descriptors: The grid.
        records: Records by key; of equals, the first wins.
        values: `[records]`, what to compare; by default the shrunk mean scores.
    """
    if not records:
        return {}
    keys, entries = list(records), list(records.values())
    fitness = estimate_values(entries) if values is None else values
    measures = np.stack([record.measures for record in entries])
    winners = find_elites(descriptors.dims, descriptors.ranges, fitness, measures)
    return {cell: keys[winner] for cell, winner in winners.items()}


def pack_records(name: str, records: Mapping[Any, BehaviorRecord]) -> dict[str, Any]:
    """Return records as arrays, for a snapshot; a key is an id or a tuple of ids."""
    entries = list(records.values())
    return {
        f"{name}/keys": np.array(list(records), dtype=np.int64),
        f"{name}/games": np.array([r.games for r in entries], dtype=np.int64),
        f"{name}/scores": np.array([r.score for r in entries], dtype=np.float64),
        f"{name}/numerators": np.array([r.numerators for r in entries], dtype=np.float64),
        f"{name}/denominators": np.array([r.denominators for r in entries], dtype=np.float64),
    }


def unpack_records(name: str, arrays: Arrays) -> dict[Any, BehaviorRecord]:
    """Restore the records that `pack_records` returned."""
    names = ("keys", "games", "scores", "numerators", "denominators")
    columns = [arrays[f"{name}/{part}"] for part in names]
    records = {}
    for key, games, score, numerators, denominators in zip(*columns, strict=True):
        whole = key.tolist()
        record_key = tuple(whole) if isinstance(whole, list) else whole
        records[record_key] = BehaviorRecord(
            int(games), float(score), numerators.copy(), denominators.copy()
        )
    return records
