"""Kernels that unpack observation fields of many rows into features.

Words of cells (see the `spec` of each world) hold several codes each. A *part* describes some of the
bits: either a number, scaled, on one plane; or a one-hot over planes, where code 0 sets none.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import allocation_free_kernel

SCALED_NUMBER, ONE_HOT = 0, 1  # kinds of parts
SHIFT, MASK, KIND, PLANE = range(4)  # columns of the table of parts

Float32Array = npt.NDArray[np.float32]


@allocation_free_kernel
def unpack_words(
    words: npt.NDArray[Any],
    source_offset: int,
    source_rows: Ints,
    target_rows: Ints,
    bit_fields: Ints,
    scales: Float32Array,
    n_cells: int,
    feature_offset: int,
    out: Float32Array,
) -> None:
    """Unpack a field of cell words into planes.

    Args:
        words: `[rows, words per row]`, observations viewed in the dtype of the field.
        source_offset: Column of `words` where the field begins.
        source_rows: `[n]`, rows of `words` to read.
        target_rows: `[n]`, the row of `out` for each of them.
        bit_fields: `[parts, 4]`, shift, mask, kind and first plane of each part.
        scales: `[parts]`, factor of parts that are numbers.
        n_cells: Words of the field, which are also the columns of a plane.
        feature_offset: Column of `out` where the planes begin.
        out: `[rows, columns]`, zeros, filled with the planes.
    """
    for i in range(source_rows.shape[0]):
        row, into = source_rows[i], target_rows[i]
        for cell in range(n_cells):
            word = np.int64(words[row, source_offset + cell])
            if word == 0:
                continue
            for part in range(bit_fields.shape[0]):
                code = (word >> bit_fields[part, SHIFT]) & bit_fields[part, MASK]
                if code == 0:
                    continue
                if bit_fields[part, KIND] == SCALED_NUMBER:
                    column = feature_offset + bit_fields[part, PLANE] * n_cells + cell
                    out[into, column] = np.float32(code) * scales[part]
                else:
                    out[
                        into, feature_offset + (bit_fields[part, PLANE] + code - 1) * n_cells + cell
                    ] = 1.0


@allocation_free_kernel
def unpack_numbers(
    numbers: npt.NDArray[Any],
    source_offset: int,
    source_rows: Ints,
    target_rows: Ints,
    scales: Float32Array,
    feature_offset: int,
    out: Float32Array,
) -> None:
    """Copy a field of plain numbers, each multiplied by its scale.

    Args:
        numbers: `[rows, numbers per row]`, observations viewed in the dtype of the field.
        source_offset: Column of `numbers` where the field begins.
        source_rows: `[n]`, rows of `numbers` to read.
        target_rows: `[n]`, the row of `out` for each of them.
        scales: Factor of each number of the field.
        feature_offset: Column of `out` where the field goes.
        out: `[rows, columns]`, filled.
    """
    for i in range(source_rows.shape[0]):
        for j in range(scales.shape[0]):
            out[target_rows[i], feature_offset + j] = (
                np.float32(numbers[source_rows[i], source_offset + j]) * scales[j]
            )
