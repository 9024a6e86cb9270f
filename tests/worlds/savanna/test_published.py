"""The seven tests upstream has for shared_prey and lineage_rewards, on our world.

Those of lineage_rewards have their published names; those of shared_prey are not named in its texts.
"""

import numpy as np
import pytest
from savanna_scenes import act, scene

from kinfolk.core.settings import validate_settings
from kinfolk.worlds.savanna.agent_log import SavannaAgentLog
from kinfolk.worlds.savanna.codes import ATE
from kinfolk.worlds.savanna.presets import LINEAGE_DOCUMENTED, SHARED_PREY_R1
from kinfolk.worlds.savanna.settings import Savanna
from kinfolk.worlds.savanna.world import SavannaWorld

TINY = {
    "grid_size": 5,
    "n_initial_active_type_1_predator": 1,
    "n_initial_active_type_1_prey": 1,
    "max_rows": 16,
}
SHARED = dict(SHARED_PREY_R1) | TINY | {"initial_num_grass": 0}
LINEAGE = dict(LINEAGE_DOCUMENTED) | TINY | {"initial_num_grass": 4}


def begun(rules, seed):
    world = SavannaWorld(validate_settings(Savanna, rules), 1)
    world.reset_published([seed])
    lives = SavannaAgentLog(world)
    lives.start()
    return world, lives


def onto_the_prey(rules):
    """A predator that stands where the prey stands."""
    return scene([(2, 2, 5.0)], [(2, 2, 3.0)], rules=rules)


def test_reset_returns_observations_of_all_agents_and_no_infos():
    world, _ = begun(SHARED, 42)
    out = np.zeros((world.spec.rows, world.spec.row_bytes), dtype=np.uint8)
    world.observe(out)
    assert (out.any(axis=1) == world.columns.alive).all()
    assert world.events() == []


def test_predator_on_the_cell_of_a_prey_captures_it():
    world = act(onto_the_prey(SHARED))
    assert world.columns.terminated[1]
    assert world.counters()["active_num_prey"][0] == 0
    assert world._arrays.step_event[0, 0] == ATE
    assert world.columns.reward[0] == 0.0


def test_lineage_reward_triggers_on_descendant_gain():
    world, lives = begun(LINEAGE | {"predator_creation_energy_threshold": 5.0}, 321)
    world._arrays.energy[0, 0] = 10.0
    act(world)
    lives.update()
    founder = lives.by_id["type_1_predator_0"]
    assert founder.lineage_reward_total == 0.35
    assert founder.reward_events[-1]["lineage_reward"] == 0.35
    assert world.columns.reward[0] == pytest.approx(10.35)


def test_agent_emits_max_age_termination_and_logs_event():
    world, lives = begun(LINEAGE, 123)
    world._arrays.age[0, 0] = 219
    act(world, r0=0, r1=0)
    lives.update()
    life = lives.by_id["type_1_predator_0"]
    assert world.columns.terminated[0]
    assert life.death_cause == "max_age"
    assert life.age_expired_step == life.death_step == 0


def test_juvenile_predator_blocked_from_live_prey():
    world = onto_the_prey(LINEAGE)
    lives = SavannaAgentLog(world)
    lives.start()
    world._arrays.age[0, 0] = 0
    act(world)
    lives.update()
    assert world.columns.reward[0] == 0.0
    assert world._arrays.step_event[0, 0] != ATE
    assert not world._arrays.carcass[0, 1]
    assert lives.by_id["type_1_predator_0"].carcass_only_blocks == 1
    assert lives.by_id["type_1_predator_0"].diet_events[0]["prey_id"] == "type_1_prey_0"


def test_predator_can_eat_live_prey_after_window():
    world = onto_the_prey(LINEAGE | {"carcass_only_predator_age": 2})
    lives = SavannaAgentLog(world)
    lives.start()
    world._arrays.age[0, 0] = 5
    act(world)
    lives.update()
    assert world._arrays.step_event[0, 0] == ATE
    assert lives.by_id["type_1_predator_0"].times_ate == 1
    assert world._arrays.carcass[0, 1]


def test_founder_predator_starts_at_carcass_threshold():
    world, _ = begun(LINEAGE | {"carcass_only_predator_age": 12}, 123)
    assert world._arrays.age[0, 0] == 12
