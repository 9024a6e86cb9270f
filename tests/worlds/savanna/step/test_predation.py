"""Bites, carcasses, the juvenile diet and limited intake."""

import pytest
from savanna_scenes import BITES, act, counter, energies, position, scene

LOSSES = BITES | {"energy_loss_per_step_predator": 0.2, "energy_loss_per_step_prey": 0.05}


def test_a_capped_bite_leaves_a_carcass_that_decays_and_is_eaten_up():
    world = scene([(4, 4, 5.0)], [(4, 4, 6.0)], rules=LOSSES, max_energy_gain_per_prey=2.5)
    seen = []
    for _ in range(3):
        act(world)
        seen.append(energies(world, 0, 1))
    assert [row[0] for row in seen] == [7.3, 9.6, 10.25]
    assert [row[1] for row in seen[:2]] == [3.45, 0.9]
    assert world.columns.terminated[1]
    assert counter(world, "deaths_eaten_prey") == 1
    assert (counter(world, "live_bites"), counter(world, "carcass_bites")) == (1, 2)


def test_a_carcass_neither_moves_eats_breeds_nor_ages_but_counts_as_prey():
    world = scene(
        [(4, 4, 5.0)],
        [(4, 4, 9.0), (8, 8, 1.0)],
        [(4, 4)],
        rules=BITES,
        max_energy_gain_per_prey=2.5,
        prey_creation_energy_threshold=5.0,
        max_energy_gain_per_grass=0.0,
    )
    act(world)
    age = int(world._arrays.age[0, 1])
    act(world, r0=0, r1=0)
    assert position(world, 1) == (4, 4)
    assert int(world._arrays.age[0, 1]) == age
    assert energies(world, 1) == [6.5]
    assert counter(world, "spawned_prey") == 0
    assert counter(world, "active_num_prey") == 2


def test_a_juvenile_gets_the_step_reward_and_no_bite():
    world = scene(
        [(4, 4, 5.0)],
        [(4, 4, 3.0)],
        rules=BITES,
        carcass_only_predator_age={"type_1_predator": 10},
        reward_predator_step={"type_1_predator": 0.5},
    )
    world._arrays.age[0, 0] = 0
    world.record_events(True)
    act(world)
    assert energies(world, 0, 1) == [5.0, 3.0]
    assert world.columns.reward[0] == 0.5
    assert not world._arrays.carcass[0, 1]
    assert counter(world, "carcass_only_live_prey_blocks_predator") == 1
    assert [h.kind for h in world.events()] == ["carcass_only_block"]


def test_after_the_window_a_predator_bites():
    world = scene(
        [(4, 4, 5.0)],
        [(4, 4, 3.0)],
        rules=BITES,
        carcass_only_predator_age=2,
        max_energy_gain_per_prey=2.5,
        reward_predator_catch_prey=1.5,
    )
    world._arrays.age[0, 0] = 5
    act(world)
    assert energies(world, 0, 1) == [7.5, 0.5]
    assert world.columns.reward[0] == 1.5
    assert world._arrays.carcass[0, 1]


def test_founders_are_as_old_as_the_window_and_eat_at_once():
    world = scene([(4, 4, 5.0)], [(4, 4, 3.0)], rules=BITES, carcass_only_predator_age=12)
    assert world._arrays.age[0].tolist()[:2] == [12, 0]
    assert energies(act(world), 0) == [8.0]


def test_dead_prey_cannot_be_bitten_unless_the_quirk_is_on():
    old = LOSSES | {"max_agent_age": {"type_1_prey": 1}}
    scenery = ([(4, 4, 5.0)], [(4, 4, 3.0), (0, 0, 3.0), (0, 8, 3.0)])
    kind = act(scene(*scenery, rules=old))
    assert energies(kind, 0) == [4.8]
    quirk = scene(*scenery, rules=old, quirks={"dead_prey_bitten": True})
    quirk._arrays.age[0, 2:4] = -5
    act(quirk)
    assert energies(quirk, 0) == [7.75]
    assert counter(quirk, "active_num_prey") == 1  # two are really alive


def test_biting_a_starved_prey_costs_energy_with_the_quirk():
    world = scene(
        [(4, 4, 5.2)], [(4, 4, 0.01), (0, 0, 3.0)], rules=LOSSES, quirks={"dead_prey_bitten": True}
    )
    assert energies(act(world), 0) == [4.96]


PUBLISHED = {"quirks": {"dead_prey_bitten": True, "cell_erasure": True}}
ONTO_THE_DEAD = 3  # one cell to the left, where the first prey lies


def shown(world, species, x, y):
    return round(
        float(world._arrays.visible_energy[0, species, x * world.settings.grid_size + y]), 4
    )


