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
from kinfolk.core.jit import lean_kernel

NUMBER, ONE_HOT = 0, 1
SHIFT, MASK, KIND, PLANE = range(4)  # columns of a table of parts

Numbers32 = npt.NDArray[np.float32]


@lean_kernel
def unpack_words(
    words: npt.NDArray[Any],
    first: int,
    source: Ints,
    target: Ints,
    parts: Ints,
    scales: Numbers32,
    cells: int,
    start: int,
    out: Numbers32,
) -> None:
    """Row `target[i]` of `out` gets the planes of row `source[i]`; places of `out` begin as 0.

    `first` is where the field begins in a row of `words`, `start` where its planes go.
    """
    for i in range(source.shape[0]):
        row, into = source[i], target[i]
        for cell in range(cells):
            word = np.int64(words[row, first + cell])
            if word == 0:
                continue
            for part in range(parts.shape[0]):
                code = (word >> parts[part, SHIFT]) & parts[part, MASK]
                if code == 0:
                    continue
                if parts[part, KIND] == NUMBER:
                    at = start + parts[part, PLANE] * cells + cell
                    out[into, at] = np.float32(code) * scales[part]
                else:
                    out[into, start + (parts[part, PLANE] + code - 1) * cells + cell] = 1.0


@lean_kernel
def unpack_numbers(
    numbers: npt.NDArray[Any],
    first: int,
    source: Ints,
    target: Ints,
    scales: Numbers32,
    start: int,
    out: Numbers32,
) -> None:
    """Copy a field of plain numbers, each times its scale."""
    for i in range(source.shape[0]):
        for j in range(scales.shape[0]):
            out[target[i], start + j] = np.float32(numbers[source[i], first + j]) * scales[j]
