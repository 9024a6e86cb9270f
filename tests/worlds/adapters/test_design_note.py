"""The design note of shared_prey and lineage_rewards, statement by statement, through the adapters.

All agents of these worlds are beside each other, on a grid of 2 x 2 or 3 x 3 cells without grass.
"""

import pytest

from kinfolk.worlds.adapters import make_parallel, rllib

STAY = 4
TINY = {
    "grid_size": 2,
    "initial_num_grass": 0,
    "n_initial_active_type_1_predator": 2,
    "n_initial_active_type_1_prey": 1,
    "predator_obs_range": 3,
    "prey_obs_range": 3,
    "energy_loss_per_step_predator": 0.0,
    "energy_loss_per_step_prey": 0.0,
    "initial_energy_predator": 2.0,
    "initial_energy_prey": 3.0,
}
PAIR = TINY | {"n_initial_active_type_1_predator": 1, "team_capture_enabled": False}
WOLF, OTHER_WOLF, SHEEP = "type_1_predator_0", "type_1_predator_1", "type_1_prey_0"


def begin(rules, **more):
    env = make_parallel("savanna", **(rules | more))
    env.reset(seed=0)
    return env


def stay(env):
    return dict.fromkeys(env.agents, STAY)


def row(env, agent):
    """Return the row of a founder."""
    return {WOLF: 0, OTHER_WOLF: 1, SHEEP: sum("predator" in a for a in env.agents)}[agent]


def onto(env, agent, other):
    """Return actions in which one agent moves to the cell of another, beside it, and all others stay."""
    s, a, b = env.world._arrays, row(env, agent), row(env, other)
    dx, dy = int(s.x[0, b] - s.x[0, a]), int(s.y[0, b] - s.y[0, a])
    return stay(env) | {agent: 3 * (dx + 1) + dy + 1}


def energy(env, agent):
    return float(env.world._arrays.energy[0, row(env, agent)])


# Shared prey


@pytest.mark.parametrize(
    ("margin", "caught"), [(0.0, True), (1.0, True), (1.01, False), (-1.0, True)]
)
def test_predators_around_a_prey_capture_it_if_their_energies_reach_its_energy_and_the_margin(
    margin, caught
):
    env = begin(TINY, team_capture_margin=margin)
    _, _, terminations, _, _ = env.step(stay(env))
    assert terminations[SHEEP] == caught
    assert env.counters["team_capture_successes"] == caught
    assert env.counters["team_capture_failures"] == (not caught)


def test_one_predator_alone_does_not_reach_what_two_do():
    env = begin(TINY | {"n_initial_active_type_1_predator": 1})
    assert not env.step(stay(env))[2][SHEEP]
    assert env.counters["team_capture_failures"] == 1


def test_intake_and_catch_reward_are_split_equally():
    env = begin(TINY, reward_predator_catch_prey=5.0)
    _, rewards, _, _, infos = env.step(stay(env))
    for wolf in (WOLF, OTHER_WOLF):
        assert rewards[wolf] == 2.5
        assert infos[wolf]["team_capture_energy_gain"] == 1.5
        assert energy(env, wolf) == 3.5


def test_team_capture_is_a_switch():
    env = begin(TINY, team_capture_enabled=False)
    assert not env.step(stay(env))[2][SHEEP], "nobody stands on its cell"
    assert env.counters["team_capture_successes"] == env.counters["team_capture_failures"] == 0


def test_summary_counters_are_in_the_infos_of_all(monkeypatch):
    monkeypatch.setattr(rllib, "MultiAgentEnv", object)
    env = rllib.RLlibEnvAdapter({"world": "savanna", "ids": 4, **TINY})
    env.reset(seed=0)
    infos = env.step(dict.fromkeys(env.agents, STAY))[4]
    names = ("team_capture_successes", "team_capture_failures", "team_capture_last_helpers")
    assert [infos["__all__"][name] for name in names] == [1, 0, 2]


def test_predators_in_the_carcass_only_window_are_ignored_and_get_the_step_reward_only():
    env = begin(TINY, carcass_only_predator_age=30, reward_predator_step=0.25)
    env.world._arrays.age[0, 0] = 0
    _, rewards, terminations, _, infos = env.step(stay(env))
    assert not terminations[SHEEP], "the other predator alone is too weak"
    assert rewards[WOLF] == 0.25
    assert infos[WOLF] == {"carcass_only_live_prey_blocked": True, "carcass_only_block_count": 1}
    assert env.counters["team_capture_failures"] == 1