def test_a_bite_into_prey_that_starved_in_this_step_blanks_its_cell():
    world = scene(
        [(4, 4, 5.2)], [(4, 4, 0.01), (4, 5, 3.0), (0, 0, 3.0)], [(4, 4)], rules=LOSSES | PUBLISHED
    )
    act(world, r2=ONTO_THE_DEAD)
    assert position(world, 2) == (4, 4)
    assert energies(world, 0, 2) == [4.96, 4.95]  # the bite cost 0.04; the newcomer grazed 2.0
    assert shown(world, 1, 4, 4) == 0.0  # though the newcomer, who grazed before, stands there


def test_too_old_and_starved_in_one_step_blanks_the_cell_twice():
    world = scene(
        [(0, 8, 5.0)],
        [(4, 4, 0.01), (4, 5, 3.0), (0, 0, 3.0), (8, 8, 3.0)],
        rules=LOSSES | PUBLISHED,
        max_agent_age={"type_1_prey": 1},
    )
    world._arrays.age[0, 2:5] = -5
    act(world, r2=ONTO_THE_DEAD)
    assert position(world, 2) == (4, 4)
    assert shown(world, 1, 4, 4) == 0.0
    assert counter(world, "active_num_prey") == 2  # three are really alive


def test_who_is_too_old_dies_after_everybody_has_lost_energy():
    world = scene(
        [(0, 8, 5.0)],
        [(4, 4, 3.0), (4, 5, 3.0), (4, 4, 2.0), (0, 0, 3.0)],
        rules=LOSSES | PUBLISHED,
        max_agent_age={"type_1_prey": 1},
    )
    world._arrays.age[0, 2:5] = -5
    act(world, r2=ONTO_THE_DEAD)
    assert position(world, 2) == (4, 4)  # that cell was blank, whoever else stood there


def test_two_predators_on_one_cell_eat_the_same_prey_with_the_quirk_only():
    scenery = ([(4, 4, 5.0), (4, 4, 6.0)], [(4, 4, 3.0), (0, 0, 3.0), (0, 8, 3.0)])
    right = act(scene(*scenery, rules=BITES))
    assert energies(right, 0, 1) == [8.0, 6.0]
    assert counter(right, "active_num_prey") == 2
    assert float(right.counters()["energy_lost_with_the_dead"][0]) == 0.0
    quirk = act(scene(*scenery, rules=BITES | PUBLISHED))
    assert energies(quirk, 0, 1) == [8.0, 9.0]
    assert counter(quirk, "active_num_prey") == 1  # two are really alive
    assert (counter(quirk, "live_bites"), counter(quirk, "carcass_bites")) == (1, 1)
    # 3.0 came from nowhere; the account says so, and the balance of all energy still holds.
    assert float(quirk.counters()["energy_lost_with_the_dead"][0]) == -3.0


def test_what_was_bitten_in_its_last_step_is_a_carcass_to_the_next_predator_with_the_quirk():
    world = scene(
        [(4, 4, 5.0), (4, 4, 6.0)],
        [(4, 4, 6.0), (0, 0, 3.0), (0, 8, 3.0)],
        rules=BITES | PUBLISHED,
        max_agent_age={"type_1_prey": 1},
        max_energy_gain_per_prey=2.5,
        carcass_only_predator_age=10,
    )
    world._arrays.age[0, 1] = 0  # a juvenile
    world._arrays.age[0, 3:5] = -5
    act(world)
    assert energies(world, 0, 1) == [7.5, 8.5]
    assert counter(world, "carcass_only_live_prey_blocks_predator") == 0
    assert counter(world, "deaths_max_age_prey") == 1
    assert shown(world, 1, 4, 4) == 1.0  # as published: what is left of it stays in sight


@pytest.mark.parametrize(("cap", "left"), [(1.5, 0.5), (float("inf"), 0.0)])
def test_prey_bite_off_only_so_much_grass(cap, left):
    world = act(
        scene([(0, 0, 5.0)], [(4, 4, 3.0)], [(4, 4)], rules=BITES, max_energy_gain_per_grass=cap)
    )
    assert energies(world, 1) == [5.0 - left]
    assert world._arrays.grass_energy[0, 0] == left


def test_limited_intake_wastes_what_is_lost_in_transfer_or_does_not_fit():
    world = act(
        scene(
            [(4, 4, 5.0), (0, 0, 9.0)],
            [(4, 4, 4.0), (0, 0, 4.0)],
            rules=BITES,
            energy_transfer_efficiency=0.5,
            max_energy_predator=10.0,
        )
    )
    assert energies(world, 0, 1) == [7.0, 10.0]
    assert float(world.counters()["energy_wasted"][0]) == 5.0


def test_moving_costs_energy_by_distance_and_energy():
    world = scene([(4, 4, 10.0)], [(0, 0, 3.0)], rules=BITES, move_energy_cost_factor=0.01)
    act(world, r0=5)
    assert energies(world, 0) == [9.9]
    act(world)
    assert energies(world, 0) == [9.9]
    act(world, r0=8)
    assert energies(world, 0) == [round(9.9 * (1 - 0.01 * 2**0.5), 4)]
