"""The index of free cells draws as a search of the whole grid would."""

import numpy as np
from savanna_scenes import STILL, act, counter, scene

from kinfolk.core.random import randint
from kinfolk.worlds.savanna.step.free_cells import (
    allocate_free_cells,
    draw_free_cell,
    take_free_cell,
)


def test_every_draw_is_the_kth_free_cell_in_the_order_of_cells():
    rng = np.random.default_rng(0)
    for n_cells in (1, 5, 64, 100, 256, 1300):
        wall = rng.random(n_cells) < 0.3
        first_in_cell = np.where(rng.random((1, 2, n_cells)) < 0.2, 3, -1).astype(np.int32)
        tree = allocate_free_cells(n_cells)
        free = [c for c in range(n_cells) if not wall[c] and (first_in_cell[0, :, c] < 0).all()]
        for key in range(200):
            cell = draw_free_cell(tree, wall, first_in_cell, 0, key)
            if not free:
                assert cell == -1
                break
            assert cell == free[randint(key, 0, len(free))]
            first_in_cell[0, key % 2, cell] = 5
            take_free_cell(tree, cell)
            free.remove(cell)


def test_on_a_full_grid_a_birth_is_blocked_and_counted():
    rules = STILL | {
        "grid_size": 2,
        "prey_creation_energy_threshold": 2.0,
        "initial_energy_prey": 1.0,
    }
    world = scene([(0, 0, 1.0)], [(0, 1, 9.0), (1, 0, 9.0), (1, 1, 9.0)], rules=rules)
    act(world)
    assert counter(world, "reproduction_blocked_due_to_capacity_prey") == 3
    assert counter(world, "spawned_prey") == 0
