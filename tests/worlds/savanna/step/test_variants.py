"""Rules of the variants, with hand-made numbers."""

import numpy as np
import pytest
from savanna_scenes import BITES, STILL, act, counter, energies, random_actions, scene

from kinfolk.core.errors import SettingsError
from kinfolk.core.settings import validate_settings
from kinfolk.worlds.savanna.settings import Savanna

CHOICE = STILL | {"join_choice": True}
JOIN, STAY_OUT = 1, 0


def hunt(world, *joins):
    """Step once: all stay, and predators 0, 1, ... join or stay out."""
    actions = np.zeros((world.spec.rows, 2), dtype=np.int64)
    actions[:, 0] = 4
    actions[: len(joins), 1] = joins
    world.step(actions)
    return world


def test_joiners_share_a_prey_and_pay_while_riders_scavenge():
    rules = {"team_capture_join_cost": 0.2, "team_capture_scavenger_fraction": 0.1}
    world = scene([(3, 3, 3.0), (5, 5, 3.0), (4, 3, 2.0)], [(4, 4, 4.0)], rules=CHOICE, **rules)
    hunt(world, JOIN, JOIN, STAY_OUT)
    assert energies(world, 0, 1, 2) == [4.6, 4.6, 2.4]  # 3 + 3.6 / 2 - 0.2, and 2 + 0.4
    assert counter(world, "hunt_joins") == 2
    assert counter(world, "hunt_free_rides") == 1
    assert counter(world, "team_capture_helper_total") == 2


@pytest.mark.parametrize(("fraction", "income"), [(0.5, 2.0), (0.1, 0.4), (0.01, 0.04), (0.0, 0.0)])
def test_a_free_riders_income_falls_to_nothing_with_the_scavengers_fraction(fraction, income):
    rules = {"team_capture_scavenger_fraction": fraction}
    world = scene([(3, 3, 5.0), (4, 3, 2.0)], [(4, 4, 4.0)], rules=CHOICE, **rules)
    assert energies(hunt(world, JOIN, STAY_OUT), 1) == [2.0 + income]


def test_without_a_joiner_nothing_happens():
    world = hunt(scene([(3, 3, 9.0)], [(4, 4, 4.0)], rules=CHOICE), STAY_OUT)
    assert energies(world, 0, 1) == [9.0, 4.0]
    assert counter(world, "team_capture_failures") == 0


def test_the_cost_of_joining_can_kill():
    world = scene(
        [(3, 3, 5.0)], [(4, 4, 1.0), (0, 8, 9.0)], rules=CHOICE, team_capture_join_cost=6.0
    )
    hunt(world, JOIN)
    assert not world.columns.alive[0]
    assert counter(world, "deaths_exhausted_hunt_predator") == 1


def test_a_failed_attack_can_kill_all_helpers():
    world = scene(
        [(3, 3, 2.0), (5, 5, 2.0), (0, 0, 9.0)], [(4, 4, 5.0)], failed_attack_kills_predator=True
    )
    act(world)
    assert world.columns.alive[:3].tolist() == [False, False, True]
    assert counter(world, "deaths_failed_attack_predator") == 2
    assert energies(world, 3) == [5.0]


def test_large_prey_leave_one_small_bite():
    rules = {
        "type_2_action_range": 3,
        "max_energy_gain_per_grass": {"type_1_prey": 3.0, "type_2_prey": 0.3},
        "leave_small_bite": True,
        "initial_energy_grass": 2.0,
    }
    world = act(scene([(0, 0, 5.0)], [(4, 4, 4.0)], [(4, 4)], **rules))
    assert energies(world, 1) == [5.7]
    assert world._arrays.grass_energy[0, 0] == pytest.approx(0.3)


def test_energies_by_type_apply_to_founders_losses_and_births():
    rules = STILL | {
        "type_2_action_range": 3,
        "n_initial_active_type_1_prey": 1,
        "n_initial_active_type_2_prey": 1,
        "n_initial_active_type_1_predator": 1,
        "initial_energy_prey": {"type_1_prey": 10.0, "type_2_prey": 1.5},
        "energy_loss_per_step_prey": {"type_1_prey": 0.1, "type_2_prey": 0.02},
        "prey_creation_energy_threshold": {"type_1_prey": 99.0, "type_2_prey": 2.0},
    }
    from kinfolk.worlds.savanna.world import SavannaWorld

    world = SavannaWorld(validate_settings(Savanna, rules), 1)
    world._begin(np.array([0]), np.array([7]), np.array([[0, 40, 80]]))
    assert energies(world, 1, 2) == [10.0, 1.5]
    world._arrays.energy[0, 2] = 2.52
    act(world)
    assert energies(world, 1, 2, 3) == [9.9, 1.0, 1.5]  # 2.52 - 0.02 - 1.5 for a child


