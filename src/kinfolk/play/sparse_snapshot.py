"""Snapshots that travel: of what policies remember, only the places that have something.

Each slot has memory for every place, and most places are another slot's. Sent whole, the maps of
six slots of CogsGuard are a hundred megabytes a chunk.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays, Bools
from kinfolk.core.errors import ContractError

_SPARSE_PREFIX = "memory/"  # names that are packed
_ROWS_SUFFIX = "@rows"  # behind the name: which rows these are


def pack_sparse(arrays: Arrays) -> dict[str, AnyArray]:
    """Copies; of memory only the rows that are not all zero, and which these are.

    >>> found = pack_sparse({"memory/a/map": np.array([[0, 0], [3, 4], [0, 0]])})
    >>> found["memory/a/map"].tolist(), found["memory/a/map@rows"].tolist()
    ([[3, 4]], [1])
    """
    found = {}
    for name, array in arrays.items():
        if not name.startswith(_SPARSE_PREFIX):
            found[name] = array.copy()
            continue
        rows = np.flatnonzero(_nonzero_rows(array))
        found[name], found[name + _ROWS_SUFFIX] = array[rows], rows
    return found


def unpack_sparse(packed: Arrays, arrays: Mapping[str, AnyArray]) -> None:
    """Write back what was packed; other rows of memory become zero.

    Raises:
        ContractError: It was packed from arrays of other shapes.
    """
    for name, array in arrays.items():
        given, rows = packed.get(name), packed.get(name + _ROWS_SUFFIX)
        fits = given is not None and (
            given.shape == array.shape
            if rows is None
            else given.shape[1:] == array.shape[1:] and (rows < len(array)).all()
        )
        if given is None or not fits:
            raise ContractError(f"The snapshot does not fit: '{name}' should be {array.shape}.")
        if rows is None:
            array[...] = given
        else:
            array[_nonzero_rows(array)] = 0
            array[rows] = given


def _nonzero_rows(array: AnyArray) -> Bools:
    return np.asarray(array.reshape(len(array), -1).any(axis=1))
