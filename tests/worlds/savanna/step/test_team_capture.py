"""Team capture: the published table of cases, and what ours adds."""

import pytest
from savanna_scenes import STILL, act, counter, energies, position, scene

R1 = STILL
R2 = STILL | {"team_capture_tie": "fails", "energy_percentage_loss_per_failed_attacked_prey": 0.2}


@pytest.mark.parametrize("rules", [R1, R2])
def test_two_helpers_share_the_prey_equally(rules):
    world = act(scene([(3, 3, 3.0), (5, 5, 2.0)], [(4, 4, 4.0)], rules=rules))
    assert energies(world, 0, 1) == [5.0, 4.0]
    assert world.columns.terminated[2]
    assert counter(world, "team_capture_coop_successes") == 1
    assert counter(world, "team_capture_coop_helper_total") == 2


def test_a_proportional_split_follows_the_helpers_energies():
    world = act(
        scene([(3, 3, 3.0), (5, 5, 2.0)], [(4, 4, 4.0)], rules=R2, team_capture_equal_split=False)
    )
    assert energies(world, 0, 1) == [5.4, 3.6]


def test_a_tie_succeeds_under_the_first_rules_and_fails_under_the_second():
    assert energies(act(scene([(4, 4, 4.0)], [(4, 5, 4.0)], rules=R1)), 0) == [8.0]
    assert energies(act(scene([(4, 4, 4.0)], [(4, 5, 4.0)], rules=R2)), 0) == [3.2]


def test_failure_is_free_under_the_first_rules_and_shared_under_the_second():
    weak = [(3, 3, 2.0), (5, 5, 1.0)]
    assert energies(act(scene(weak, [(4, 4, 5.0)], rules=R1)), 0, 1) == [2.0, 1.0]
    assert energies(act(scene(weak, [(4, 4, 5.0)], rules=R2)), 0, 1) == [1.3333, 0.6667]


@pytest.mark.parametrize(("rules", "left"), [(R1, 5.0), (R2, 4.1)])
def test_a_margin_must_be_overcome(rules, left):
    world = act(scene([(4, 4, 5.0)], [(4, 5, 4.5)], rules=rules, team_capture_margin=1.0))
    assert energies(world, 0) == [left]


@pytest.mark.parametrize("rules", [R1, R2])
def test_a_predator_kills_once_per_step(rules):
    world = act(scene([(4, 4, 9.0)], [(4, 3, 2.0), (4, 5, 2.0)], rules=rules))
    assert energies(world, 0) == [11.0]
    assert world.columns.alive.tolist()[:3] == [True, False, True]


def test_after_a_failure_the_next_prey_is_attacked_and_paid_for_too():
    world = act(scene([(3, 4, 3.0)], [(4, 4, 5.0), (4, 5, 5.0)], rules=R2))
    assert energies(world, 0) == [1.0]
    assert counter(world, "team_capture_failures") == 2


def test_a_helper_that_cannot_pay_starves_at_once():
    world = act(scene([(4, 4, 0.5), (0, 0, 5.0)], [(4, 5, 5.0)], rules=R2))
    assert world.columns.terminated[0]
    assert counter(world, "deaths_starved_predator") == 1


def test_catch_rewards_are_split_and_the_first_rules_pay_the_mean_to_each():
    reward = {"reward_predator_catch_prey": {"type_1_predator": 6.0}}
    pack, prey = [(3, 3, 3.0), (5, 5, 2.0)], [(4, 4, 4.0)]
    assert act(scene(pack, prey, **reward)).columns.reward[:2].tolist() == [3.0, 3.0]
    mean = reward | {"quirks": {"mean_catch_reward": True}}
    assert act(scene(pack, prey, **mean)).columns.reward[:2].tolist() == [6.0, 6.0]


def test_a_caught_prey_gets_its_penalty_with_its_last_reward():
    world = act(scene([(4, 4, 9.0)], [(4, 5, 2.0)], penalty_prey_caught={"type_1_prey": -1.5}))
    assert world.columns.reward[1] == -1.5
    assert world.columns.terminated[1]
    assert world.columns.uid[1] == 1


def test_juveniles_do_not_help_in_a_live_capture_and_the_block_is_counted():
    world = scene(
        [(3, 3, 3.0), (5, 5, 2.0)],
        [(4, 4, 2.5)],
        carcass_only_predator_age={"type_1_predator": 10},
        reward_predator_step={"type_1_predator": 0.25},
        reward_predator_catch_prey={"type_1_predator": 4.0},
    )
    world._arrays.age[0, 1] = 3
    act(world)
    assert energies(world, 0, 1) == [5.5, 2.0]
    assert world.columns.reward[:2].tolist() == [4.0, 0.25]
    assert counter(world, "carcass_only_live_prey_blocks_predator") == 1


def test_a_juvenile_alone_makes_no_attempt():
    world = scene([(4, 4, 9.0)], [(4, 5, 2.0)], carcass_only_predator_age=10)
    world._arrays.age[0, 0] = 0
    act(world)
    assert counter(world, "team_capture_failures") == 0
    assert world.columns.alive[1]


def test_what_the_helpers_cannot_eat_is_left_as_a_carcass_and_shared_next():
    world = scene([(3, 3, 5.0), (5, 5, 5.0)], [(4, 4, 8.0)], max_energy_gain_per_prey=2.5)
    act(world)
    assert energies(world, 0, 1, 2) == [7.5, 7.5, 3.0]
    assert counter(world, "carcasses") == 1
    assert world.columns.alive[2]
    assert counter(world, "active_num_prey") == 1
    act(world, r2=0)
    assert position(world, 2) == (4, 4)
    assert energies(world, 0, 1) == [9.0, 9.0]
    assert world.columns.terminated[2]
    assert counter(world, "team_capture_successes") == 1
    assert counter(world, "carcass_bites") == 2


def test_juveniles_eat_from_a_carcass():
    world = scene(
        [(3, 3, 9.0), (8, 8, 5.0)],
        [(4, 4, 8.0)],
        max_energy_gain_per_prey=2.5,
        carcass_only_predator_age=50,
    )
    act(world)
    world._arrays.age[0, 0] = 0
    act(world)
    assert energies(world, 0, 2) == [14.0, 3.0]
    assert counter(world, "carcass_only_live_prey_blocks_predator") == 0


def test_a_prey_that_survives_eats_all_of_the_grass_on_its_cell():
    world = act(scene([(0, 0, 1.0)], [(4, 4, 3.0)], [(4, 4)], max_energy_grass=2.0))
    assert energies(world, 1) == [5.0]
    assert world._arrays.grass_energy[0, 0] == 0.0
