"""Copies of short lines of a grid, the inner loop of observations.

The compiler cannot know that source and target are different memory, so in a plain loop it loads and
stores one number at a time, or tests for overlap at every line of nine cells. Here a block is loaded
whole before it is stored, which becomes one vector instruction each.
"""

from __future__ import annotations

import numpy as np

from kinfolk.core.arrays import AnyArray
from kinfolk.core.jit import inline_always


@inline_always
def _copy_eight(source: AnyArray, start: int, out: AnyArray, out_start: int) -> None:
    """Copy eight numbers; see `copy_line` for the arguments.

    Indices are cast to uint64, because unsigned indices need no check for negative values.
    """
    a, b = source[np.uint64(start)], source[np.uint64(start + 1)]
    c, d = source[np.uint64(start + 2)], source[np.uint64(start + 3)]
    e, f = source[np.uint64(start + 4)], source[np.uint64(start + 5)]
    g, h = source[np.uint64(start + 6)], source[np.uint64(start + 7)]
    out[np.uint64(out_start)], out[np.uint64(out_start + 1)] = a, b
    out[np.uint64(out_start + 2)], out[np.uint64(out_start + 3)] = c, d
    out[np.uint64(out_start + 4)], out[np.uint64(out_start + 5)] = e, f
    out[np.uint64(out_start + 6)], out[np.uint64(out_start + 7)] = g, h


@inline_always
def _copy_four(source: AnyArray, start: int, out: AnyArray, out_start: int) -> None:
    """Copy four numbers; see `copy_line` for the arguments."""
    a, b = source[np.uint64(start)], source[np.uint64(start + 1)]
    c, d = source[np.uint64(start + 2)], source[np.uint64(start + 3)]
    out[np.uint64(out_start)], out[np.uint64(out_start + 1)] = a, b
    out[np.uint64(out_start + 2)], out[np.uint64(out_start + 3)] = c, d


@inline_always
def copy_line(source: AnyArray, start: int, out: AnyArray, out_start: int, n: int) -> None:
    """Copy `n` numbers from one flat array to another; the last two blocks may overlap.

    Args:
        source: Read.
        start: Index of the first number in it.
        out: Written; other memory than `source`.
        out_start: Index of the first number in it.
        n: How many numbers.
    """
    if n >= 8:
        for i in range(0, n - 8, 8):
            _copy_eight(source, start + i, out, out_start + i)
        _copy_eight(source, start + n - 8, out, out_start + n - 8)
    elif n >= 4:
        _copy_four(source, start, out, out_start)
        _copy_four(source, start + n - 4, out, out_start + n - 4)
    else:
        for i in range(n):
            out[np.uint64(out_start + i)] = source[np.uint64(start + i)]


@inline_always
def copy_square(
    source: AnyArray, start: int, stride: int, out: AnyArray, out_start: int, side: int
) -> None:
    """Copy a square of a grid to consecutive numbers.

    The usual windows of 9 and 7 cells have code of their own, in which the compiler knows every
    length and needs no loop.

    Args:
        source: The grid, read.
        start: Index of the square's first number in it.
        stride: Numbers of a line of the grid.
        out: Written; other memory than `source`.
        out_start: Index of the first number in it.
        side: Side of the square.
    """
    if side == 9:
        for i in range(9):
            _copy_eight(source, start + i * stride, out, out_start + 9 * i)
            out[np.uint64(out_start + 9 * i + 8)] = source[np.uint64(start + i * stride + 8)]
    elif side == 7:
        for i in range(7):
            _copy_four(source, start + i * stride, out, out_start + 7 * i)
            _copy_four(source, start + i * stride + 3, out, out_start + 7 * i + 3)
    else:
        for i in range(side):
            copy_line(source, start + i * stride, out, out_start + i * side, side)
