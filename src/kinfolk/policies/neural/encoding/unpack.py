"""From bytes to the numbers a net takes: kernels that unpack fields of many rows.

Words of cells (see the layouts of the worlds) hold several codes each. A *part* says what to make
of some bits: a number, scaled, on one plane; or planes of which the code's own is 1 and a code of
0 has none.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import allocation_free_kernel

SCALED_NUMBER, ONE_HOT = 0, 1
SHIFT, MASK, KIND, PLANE = range(4)  # columns of a table of parts

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
    """Row `target[i]` of `out` gets the planes of row `source[i]`; places of `out` begin as 0.

    `source_offset` is where the field begins in a row of `words`, `feature_offset` where its planes go.
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
                    at = feature_offset + bit_fields[part, PLANE] * n_cells + cell
                    out[into, at] = np.float32(code) * scales[part]
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
    """Copy a field of plain numbers, each times its scale."""
    for i in range(source_rows.shape[0]):
        for j in range(scales.shape[0]):
            out[target_rows[i], feature_offset + j] = (
                np.float32(numbers[source_rows[i], source_offset + j]) * scales[j]
            )
