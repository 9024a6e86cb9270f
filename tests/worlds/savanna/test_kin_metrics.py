"""Kin metrics on a scene small enough to count by hand."""

import math

import pytest
from savanna_scenes import BITES, act, scene

from kinfolk.lineage.family import lineage_survival, max_depth, to_csv, to_newick
from kinfolk.worlds.savanna.agent_log import SavannaAgentLog
from kinfolk.worlds.savanna.kin_metrics import (
    energy_transferred_to_kin,
    kin_carcass_bite_fraction,
    late_birth_fraction,
    nearest_kin_distances,
)
from kinfolk.worlds.savanna.social_metrics import SocialLog


@pytest.fixture
def family_meal():
    """A predator has a child, brings down a prey, and its child eats from the carcass."""
    world = scene(
        [(4, 4, 12.0), (0, 0, 5.0)],
        [(8, 8, 9.0)],
        rules=BITES,
        predator_creation_energy_threshold=12.0,
        max_energy_gain_per_prey=2.0,
    )
    lives = SocialLog(world)
    lives.start()
    act(world)  # child of 0 at (3, 4)
    lives.update()
    s = world._arrays
    for row in (0, 2, 3, 1):  # each in turn is put on the prey's cell, with nobody else there
        if row == 2:
            continue
        for other, home in ((0, (4, 4)), (3, (3, 4)), (1, (0, 0))):
            x, y = (8, 8) if other == row else home
            s.x[0, other], s.y[0, other] = x, y
        s.first_in_cell[0, 0] = -1
        s.next_in_cell[0] = -1
        for other in (0, 3, 1):
            s.first_in_cell[0, 0, s.x[0, other] * 9 + s.y[0, other]] = other
        act(world)
        lives.update()
    return world, lives


def test_kin_metrics_of_a_hand_made_family(family_meal):
    world, lives = family_meal
    kinds = {uid: [e["kind"] for e in life.eating_events] for uid, life in lives.by_uid.items()}
    assert kinds == {0: ["bite"], 1: ["carcass_bite"], 2: [], 3: ["carcass_bite"]}
    assert lives.carcass_makers == {2: 0}
    assert kin_carcass_bite_fraction(lives) == 0.5
    assert energy_transferred_to_kin(lives) == 5.0 + 2.0
    assert late_birth_fraction(lives, 0) == 1.0
    assert late_birth_fraction(lives, 1) == 0.0
    assert nearest_kin_distances(world, lives) == {0: 1, 3: 1}


def test_social_metrics_of_a_hand_made_family(family_meal):
    _, lives = family_meal
    metrics = lives.compute_metrics()
    assert metrics["kin_feeding_bias"] == 0.0  # one bite of two by kin, who are one of two others
    assert metrics["kin_bites_per_carcass_of_adult"] == 1.0
    assert math.isnan(metrics["kin_bites_per_carcass_of_old"])
    assert metrics["kin_bites_per_young_predator"] == 1.0
    assert metrics["late_births_predator"] == 0.0
    steps = sum(r.avg_energy_steps for r in lives.by_uid.values() if "predator" in r.policy_group)
    assert metrics["income_type_1_predator"] == pytest.approx(3 * 2.0 / steps)
    assert math.isnan(metrics["energy_old_predator"])  # nobody was sampled in four ticks


def test_distances_energies_and_survival_are_sampled_by_species_and_age():
    # Three prey in a row that do not move; the first two are made kin, and one of them is old.
    world = scene(
        [(0, 8, 50.0)], [(4, 4, 3.0), (4, 5, 3.0), (4, 7, 3.0)], energy_loss_per_step_prey=0.0
    )
    log = SocialLog(world)
    log.start()
    records = log.by_uid
    prey = [uid for uid, record in records.items() if "prey" in record.policy_group]
    records[prey[1]].parent, records[prey[1]].birth_step = records[prey[0]].agent_id, -5
    records[prey[0]].birth_step, records[prey[2]].birth_step = -100, -50
    log._sample("prey")
    metrics = log.compute_metrics()
    assert metrics["near_young_kin_old_prey"] == 1.0  # the parent, one cell from its child
    assert metrics["kin_closer_by_old_prey"] == 3 - 1
    assert metrics["near_young_kin_adult_prey"] == 0.0  # the stranger
    assert math.isnan(metrics["kin_closer_by_adult_prey"])  # it has no kin
    assert (metrics["energy_old_prey"], metrics["energy_adult_prey"]) == (3.0, 3.0)


def test_without_births_and_carcasses_there_is_nothing_to_share():
    world = scene([(4, 4, 5.0)], [(0, 0, 9.0)])
    lives = SavannaAgentLog(world)
    lives.start()
    assert math.isnan(kin_carcass_bite_fraction(lives))
    assert math.isnan(late_birth_fraction(lives, 3))
    assert nearest_kin_distances(world, lives) == {}


def test_an_agent_log_gives_a_family_for_metrics_and_export(family_meal):
    _, lives = family_meal
    family = lives.build_family()
    assert max_depth(family) == 1
    assert lineage_survival(family) == 2 / 3  # the prey is a carcass
    assert to_csv(family).splitlines()[4] == "3,[0],1,inf,type_1_predator,,type_1_predator_2"
    assert to_newick(family, end_time=4).splitlines()[0] == (
        "(type_1_predator_2:4,type_1_predator_0_end:4)type_1_predator_0;"
    )
