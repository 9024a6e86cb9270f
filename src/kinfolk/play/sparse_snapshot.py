"""Snapshots for other processes: policy memory without the rows that are all zero.

Each slot has memory for every row of the batch, but plays only some of them. Sent whole, the map
memories of six slots of CogsGuard are a hundred megabytes per task.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays, Bools
from kinfolk.core.errors import ContractError

_SPARSE_PREFIX = "memory/"  # arrays that are packed
_ROWS_SUFFIX = "@rows"  # appended to the name of a packed array: its row indices


def pack_sparse(arrays: Arrays) -> dict[str, AnyArray]:
    """Return copies of arrays; those of policy memory with their nonzero rows only.

    >>> packed = pack_sparse({"memory/a/map": np.array([[0, 0], [3, 4], [0, 0]])})
    >>> packed["memory/a/map"].tolist(), packed["memory/a/map@rows"].tolist()
    ([[3, 4]], [1])
    """
    packed = {}
    for name, array in arrays.items():
        if not name.startswith(_SPARSE_PREFIX):
            packed[name] = array.copy()
            continue
        rows = np.flatnonzero(_nonzero_rows(array))
        packed[name], packed[name + _ROWS_SUFFIX] = array[rows], rows
    return packed


def unpack_sparse(packed: Arrays, arrays: Mapping[str, AnyArray]) -> None:
    """Write packed arrays into `arrays`; rows of memory that were not packed become zero.

    Raises:
        ContractError: An array is missing or has another shape.
    """
    for name, array in arrays.items():
        values, rows = packed.get(name), packed.get(name + _ROWS_SUFFIX)
        fits = values is not None and (
            values.shape == array.shape
            if rows is None
            else values.shape[1:] == array.shape[1:] and (rows < len(array)).all()
        )
        if values is None or not fits:
            raise ContractError(f"The snapshot does not fit: '{name}' should be {array.shape}.")
        if rows is None:
            array[...] = values
        else:
            array[_nonzero_rows(array)] = 0
            array[rows] = values


def _nonzero_rows(array: AnyArray) -> Bools:
    return np.asarray(array.reshape(len(array), -1).any(axis=1))
