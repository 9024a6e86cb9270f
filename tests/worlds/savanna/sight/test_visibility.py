"""Lines of sight are those of Bresenham, there or back."""

import numpy as np
import pytest

from kinfolk.worlds.savanna.settings import Savanna
from kinfolk.worlds.savanna.sight import visibility
from kinfolk.worlds.savanna.step.movement import has_clear_line


@pytest.mark.parametrize("collides", [False, True])
def test_every_cell_sees_what_a_clear_line_there_or_back_shows(collides, monkeypatch):
    if collides:  # all hashes are equal, so the rows themselves are sorted
        monkeypatch.setattr(
            visibility, "_hash_words", lambda words: np.zeros(len(words), np.uint64)
        )
    rng = np.random.default_rng(1)
    size, window, reach = 11, 7, 3
    walls = [divmod(int(cell), size) for cell in rng.choice(size * size, 18, replace=False)]
    settings = Savanna(
        grid_size=size, manual_wall_positions=walls, initial_num_grass=0,
        n_initial_active_type_1_prey=1, n_initial_active_type_1_predator=1,
    )  # fmt: skip
    wall = np.zeros(size * size, dtype=np.bool_)
    wall[settings.wall_cells] = True
    mask = visibility.compute_visibility(settings, wall, window)
    assert mask.patterns[0].all()
    assert len(np.unique(mask.patterns, axis=0)) == len(mask.patterns)
    for cell in range(size * size):
        x, y = divmod(cell, size)
        for j in range(window * window):
            to = (x + j // window - reach, y + j % window - reach)
            expected = has_clear_line(wall, size, x, y, *to) or has_clear_line(
                wall, size, *to, x, y
            )
            assert mask.patterns[mask.pattern_of[cell], j] == expected
