"""Births, kin rewards, caps and capacity."""

import numpy as np
import pytest
from savanna_scenes import BITES, STILL, act, counter, energies, position, scene

from kinfolk.worlds.savanna.agent_log import SavannaAgentLog

FERTILE = STILL | {"predator_creation_energy_threshold": 12.0}
FAR_PREY = [(8, 8, 100.0)]


@pytest.mark.parametrize(("energy", "left"), [(13.0, 8.0), (12.0, 7.0), (40.0, 35.0)])
def test_one_child_per_step_beside_its_parent(energy, left):
    world = act(scene([(4, 4, energy)], FAR_PREY, rules=FERTILE))
    assert energies(world, 0, 2) == [left, 5.0]
    assert position(world, 2) == (3, 4)
    assert world.columns.reward[:3].tolist() == [10.0, 0.0, 0.0]
    assert world.columns.parents[2].tolist() == [0, -1]
    assert world.columns.parent_rows[2].tolist() == [0, -1]


def test_the_child_takes_the_first_free_neighbour_cell():
    world = scene(
        [(4, 4, 13.0), (3, 4, 5.0)], [(5, 4, 100.0)], rules=FERTILE, manual_wall_positions=((4, 3),)
    )
    assert position(act(world), 3) == (4, 5)


def test_without_a_free_neighbour_cell_the_child_is_placed_at_random():
    around = ((3, 4), (5, 4), (4, 3), (4, 5))
    world = act(scene([(4, 4, 13.0)], FAR_PREY, rules=FERTILE, manual_wall_positions=around))
    assert counter(world, "newborns_placed_at_random") == 1
    assert position(world, 2) not in (*around, (4, 4), (8, 8))


def test_a_replay_can_set_the_cell_of_a_newborn_without_a_free_neighbour_cell():
    around = ((3, 4), (5, 4), (4, 3), (4, 5))
    world = scene([(4, 4, 13.0)], FAR_PREY, rules=FERTILE, manual_wall_positions=around)
    actions = np.full((world.spec.rows, 1), 4, dtype=np.int64)
    s = world._arrays
    newborns = world._drawn_newborns._replace(cells=np.array([[7 * 9 + 1]]))
    world._step(actions, s.alive_rows, s.n_alive, newborns)
    assert position(world, 2) == (7, 1)
    assert counter(world, "newborns_placed_at_random") == 1


def test_without_a_free_row_a_birth_is_blocked_counted_and_not_rewarded():
    world = act(scene([(4, 4, 13.0)], FAR_PREY, rules=FERTILE, max_rows=2))
    assert counter(world, "reproduction_blocked_due_to_capacity_predator") == 1
    assert energies(world, 0) == [13.0]
    assert world.columns.reward[0] == 0.0


def test_the_row_of_a_dead_agent_is_reused_one_step_later():
    world = scene(
        [(4, 4, 13.0), (0, 0, 0.1)],
        FAR_PREY,
        rules=FERTILE,
        max_rows=3,
        energy_loss_per_step_predator=0.2,
    )
    act(world)
    assert counter(world, "reproduction_blocked_due_to_capacity_predator") == 1
    assert world.columns.uid[1] == 1
    act(world)
    assert world.columns.uid[1] == 3
    assert world.columns.alive[1]


def test_births_blocked_by_age_are_counted_each_step():
    world = scene([(4, 4, 13.0)], FAR_PREY, rules=FERTILE, max_fertility_age={"type_1_predator": 1})
    world.record_events(True)
    act(world)
    kinds = [h.kind for h in world.events()]
    assert kinds == ["fertility_expired", "reproduction_blocked_due_to_fertility"]
    act(world)
    assert counter(world, "reproduction_blocked_due_to_fertility_predator") == 2
    assert counter(world, "spawned_predators") == 0


@pytest.mark.parametrize("limit", [None, -1])
def test_none_and_negative_mean_no_limit(limit):
    ages = {"type_1_predator": limit, "type_1_prey": limit}
    world = scene(
        [(4, 4, 13.0)], FAR_PREY, rules=FERTILE, max_fertility_age=ages, max_agent_age=ages
    )
    world._arrays.age[0] = 5000
    act(world)
    assert counter(world, "spawned_predators") == 1


def test_an_agent_too_old_dies_before_anything_else_happens():
    world = scene([(4, 4, 5.0)], [(4, 4, 3.0)], rules=BITES, max_agent_age={"type_1_predator": 7})
    world._arrays.age[0, 0] = 6
    lives = SavannaAgentLog(world)
    lives.start()
    act(world)
    lives.update()
    assert world.columns.terminated[0]
    assert energies(world, 1) == [3.0]
    life = lives.by_id["type_1_predator_0"]
    assert (life.death_cause, life.death_step, life.age_expired_step) == ("max_age", 0, 0)


def test_a_descendant_pays_its_ancestors_and_its_death_costs_only_when_symmetric():
    pay = {"lineage_reward_coeff": {"type_1_predator": 0.35}}
    for mode, loss in (("positive", 0.0), ("symmetric", -0.35)):
        world = scene(
            [(4, 4, 13.0), (0, 0, 3.0)], FAR_PREY, rules=FERTILE, lineage_reward_mode=mode, **pay
        )
        lives = SavannaAgentLog(world)
        lives.start()
        act(world)
        lives.update()
        assert world.columns.reward[0] == pytest.approx(10.35)
        assert lives.by_uid[0].lineage_reward_total == pytest.approx(0.35)
        assert lives.by_uid[0].cumulative_reward == pytest.approx(10.35)
        assert lives.by_uid[0].reward_events[-1]["lineage_reward"] == pytest.approx(0.35)
        world._arrays.energy[0, 3] = -1.0
        act(world)
        assert world.columns.terminated[3]
        assert world.columns.reward[0] == pytest.approx(loss)
        assert world._arrays.live_descendants[0, 0] == 0


