"""Every published key is read as the published code reads it."""

import pytest

from kinfolk.worlds.savanna.io.upstream_config import convert_config, find_rule_set
from kinfolk.worlds.savanna.presets import PRESETS
from kinfolk.worlds.savanna.rules import make_rules

CONFIG = {
    "max_steps": 1000,
    "grid_size": 25,
    "predator_obs_range": 7,
    "prey_obs_range": 9,
    "type_1_action_range": 3,
    "type_2_action_range": 0,
    "mask_observation_with_visibility": True,
    "include_visibility_channel": True,
    "respect_los_for_movement": True,
    "manual_wall_positions": [[6, 6], [99, 1]],
    "energy_loss_per_step_predator": 0.15,
    "energy_loss_per_step_prey": 0.05,
    "predator_creation_energy_threshold": 12.0,
    "prey_creation_energy_threshold": 8.0,
    "initial_energy_predator": 5.0,
    "initial_energy_prey": 3.0,
    "max_energy_grass": 2.0,
    "n_initial_active_type_1_predator": 10,
    "n_initial_active_type_2_predator": 0,
    "n_initial_active_type_1_prey": 10,
    "n_initial_active_type_2_prey": 0,
    "initial_num_grass": 100,
    "initial_energy_grass": 2.0,
    "energy_gain_per_step_grass": 0.04,
    "reproduction_reward_predator": {"type_1_predator": 10.0, "type_2_predator": 0.0},
    "reproduction_reward_prey": {"type_1_prey": 10.0, "type_2_prey": 0.0},
}


def read_as(rules, **more):
    return convert_config(CONFIG | more, rules, 64)


def test_revisions_name_rule_sets():
    assert find_rule_set("shared_prey", "f2761140") == "r1"
    assert find_rule_set("shared_prey", "74794be1aa") == "r2"
    assert find_rule_set("lineage_rewards", "74794be1") == "lineage"


def test_the_first_rules_split_equally_whatever_the_config_says():
    found = read_as("r1", team_capture_equal_split=False)
    assert found.team_capture_equal_split
    assert found.team_capture_tie == "succeeds"
    assert found.energy_percentage_loss_per_failed_attacked_prey == 0.0


def test_the_second_rules_split_in_proportion_unless_told_otherwise():
    assert not read_as("r2").team_capture_equal_split
    assert read_as("r2", team_capture_equal_split=True).team_capture_equal_split
    assert read_as("r2").team_capture_tie == "fails"


def test_only_the_first_rules_read_catch_eat_and_penalty():
    rewards = {
        "reward_predator_catch_prey": 1.0,
        "reward_prey_eat_grass": {"type_1_prey": 2.0},
        "penalty_prey_caught": -3.0,
        "reward_prey_step": 9.0,
    }
    first = make_rules(read_as("r1", **rewards))
    assert first.meal_reward.tolist() == [1.0, 1.0, 2.0, 0.0]
    assert first.caught_reward.tolist()[2] == -3.0
    assert first.step_reward.tolist() == [0.0] * 4
    for rules in ("r2", "lineage"):
        assert make_rules(read_as(rules, **rewards)).meal_reward.tolist() == [0.0] * 4


@pytest.mark.parametrize(
    ("given", "fertility"),
    [
        ({}, [80, -1, 60, -1]),
        ({"max_fertility_age": {"type_1_predator": None, "type_1_prey": -1}}, [-1, -1, -1, -1]),
        ({"max_fertility_age": {"type_1_prey": 7}}, [80, -1, 7, -1]),
    ],
)
def test_a_fertility_cap_left_out_has_a_default_and_none_has_not(given, fertility):
    assert make_rules(read_as("lineage", **given)).max_fertility_age.tolist() == fertility


def test_an_age_cap_of_none_means_the_built_in_one_and_a_negative_one_none():
    none = {"max_agent_age": {"type_1_predator": None, "type_1_prey": -1}}
    assert make_rules(read_as("lineage", **none)).max_age.tolist() == [120, -1, -1, -1]


def test_infinity_is_written_as_a_word():
    found = read_as("lineage", max_energy_gain_per_prey="inf", max_energy_gain_per_grass=1.5)
    assert found.max_energy_gain_per_prey == float("inf")
    assert found.max_energy_gain_per_grass == 1.5


def test_walls_off_the_grid_are_left_out():
    assert read_as("r1").wall_cells == [6 * 25 + 6]


def test_quirks_are_those_of_the_preset():
    for name, rules in (
        ("shared_prey_r1_published", "r1"),
        ("shared_prey_r2", "r2"),
        ("lineage_shipped", "lineage"),
    ):
        ours = read_as(rules).quirks.model_dump()
        # The published shared_prey names no parents in its logs; the presets do.
        on = {key for key, value in ours.items() if value} - {"parents_not_logged"}
        assert on == set(PRESETS[name]["quirks"])
