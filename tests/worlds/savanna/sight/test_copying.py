"""Squares of a grid are copied exactly, and nothing else is written."""

import numpy as np
import pytest

from kinfolk.worlds.savanna.sight.copying import copy_square


@pytest.mark.parametrize("side", [1, 3, 5, 7, 9, 11, 17])
def test_a_square_is_copied_line_by_line(side):
    grid = np.arange(400, dtype=np.uint32)  # 20 x 20
    out = np.full(side * side + 6, 7777, dtype=np.uint32)
    copy_square(grid, 2 * 20 + 3, 20, out, 3, side)
    square = grid.reshape(20, 20)[2 : 2 + side, 3 : 3 + side]
    assert out[3:-3].tolist() == square.reshape(-1).tolist()
    assert out[:3].tolist() == out[-3:].tolist() == [7777] * 3
