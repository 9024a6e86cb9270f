"""Moves, walls, corners, speeds and lines of sight."""

import numpy as np
import pytest
from savanna_scenes import BITES, STILL, act, counter, position, scene

from kinfolk.core.errors import ContractError
from kinfolk.worlds.savanna.spec import compute_visibility


def wall_flags(world):
    return world._rules.wall


@pytest.mark.parametrize(
    ("action", "to"), [(0, (3, 3)), (1, (3, 4)), (5, (4, 5)), (8, (5, 5)), (4, (4, 4))]
)
def test_actions_are_the_nine_moore_moves(action, to):
    world = act(scene([(4, 4, 5.0)], [(0, 8, 50.0)]), r0=action)
    assert position(world, 0) == to


def test_the_edge_of_the_grid_clips_a_move():
    world = act(scene([(0, 4, 5.0)], [(8, 8, 50.0)]), r0=2)
    assert position(world, 0) == (0, 5)


def test_no_corner_is_cut():
    walls = STILL | {"grid_size": 3, "manual_wall_positions": ((1, 0), (0, 1))}
    world = act(scene([(2, 2, 0.5)], [(0, 0, 3.0)], rules=walls), r1=8)
    assert position(world, 1) == (0, 0)
    assert counter(world, "moves_blocked_corner_cut") == 1
    free = act(
        scene([(2, 2, 0.5)], [(0, 0, 3.0)], rules=walls, respect_los_for_movement=False), r1=8
    )
    assert position(free, 1) == (1, 1)


def test_walls_and_the_same_species_block_a_move_and_the_other_species_does_not():
    world = scene(
        [(4, 4, 5.0), (4, 5, 5.0)], [(3, 4, 50.0)], rules=BITES, manual_wall_positions=((5, 4),)
    )
    act(world, r0=5)
    assert position(world, 0) == (4, 4)
    assert counter(world, "moves_blocked_occupied") == 3  # two that stay, and this one
    act(world, r0=7)
    assert position(world, 0) == (4, 4)
    assert counter(world, "moves_blocked_wall") == 1
    act(world, r0=1)
    assert position(world, 0) == (3, 4)


def test_an_agent_without_energy_does_not_block_a_move():
    world = scene([(4, 4, 5.0), (4, 5, 0.1)], [(0, 0, 9.0)], energy_loss_per_step_predator=0.2)
    act(world, r0=5)
    assert position(world, 0) == (4, 5)
    assert world.columns.terminated[1]
    assert world._arrays.visible_energy[0, 0, 4 * 9 + 5] == np.float32(4.8)


def test_with_the_quirk_the_starved_blanks_the_cell_it_shared():
    world = scene(
        [(4, 4, 5.0), (4, 5, 0.1)],
        [(0, 0, 9.0)],
        energy_loss_per_step_predator=0.2,
        quirks={"cell_erasure": True},
    )
    act(world, r0=5)
    assert world._arrays.visible_energy[0, 0, 4 * 9 + 5] == 0.0


def test_the_fast_type_moves_two_cells_and_not_through_walls():
    fast = STILL | {"type_2_action_range": 5, "n_initial_active_type_2_prey": 0}
    world = scene([(4, 4, 5.0)], [(0, 4, 30.0)], rules=fast, manual_wall_positions=((4, 6),))
    s = world._arrays
    s.group[0, 0] = 1  # type 2 predator
    act(world, r0=24)
    assert position(world, 0) == (6, 6)
    act(world, r0=0)
    assert position(world, 0) == (4, 4)
    assert world.spec.n_choices[:, 0].tolist() == [9, 25, 9, 25]
    s.y[0, 0] = 5
    world2 = scene([(4, 5, 5.0)], [(0, 4, 30.0)], rules=fast, manual_wall_positions=((4, 6),))
    world2._arrays.group[0, 0] = 1
    act(world2, r0=14)
    assert position(world2, 0) == (4, 5)
    assert counter(world2, "moves_blocked_los") == 1


def test_an_action_out_of_range_is_refused_and_nothing_changes():
    world = scene([(4, 4, 5.0)], [(0, 0, 9.0)])
    with pytest.raises(ContractError, match="Agent 0 of world 0 chose 9 for move"):
        act(world, r0=9)
    assert world.tick[0] == 0


def test_line_of_sight_ends_at_a_wall_and_is_symmetric():
    world = scene([(4, 4, 5.0)], [(0, 0, 9.0)], manual_wall_positions=((4, 5), (2, 2), (6, 3)))
    sight = compute_visibility(world.settings, wall_flags(world), 9)
    view = sight.patterns[sight.pattern_of[4 * 9 + 4]].reshape(9, 9)
    assert view[4, 5]  # the wall itself
    assert not view[4, 6]
    assert not view[4, 8]
    assert view[4, 0]
    views = {c: sight.patterns[sight.pattern_of[c]].reshape(9, 9) for c in range(81)}
    for a in range(81):
        for b in range(81):
            dx, dy = b // 9 - a // 9, b % 9 - a % 9
            if max(abs(dx), abs(dy)) <= 4:
                assert views[a][dx + 4, dy + 4] == views[b][4 - dx, 4 - dy]


def test_without_walls_there_is_one_visibility_pattern():
    world = scene([(4, 4, 5.0)], [(0, 0, 9.0)])
    assert len(compute_visibility(world.settings, wall_flags(world), 9).patterns) == 1


def test_the_published_stale_mask_hides_a_corner_of_the_larger_window():
    world = scene(
        [(4, 4, 5.0)],
        [(0, 0, 9.0)],
        rules={"quirks": {"fixed_visibility": True, "stale_visibility": True}},
        grid_size=25,
    )
    mask = compute_visibility(world.settings, wall_flags(world), 9).patterns[0].reshape(9, 9)
    assert (mask == 0).sum() == 4
    assert not mask[7:9, 7:9].any()
    assert compute_visibility(world.settings, wall_flags(world), 7).patterns.all()


@pytest.mark.parametrize(("order", "to"), [((0, 1), (4, 4)), ((1, 0), (4, 5))])
def test_who_acts_first_decides_whether_a_cell_is_free_yet(order, to):
    world = scene([(4, 4, 5.0), (4, 5, 5.0)], [(0, 0, 9.0)])
    rows = world.spec.rows
    actions = np.full((rows, 1), 5, dtype=np.int64)
    acting = np.zeros((1, 2, rows), dtype=np.uint32)
    acting[0, 0, :2] = order
    world._step(actions, acting, np.array([[2, 0]]), world._drawn_newborns)
    assert (position(world, 0), position(world, 1)) == (to, (4, 6))
    assert position(world, 2) == (0, 0)  # who has no action does not move


@pytest.mark.parametrize("garbage", [-9, 1 << 40])
def test_actions_of_empty_rows_are_not_looked_at(garbage):
    world = scene([(4, 4, 5.0)], [(0, 0, 9.0)])
    actions = np.full((world.spec.rows, 1), garbage, dtype=np.int64)
    actions[:2, 0] = 5, 4
    world.step(actions)
    assert (position(world, 0), position(world, 1)) == ((4, 5), (0, 0))
