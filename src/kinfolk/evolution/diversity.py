"""How different the members of a population are."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kinfolk.core.arrays import AnyArray, Ints


def spread(params: AnyArray) -> float:
    """The root mean square distance of members from their mean."""
    away = params.astype(np.float64) - params.mean(axis=0, dtype=np.float64)
    return float(np.sqrt((away * away).sum(axis=1).mean()))


def founders_of(uid: Ints, parents: Ints, known: Mapping[int, int]) -> dict[int, int]:
    """The founder of each member by uid; `known` holds those of the members before.

    >>> founders_of(np.array([2, 3]), np.array([1, 1]), {0: 0, 1: 0})
    {2: 0, 3: 0}
    """
    found = {}
    for member, parent in zip(uid.tolist(), parents.tolist(), strict=True):
        found[member] = known.get(member, known.get(parent, member))
    return found