# Lineage rewards: a predator with much energy has a child at every step, on the other cells.

FAMILY = PAIR | {
    "grid_size": 3,
    "initial_energy_prey": 100.0,
    "prey_creation_energy_threshold": 1000.0,
    "predator_creation_energy_threshold": 4.0,
    "lineage_reward_coeff": {"type_1_predator": 0.35},
}
CHILD = "type_1_predator_1"


def family(**more):
    env = begin(FAMILY, **more)
    env.world._arrays.energy[0, 0] = 4.0
    return env, env.step(stay(env))


def test_a_birth_links_the_child_and_adds_a_live_descendant():
    env, _ = family()
    tracker = env.lineage_tracker
    assert set(tracker[WOLF]) == {
        *("parent_id", "children_ids", "live_descendants", "prev_live_descendants"),
        "is_alive_descendant",
    }
    assert tracker[CHILD]["parent_id"] == WOLF
    assert list(tracker[WOLF]["children_ids"]) == [CHILD]
    assert tracker[CHILD]["is_alive_descendant"]
    assert tracker[WOLF]["live_descendants"] == tracker[WOLF]["prev_live_descendants"] == 1


def test_a_gain_pays_the_coefficient_and_is_logged_with_time_and_sum():
    env, step = family()
    assert step[1][WOLF] == 10.35
    assert env.agent_stats()[WOLF]["lineage_reward_total"] == 0.35
    event = env.event_log()[WOLF]["reward_events"][-1]
    assert event["t"] == 0
    assert event["lineage_reward"] == 0.35
    assert event["cumulative_reward"] == pytest.approx(10.35)


def test_without_a_coefficient_only_reproduction_pays():
    _, step = family(lineage_reward_coeff=0.0)
    assert step[1][WOLF] == 10.0


@pytest.mark.parametrize(("mode", "reward"), [("positive", 0.0), ("symmetric", -0.35)])
def test_a_death_clears_the_flag_and_takes_a_descendant_and_pays_nothing_unless_symmetric(
    mode, reward
):
    env, _ = family(lineage_reward_mode=mode)
    child_row = int((env.world.columns.uid == 2).nonzero()[0][0])
    env.world._arrays.energy[0, child_row] = 0.0
    _, rewards, terminations, _, _ = env.step(stay(env))
    assert terminations[CHILD]
    assert rewards[WOLF] == reward
    tracker = env.lineage_tracker
    assert not tracker[CHILD]["is_alive_descendant"]
    assert tracker[WOLF]["live_descendants"] == 0


def test_every_ancestor_gains_and_names_are_never_used_again():
    env, _ = family()
    child_row = int((env.world.columns.uid == 2).nonzero()[0][0])
    env.world._arrays.energy[0, child_row] = 4.0
    _, rewards, _, _, _ = env.step(stay(env))
    assert rewards[WOLF] == 0.35, "for a grandchild"
    assert rewards[CHILD] == 10.35
    env.world._arrays.energy[0, child_row] = 0.0
    env.step(stay(env))
    env.world._arrays.energy[0, 0] = 4.0
    observations = env.step(stay(env))[0]
    assert "type_1_predator_3" in observations
    assert CHILD not in observations


def test_a_kick_back_is_counted_where_it_is_paid():
    env, _ = family(lineage_reward_coeff=0.0, kin_kick_back_reward_predator=4.0)
    child_row = int((env.world.columns.uid == 2).nonzero()[0][0])
    env.world._arrays.energy[0, child_row] = 4.0
    _, rewards, _, _, infos = env.step(stay(env))
    assert rewards[WOLF] == 4.0
    assert infos[WOLF]["kin_kickbacks"] == 1


# Fertility and age


@pytest.mark.parametrize("limit", [None, -1])
def test_none_and_negative_limits_are_none(limit):
    env = begin(
        FAMILY,
        max_fertility_age={"type_1_predator": limit},
        max_agent_age={"type_1_predator": limit},
        carcass_only_predator_age={"type_1_predator": limit},
    )
    env.world._arrays.age[0, 0] = 100_000
    env.world._arrays.energy[0, 0] = 4.0
    _, rewards, terminations, _, _ = env.step(stay(env))
    assert rewards[WOLF] == 10.35
    assert not terminations[WOLF]