def test_a_first_bite_ends_a_line_and_the_carcass_itself_is_still_paid():
    world = scene(
        [(0, 0, 5.0)],
        [(4, 4, 9.0)],
        rules=BITES,
        prey_creation_energy_threshold=8.0,
        max_energy_gain_per_prey=1.0,
        lineage_reward_coeff={"type_1_prey": 0.6},
        lineage_reward_mode="symmetric",
    )
    act(world)
    assert world._arrays.live_descendants[0, 1] == 1
    s = world._arrays
    s.carcass[0, 2] = True  # as after a bite
    act(world)
    assert world.columns.reward[1] == pytest.approx(-0.6)
    assert world.columns.alive[2]


def test_a_birth_pays_the_grandparent_a_kick_back():
    world = scene(
        [(4, 4, 13.0)],
        FAR_PREY,
        rules=FERTILE,
        kin_kick_back_reward_predator={"type_1_predator": 4.0},
    )
    act(world)
    world._arrays.energy[0, 2] = 20.0
    act(world)
    assert world.columns.reward[[0, 2]].tolist() == [4.0, 10.0]
    assert int(world._arrays.kickbacks[0, 0]) == 1
    assert counter(world, "kin_kickbacks") == 1
    world._arrays.energy[0, [0, 2]] = -1.0, 20.0  # the grandparent dies
    act(world)
    assert counter(world, "kin_kickbacks") == 1


def test_a_later_birth_of_its_own_overwrites_the_kick_back():
    world = scene([(4, 4, 13.0)], [(8, 8, 100.0)], rules=FERTILE, kin_kick_back_reward_predator=4.0)
    act(world)
    s = world._arrays
    s.energy[0, [0, 2]] = 20.0
    # Parents come before their children in uid order, so let the child go first.
    s.alive_rows[0, 0, :2] = [2, 0]
    act(world)
    assert world.columns.reward[0] == 10.0
    assert counter(world, "kin_kickbacks") == 1


def test_a_certain_mutation_flips_the_type_of_every_child():
    world = scene(
        [(4, 4, 13.0)], FAR_PREY, rules=FERTILE, type_2_action_range=5, mutation_rate_predator=1.0
    )
    act(world)
    assert world.spec.groups[int(world.columns.group[2])].name == "type_2_predator"
    assert counter(world, "type_mutations") == 1
    assert world.columns.reward[0] == 10.0
    world._arrays.energy[0, 2] = 13.0
    act(world)
    assert world.spec.groups[int(world.columns.group[3])].name == "type_1_predator"
    assert world.columns.reward[2] == 0.0  # type 2 is paid nothing


def test_a_rate_in_between_mutates_some():
    kinds = set()
    world = scene(
        [(x, 0, 13.0) for x in range(1, 8)],
        FAR_PREY,
        rules=FERTILE,
        type_2_action_range=5,
        mutation_rate_predator=0.5,
    )
    act(world)
    kinds = set(world.columns.group[8:15].tolist())
    assert kinds == {0, 1}


def test_cooldown_chance_and_efficiency_of_births():
    slow = scene([(4, 4, 40.0)], FAR_PREY, rules=FERTILE, reproduction_cooldown_steps=3)
    for _ in range(4):
        act(slow)
    assert counter(slow, "spawned_predators") == 2
    never = act(scene([(4, 4, 40.0)], FAR_PREY, rules=FERTILE, reproduction_chance_predator=0.0))
    assert counter(never, "spawned_predators") == 0
    costly = act(scene([(4, 4, 40.0)], FAR_PREY, rules=FERTILE, reproduction_energy_efficiency=0.5))
    assert energies(costly, 0, 2) == [35.0, 2.5]


def test_ancestry_reaches_back_over_generations():
    world = scene([(4, 4, 13.0)], FAR_PREY, rules=FERTILE)
    lives = SavannaAgentLog(world)
    lives.start()
    for parent in (0, 2, 3):
        world._arrays.energy[0, parent] = 13.0
        act(world)
        lives.update()
    family = lives.build_family()
    assert [family.members[uid].parents for uid in (2, 3, 4)] == [(0,), (2,), (3,)]
    assert lives.by_id["type_1_predator_3"].parent == "type_1_predator_2"
    assert world._arrays.live_descendants[0, :5].tolist() == [3, 0, 2, 1, 0]


def test_the_record_of_an_agent_sums_up_exactly_its_rewards():
    world = scene(
        [(4, 4, 13.0), (0, 0, 5.0)],
        FAR_PREY,
        rules=FERTILE,
        reward_predator_step=0.5,
        lineage_reward_coeff=0.25,
        kin_kick_back_reward_predator=4.0,
    )
    lives = SavannaAgentLog(world)
    lives.start()
    given = dict.fromkeys(range(8), 0.0)
    for step in range(6):
        world._arrays.energy[0, [0, 3] if step == 2 else [0]] = 13.0
        act(world)
        lives.update()
        for uid, reward in zip(world.columns.uid, world.columns.reward, strict=True):
            if uid >= 0:
                given[int(uid)] = given.get(int(uid), 0.0) + float(reward)
    assert counter(world, "kin_kickbacks") > 0
    for uid, life in lives.by_uid.items():
        assert life.cumulative_reward == pytest.approx(given[uid])