def test_no_more_agents_are_born_than_ids_exist():
    rules = STILL | {"predator_creation_energy_threshold": 12.0, "n_possible_type_1_predator": 2}
    world = scene([(4, 4, 40.0)], [(0, 8, 3.0)], rules=rules)
    act(act(world))
    assert counter(world, "spawned_predators") == 1
    assert counter(world, "reproduction_blocked_due_to_capacity_predator") == 1


def test_grass_grows_by_seasons():
    rules = STILL | {
        "energy_gain_per_step_grass": 0.1,
        "season_length_steps": 2,
        "max_energy_grass": 9.0,
    }
    world = scene([(0, 0, 5.0)], [(8, 8, 5.0)], [(4, 4)], rules=rules)
    grown = []
    for _ in range(5):
        before = float(world._arrays.grass_energy[0, 0])
        act(world)
        grown.append(round(float(world._arrays.grass_energy[0, 0]) - before, 9))
    assert grown == [0.15, 0.15, 0.05, 0.05, 0.15]


def test_prey_give_to_their_neighbours_one_after_the_other():
    rules = STILL | {"donation_fraction": {"type_1_prey": 0.1}, "type_2_action_range": 3}
    world = scene([(0, 0, 5.0)], [(4, 4, 10.0), (4, 5, 4.0), (8, 8, 4.0)], rules=rules)
    act(world)
    # 10 gives 1.0, which arrives as 1.5; then 5.5 gives 0.55, which arrives as 0.825.
    assert energies(world, 1, 2, 3) == [9.825, 4.95, 4.0]
    assert counter(world, "donations") == 2


def test_a_sated_predator_does_not_bite_and_leaves_no_carcass():
    rules = BITES | {
        "predator_satiation_cooldown": 3,
        "max_energy_gain_per_prey": 2.0,
        "leave_carcass": False,
    }
    world = scene([(4, 4, 5.0)], [(4, 4, 6.0), (0, 0, 3.0)], rules=rules)
    act(world)
    assert energies(world, 0) == [7.0]
    assert not world.columns.alive[1]
    s = world._arrays
    s.x[0, 2], s.y[0, 2] = 4, 4
    s.first_in_cell[0, 1, :] = -1
    s.first_in_cell[0, 1, 4 * 9 + 4] = 2
    for _ in range(2):
        act(world)
    assert counter(world, "satiation_blocked_catches_predator") == 2
    act(world)
    assert energies(world, 0) == [9.0]


def test_predators_do_not_reproduce_above_their_share():
    rules = STILL | {
        "predator_creation_energy_threshold": 12.0,
        "predator_reproduction_max_ratio": 0.5,
    }
    world = act(scene([(4, 4, 40.0)], [(0, 8, 3.0), (8, 0, 3.0)], rules=rules))
    assert counter(world, "reproduction_blocked_due_to_density_predator") == 1


def test_rewards_can_follow_the_change_of_energy():
    rules = STILL | {"energy_loss_per_step_prey": 0.5, "energy_change_reward": 2.0}
    world = act(scene([(3, 3, 5.0)], [(4, 4, 4.0), (0, 8, 3.0)], rules=rules))
    # It gains 3.5, the eaten loses all 4, the other one 0.5; each counts twice.
    assert world.columns.reward[:3].tolist() == pytest.approx([7.0, -8.0, -1.0])


def test_a_death_has_a_price():
    world = act(
        scene([(3, 3, 5.0)], [(4, 4, 4.0), (0, 8, 3.0)], death_penalty={"type_1_prey": -3.0})
    )
    assert world.columns.reward[:3].tolist() == [0.0, -3.0, 0.0]


METABOLISM = {"metabolic_rate": {"low": 0.5, "high": 2.0}}


def test_a_metabolic_rate_multiplies_losses_and_changes_the_use_of_food():
    rules = STILL | {
        "energy_loss_per_step_prey": 0.5,
        "traits": METABOLISM,
        "metabolic_rate_alpha": 0.5,
    }
    world = scene([(0, 0, 5.0)], [(4, 4, 4.0)], [(4, 4)], rules=rules)
    world._arrays.traits[0, 1, 0] = 2.0
    act(world)
    assert energies(world, 1) == [round(4.0 - 1.0 + 2.0 * 2.0**0.5, 4)]


