"""What agents see: the published planes, and the compact words that stand for them."""

import numpy as np
from savanna_scenes import act, random_actions, scene

from kinfolk.core.settings import validate_settings
from kinfolk.worlds.savanna.settings import Savanna
from kinfolk.worlds.savanna.spec import expand_words
from kinfolk.worlds.savanna.world import SavannaWorld


def look(world, row):
    out = np.full((world.n_worlds * world.spec.rows, world.spec.row_bytes), 77, dtype=np.uint8)
    world.observe(out)
    group = world.spec.groups[int(world.columns.group[row])]
    return group.read_field(out[row : row + 1], "window")[0]


def test_reset_shows_every_founder_something():
    world = scene([(1, 1, 5.0)], [(3, 3, 3.0)], grid_size=5)
    assert (look(world, 0)[1, 4, 4], look(world, 1)[2, 4, 4]) == (5.0, 3.0)


def test_the_agent_is_in_the_centre_and_energies_are_raw():
    world = scene([(4, 4, 5.0)], [(3, 5, 3.25)], [(6, 4)], manual_wall_positions=((4, 2),))
    seen = look(world, 0)
    assert seen.shape == (5, 9, 9)
    assert seen[1, 4, 4] == 5.0
    assert seen[2, 3, 5] == 3.25
    assert seen[3, 6, 4] == 2.0
    assert seen[0, 4, 2] == 1.0
    assert seen.sum() == 5.0 + 3.25 + 2.0 + 1.0 + seen[4].sum()


def test_outside_the_grid_is_wall_or_nothing():
    drawn = look(scene([(0, 0, 5.0)], [(8, 8, 3.0)]), 0)
    assert drawn[0].sum() == 81 - 25
    assert drawn[1:4, :4].sum() == 0.0
    bare = look(scene([(0, 0, 5.0)], [(8, 8, 3.0)], draw_border=False), 0)
    assert bare[0].sum() == 0.0


def test_what_is_behind_a_wall_is_hidden_unless_masking_is_off():
    behind = ([(4, 4, 5.0)], [(4, 7, 3.0)])
    wall = {"manual_wall_positions": ((4, 6),)}
    seen = look(scene(*behind, **wall), 0)
    assert (seen[4, 4, 7], seen[2, 4, 7], seen[0, 4, 6]) == (0.0, 0.0, 1.0)
    unmasked = look(scene(*behind, **wall, mask_observation_with_visibility=False), 0)
    assert (unmasked[4, 4, 7], unmasked[2, 4, 7]) == (0.0, 3.0)
    without = scene(*behind, **wall, include_visibility_channel=False)
    assert look(without, 0).shape == (4, 9, 9)


def test_the_terminal_observation_is_delivered_and_empty_rows_are_zero():
    world = act(scene([(4, 4, 9.0)], [(4, 5, 2.0), (0, 0, 2.0)]))
    out = np.full((world.spec.rows, world.spec.row_bytes), 77, dtype=np.uint8)
    world.observe(out)
    assert world.columns.terminated[1]
    window = world.spec.groups[1].read_field(out, "window")
    assert window[1, 1, 4, 3] == 11.0
    assert not out[3:].any()
    act(world)
    world.observe(out)
    assert not out[1].any()


def test_with_the_quirk_the_last_reward_and_observation_are_zeros():
    world = act(
        scene(
            [(4, 4, 9.0)],
            [(4, 5, 2.0), (0, 0, 2.0)],
            penalty_prey_caught=-1.0,
            quirks={"zero_terminal": True},
        )
    )
    assert world.columns.reward[1] == 0.0
    assert not look(world, 1).any()


def test_compact_words_stand_for_the_planes_to_their_quantisation():
    rules = {"predator_obs_range": 7, "energy_loss_per_step_predator": 0.1}
    for more in (
        {},
        {"quirks": {"cell_erasure": True}},
        {"mask_observation_with_visibility": False},
    ):
        worlds = [
            SavannaWorld(validate_settings(Savanna, rules | more | {"observation": form}), 2)
            for form in ("float32", "compact")
        ]
        buffers = [np.zeros((2 * w.spec.rows, w.spec.row_bytes), dtype=np.uint8) for w in worlds]
        for world in worlds:
            world.reset(np.array([5, 6]))
        rng = np.random.default_rng(1)
        for _ in range(30):
            actions = random_actions(worlds[0], rng)
            for world, out in zip(worlds, buffers, strict=True):
                world.step(actions)
                world.observe(out)
        columns = worlds[0].columns
        for k, group in enumerate(worlds[0].spec.groups):
            rows = np.flatnonzero((columns.uid >= 0) & (columns.group == k))
            planes = group.read_field(buffers[0][rows], "window")
            words = worlds[1].spec.groups[k].read_field(buffers[1][rows], "window")
            expanded = expand_words(words, worlds[1].settings)
            assert (expanded[:, [0, 4]] == planes[:, [0, 4]]).all()
            excess = expanded[:, 1:4] - planes[:, 1:4]
            assert excess.min() > -1e-5
            assert excess[:, :2].max() <= 1 / 32
            assert excess[:, 2].max() <= 2 / 1023 + 1e-5
            assert ((expanded > 0) == (planes > 0)).all()


def test_a_second_buffer_is_written_whole():
    world = scene([(4, 4, 9.0)], [(0, 0, 2.0)])
    first = np.full((world.spec.rows, world.spec.row_bytes), 9, dtype=np.uint8)
    second = first.copy()
    world.observe(first)
    world.observe(second)
    assert (first == second).all()
    assert not second[2:].any()
