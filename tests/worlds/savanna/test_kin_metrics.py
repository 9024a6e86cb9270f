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
    lives = SavannaAgentLog(world)
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
    assert to_csv(family).splitlines()[4] == "3,[0],0,inf,type_1_predator,"
    assert to_newick(family, end_time=4).splitlines()[0] == (
        "(type_1_predator_3:4,type_1_predator_0_end:4)type_1_predator_0;"
    )