def births(**more):
    """Play a lively world with two traits, and return it."""
    settings = {
        "grid_size": 12, "manual_wall_positions": [], "initial_num_grass": 60, "max_rows": 128,
        "n_initial_active_type_1_prey": 12, "n_initial_active_type_1_predator": 3,
        "prey_creation_energy_threshold": 4.5, "traits": {
            "metabolic_rate": {"low": 0.5, "high": 2.0, "std_prey": 0.2, "mutation_rate": 0.5},
            "marker": {"low": 0.0, "high": 9.0, "mean_prey": 5.0, "std_prey": 1.0, "mutation_rate": 0.0},
        },
    } | more  # fmt: skip
    from kinfolk.worlds.savanna.world import SavannaWorld

    world = SavannaWorld(validate_settings(Savanna, settings), 1)
    world.reset(np.array([5]))
    founders = world._arrays.traits[0, 3:15].copy()
    rng = np.random.default_rng(0)
    for _ in range(60):
        if not world.done[0]:
            world.step(random_actions(world, rng))
    return world, founders


def test_children_inherit_traits_within_bounds_and_a_marker_never_changes_without_mutation():
    world, founders = births()
    s = world._arrays
    alive = s.alive[0] & (s.group[0] == 1)
    assert counter(world, "spawned_prey") > 5
    assert counter(world, "trait_mutations") > 0
    assert ((s.traits[0, alive, 0] >= 0.5) & (s.traits[0, alive, 0] <= 2.0)).all()
    assert set(s.traits[0, alive, 1]) <= set(founders[:, 1])
    assert founders[:, 1].std() > 0.3


def test_with_neutral_drift_children_inherit_from_any_agent():
    world, founders = births(neutral_drift=True)
    s = world._arrays
    alive = s.alive[0] & (s.group[0] == 1)
    assert set(s.traits[0, alive, 1]) <= set(founders[:, 1])
    uid_of = {float(value): row for row, value in enumerate(founders[:, 1])}

    def founder(uid):
        while s.parent[0, uid] >= 0:
            uid = s.parent[0, uid]
        return uid

    strays = [
        row
        for row in np.flatnonzero(alive)
        if founder(s.uid[0, row]) != uid_of[float(s.traits[0, row, 1])] + 3
    ]
    assert strays, "some child has the marker of another line"


def test_a_view_ahead_shows_what_lies_in_the_direction_of_the_last_move():
    sight = {
        "forward_view": True, "mask_observation_with_visibility": False,
        "include_visibility_channel": False, "predator_obs_range": 5, "prey_obs_range": 5,
    }  # fmt: skip
    world = scene([(4, 4, 5.0)], [(8, 5, 9.0)], **sight)
    act(world, r0=7)  # x + 1
    rows = np.zeros((world.spec.rows, world.spec.row_bytes), dtype=np.uint8)
    world.observe(rows)
    view = rows[0].view(np.float32)[: 4 * 25].reshape(4, 5, 5)
    assert view[1, 0, 2] == 5.0  # itself, at the rear edge
    assert view[2, 3, 3] == 9.0  # the prey, three cells ahead and one to the side


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"traits": {"speed": {}}}, "Savanna.traits.speed needs bounds: give it low and high, such as 0.5 and 2.0."),
        ({"traits": {"speed": {"low": 2, "high": 1}}}, "Savanna.traits.speed must have low <= high, not 2 and 1."),
        ({"initial_energy_prey": {"type_1_prey": 3.0}},
         "Savanna.initial_energy_prey misses type_2_prey: give one number, or a table with type_1_prey and type_2_prey."),
        ({"separate_prey_channels": True, "observation": "compact"}, "Savanna.separate_prey_channels needs observation float32"),
        ({"forward_view": True}, "Savanna.forward_view needs mask_observation_with_visibility"),
        ({"team_capture_scavenger_fraction": 1.5}, "Savanna.team_capture_scavenger_fraction must be at most 1.0, not 1.5."),
    ],
)  # fmt: skip
def test_wrong_settings_get_an_error_message(settings, message):
    with pytest.raises(SettingsError) as caught:
        validate_settings(Savanna, settings)
    assert str(caught.value).startswith(message)
