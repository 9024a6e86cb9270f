"""Genetic selection: fitness in, the parents' indices out. Higher is better."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kinfolk.core.arrays import AnyArray, Floats, Ints
from kinfolk.core.errors import ContractError, require
from kinfolk.core.keys import below, fold


def check_fitness(fitness: AnyArray, uid: Sequence[int] | Ints, population: str = "") -> Floats:
    """Fitness as numbers that can be compared.

    Raises:
        ContractError: One is not finite; the message names the member.
    """
    values = np.asarray(fitness, dtype=np.float64)
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        member, where = int(bad[0]), f" of population '{population}'" if population else ""
        raise ContractError(
            f"Member {member} (uid {int(uid[member])}){where} has the fitness {values[member]}. "
            f"A fitness must be a finite number."
        )
    return values


def ranked(fitness: AnyArray) -> Ints:
    """Members from best to worst; of equals the first comes first."""
    order: Ints = np.argsort(-np.asarray(fitness, dtype=np.float64), kind="stable")
    return order


def truncation(fitness: AnyArray, elites: int = 0) -> Ints:
    """The better half, twice. Odd sizes are exact; the first `elites` are the very best.

    >>> truncation([1.0, 5.0, 2.0, 4.0]).tolist(), truncation([1.0, 5.0, 2.0, 4.0, 3.0]).tolist()
    ([1, 3, 1, 3], [1, 3, 4, 1, 3])
    """
    order = ranked(fitness)
    _check_elites(elites, len(order))
    top = order[: (len(order) + 1) // 2]
    return np.concatenate([order[:elites], np.resize(top, len(order) - elites)])


def tournament(fitness: AnyArray, size: int, key: int, elites: int = 0) -> Ints:
    """Each child's parent is the best of `size` members drawn by chance; `elites` come first."""
    order = ranked(fitness)
    _check_elites(elites, len(order))
    require(size >= 1, f"A tournament needs at least 1 contestant, not {size}.")
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    children = len(order) - elites
    keys = fold(key, np.arange(children, dtype=np.int64))
    drawn = below(keys[:, None], np.arange(size, dtype=np.int64), len(order))
    return np.concatenate([order[:elites], order[place[drawn].min(axis=1)]])


def _check_elites(elites: int, members: int) -> None:
    require(
        0 <= elites < members,
        f"Elites must be fewer than the {members} members, and at least 0, not {elites}.",
    )