def test_an_infertile_agent_has_no_child_no_cost_and_no_reward_and_is_counted_and_logged():
    env, step = family(max_fertility_age={"type_1_predator": 1})
    assert step[1][WOLF] == 0.0
    assert energy(env, WOLF) == 4.0
    assert env.counters["reproduction_blocked_due_to_fertility_predator"] == 1
    stats, events = env.agent_stats()[WOLF], env.event_log()[WOLF]["fertility_events"]
    assert stats["fertility_blocked_attempts"] == 1
    assert stats["fertility_expired_step"] == 0
    assert {"t": 0, "event": "reproduction_blocked", "reason": "fertility_cap"} in events
    assert env.agents == [WOLF, SHEEP]


def test_an_agent_at_its_maximum_age_dies_of_it_with_flag_log_and_lineage():
    env, _ = family(max_agent_age={"type_1_predator": 2})
    _, _, terminations, _, infos = env.step(stay(env))
    assert terminations[WOLF]
    assert not terminations[CHILD], "it is younger"
    assert infos[WOLF]["terminated_due_to_age"] is True
    stats = env.agent_stats()[WOLF]
    assert (stats["death_cause"], stats["age_expired_step"]) == ("max_age", 1)
    assert env.event_log()[WOLF]["lifecycle_events"] == [
        {"t": 1, "event": "max_age_reached", "age": 2}
    ]
    assert not env.lineage_tracker[WOLF]["is_alive_descendant"]


@pytest.mark.parametrize("aged", [WOLF, SHEEP])
def test_engagements_skip_an_agent_that_died_of_age_in_the_same_step(aged):
    kind = aged.rpartition("_")[0]
    env = begin(PAIR, max_agent_age={kind: 1})
    _, _, terminations, _, _ = env.step(onto(env, WOLF, SHEEP))
    assert terminations[aged]
    assert env.counters["live_bites"] == 0


# Juveniles


def test_a_juvenile_on_a_live_prey_takes_nothing_and_is_logged_and_counted():
    env = begin(PAIR, carcass_only_predator_age=10, reward_predator_step=0.5)
    env.world._arrays.age[0, 0] = 0
    _, rewards, terminations, _, infos = env.step(onto(env, WOLF, SHEEP))
    assert rewards[WOLF] == 0.5
    assert (energy(env, WOLF), energy(env, SHEEP)) == (2.0, 3.0)
    assert not terminations[SHEEP]
    assert infos[WOLF]["carcass_only_live_prey_blocked"] is True
    assert env.counters["carcass_only_live_prey_blocks_predator"] == 1
    assert env.agent_stats()[WOLF]["carcass_only_blocks"] == 1
    assert env.event_log()[WOLF]["diet_events"][0]["event"] == "carcass_only_block"


def test_founders_may_hunt_at_once_and_their_children_may_not():
    env = begin(PAIR, carcass_only_predator_age=10, max_energy_gain_per_prey=2.5)
    assert env.world._arrays.age[0, 0] == 10
    env.step(onto(env, WOLF, SHEEP))
    assert env.counters["live_bites"] == env.counters["carcasses"] == 1
    mother, _ = family(carcass_only_predator_age=10)
    child_row = int((mother.world.columns.uid == 2).nonzero()[0][0])
    assert mother.world._arrays.age[0, child_row] == 0


def test_a_juvenile_may_bite_a_carcass():
    env = begin(PAIR, carcass_only_predator_age=10, max_energy_gain_per_prey=1.0)
    env.step(onto(env, WOLF, SHEEP))
    env.world._arrays.age[0, 0] = 0
    env.step(stay(env))
    assert (env.counters["live_bites"], env.counters["carcass_bites"]) == (1, 1)
    assert (energy(env, WOLF), energy(env, SHEEP)) == (4.0, 1.0)


def test_births_beyond_the_possible_ids_are_blocked_by_capacity():
    env, step = family(n_possible_type_1_predator=1)
    assert step[1][WOLF] == 0.0
    assert env.counters["reproduction_blocked_due_to_capacity_predator"] == 1


def test_a_grid_too_full_for_a_birth_blocks_and_counts_it():
    env = begin(TINY | {"n_initial_active_type_1_prey": 2}, predator_creation_energy_threshold=1.0,
                team_capture_margin=100.0)  # fmt: skip
    _, rewards, _, _, infos = env.step(stay(env))
    assert rewards[WOLF] == 0.0
    assert infos[WOLF]["reproduction_blocked_due_to_capacity"] is True
    assert env.counters["reproduction_blocked_due_to_capacity_predator"] == 2
