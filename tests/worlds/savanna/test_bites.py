"""Bites, carcasses, the juvenile diet and limited intake."""

import pytest
from savanna_scenes import BITES, act, counter, energies, place, scene

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
    assert place(world, 1) == (4, 4)
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
    world.watch(True)
    act(world)
    assert energies(world, 0, 1) == [5.0, 3.0]
    assert world.columns.reward[0] == 0.5
    assert not world._arrays.carcass[0, 1]
    assert counter(world, "carcass_only_live_prey_blocks_predator") == 1
    assert [h.kind for h in world.happenings()] == ["carcass_only_block"]


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


def test_dead_is_dead_unless_the_quirk_is_on():
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


@pytest.mark.parametrize(("cap", "left"), [(1.5, 0.5), (float("inf"), 0.0)])
def test_prey_bite_off_only_so_much_grass(cap, left):
    world = act(
        scene([(0, 0, 5.0)], [(4, 4, 3.0)], [(4, 4)], rules=BITES, max_energy_gain_per_grass=cap)
    )
    assert energies(world, 1) == [5.0 - left]
    assert world._arrays.grass[0, 0] == left


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
