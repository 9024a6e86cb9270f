"""The savanna under its published names: ids and infos."""

import numpy as np
import pytest

from kinfolk.worlds.adapters import make_parallel

# Four cells, all within reach of each other, and nothing to eat but prey.
CROWDED = {
    "grid_size": 2,
    "initial_num_grass": 0,
    "n_initial_active_type_1_predator": 2,
    "n_initial_active_type_1_prey": 1,
    "predator_obs_range": 3,
    "prey_obs_range": 3,
}
STAY = 4


def stay(env):
    return dict.fromkeys(env.agents, STAY)


def test_founders_are_numbered_by_type_from_zero():
    env = make_parallel("savanna", type_2_action_range=5, n_initial_active_type_2_prey=2)
    env.reset(seed=0)
    expected = [f"type_1_predator_{i}" for i in range(15)]
    expected += [f"type_1_prey_{i}" for i in range(15)] + ["type_2_prey_0", "type_2_prey_1"]
    assert env.agents == expected
    assert env.action_space("type_2_prey_0").n == 25


def test_births_take_the_next_number_of_their_type(random_actions):
    rates = {"mutation_rate_prey": 0.5, "mutation_rate_predator": 0.5, "max_steps": 80}
    env = make_parallel("savanna", type_2_action_range=3, **rates)
    env.reset(seed=1)
    rng, born = np.random.default_rng(1), dict.fromkeys(env.agents)
    while env.agents:
        seen = env.step(random_actions(env, rng))[0]
        born |= dict.fromkeys(seen)
        arrays = env.world._arrays
        rows = np.flatnonzero(arrays.uid[0] >= 0)
        groups = [group.name for group in env.world.spec.groups]
        expected = {f"{groups[arrays.group[0, row]]}_{arrays.number[0, row]}" for row in rows}
        assert set(seen) == expected
    types = {name.rpartition("_")[0] for name in born}
    assert {"type_1_predator", "type_1_prey", "type_2_prey"} <= types
    for kind in types:
        numbers = [int(n.rpartition("_")[2]) for n in born if n.startswith(f"{kind}_")]
        assert numbers == list(range(len(numbers)))


def test_infos_of_a_team_have_its_size_and_energy_gain():
    env = make_parallel("savanna", **CROWDED)
    assert env.reset(seed=0)[1] == {agent: {} for agent in env.agents}
    seen, _, terminations, truncations, infos = env.step(stay(env))
    for agent in ("type_1_predator_0", "type_1_predator_1"):
        assert infos[agent]["team_capture_helpers"] == 2
        assert infos[agent]["team_capture_energy_gain"] == pytest.approx((3.5 - 0.05) / 2)
        assert infos[agent]["species"] == "predator"
        assert infos[agent]["lifetime_steps"] == 1
        assert truncations[agent]
        assert not terminations[agent]
    assert terminations["type_1_prey_0"]
    assert infos["type_1_prey_0"]["species"] == "prey"
    assert infos["type_1_prey_0"]["parent_id"] is None
    assert infos["type_1_prey_0"]["lifetime_steps"] == 1
    assert "terminated_due_to_age" not in infos["type_1_prey_0"]
    assert seen["type_1_prey_0"].any(), "the last observation is delivered"
    assert env.agents == []
    assert env.counters["team_capture_successes"] == 1
    assert env.counters["team_capture_coop_successes"] == 1
    assert env.counters["team_capture_failures"] == 0
    assert env.counters["team_capture_last_helpers"] == 2


@pytest.mark.parametrize(("quirk", "share"), [(False, (1.5, 2.5)), (True, (4.0, 4.0))])
def test_infos_of_a_team_have_its_reward_shares(quirk, share):
    env = make_parallel(
        "savanna",
        **CROWDED
        | {
            "type_2_action_range": 3,
            "n_initial_active_type_1_predator": 1,
            "n_initial_active_type_2_predator": 1,
            "reward_predator_catch_prey": {"type_1_predator": 3.0, "type_2_predator": 5.0},
            "quirks": {"mean_catch_reward": quirk},
        },
    )
    env.reset(seed=0)
    _, rewards, _, _, infos = env.step(stay(env))
    for agent, part in zip(("type_1_predator_0", "type_2_predator_0"), share, strict=True):
        assert infos[agent]["team_capture_reward_share"] == rewards[agent] == part


def test_the_last_reward_of_a_life_is_delivered():
    env = make_parallel("savanna", **CROWDED, penalty_prey_caught={"type_1_prey": -2.5})
    env.reset(seed=0)
    _, rewards, _, _, infos = env.step(stay(env))
    assert rewards["type_1_prey_0"] == -2.5
    assert infos["type_1_prey_0"]["final_cumulative_reward"] == -2.5


def test_infos_say_that_an_agent_died_of_age():
    env = make_parallel("savanna", max_agent_age={"type_1_prey": 2})
    env.reset(seed=0)
    env.step(stay(env))
    _, _, terminations, _, infos = env.step(stay(env))
    old = [a for a in infos if infos[a].get("terminated_due_to_age")]
    assert old
    assert all(terminations[agent] and "prey" in agent for agent in old)
    assert {infos[agent]["lifetime_steps"] for agent in old} == {2}


def test_infos_say_that_an_agent_is_too_old_to_reproduce():
    rules = {"initial_energy_prey": 7.0, "max_fertility_age": {"type_1_prey": 1}}
    env = make_parallel("savanna", **rules)
    env.reset(seed=0)
    for step in (1, 2):
        infos = env.step(stay(env))[4]
        info = infos["type_1_prey_14"]
        assert info["reproduction_blocked_due_to_fertility"] is True
        assert info["fertility_blocked_attempts"] == step
        counted = env.world.counters()["reproduction_blocked_due_to_fertility_prey"][0]
        assert info["reproduction_blocked_due_to_fertility_count_prey"] == counted


def test_infos_say_that_there_was_no_row_for_a_child():
    env = make_parallel("savanna", initial_energy_prey=7.0, max_rows=30)
    env.reset(seed=0)
    infos = env.step(stay(env))[4]
    assert infos["type_1_prey_14"]["reproduction_blocked_due_to_capacity"] is True


def test_infos_say_that_a_juvenile_may_not_bite():
    env = make_parallel("savanna", **CROWDED, carcass_only_predator_age={"type_1_predator": 10})
    env.reset(seed=0)
    env.world._arrays.age[:] = 0
    for step in (1, 2):
        infos = env.step(stay(env))[4]
        assert infos["type_1_predator_0"]["carcass_only_live_prey_blocked"] is True
        assert infos["type_1_predator_0"]["carcass_only_block_count"] == step


@pytest.mark.parametrize("preset", ["shared_prey_r2", "kick_back", None])
def test_final_infos_agree_with_the_rewards(preset, random_actions):
    env = make_parallel("savanna", preset=preset, max_steps=150)
    env.reset(seed=3)
    rng, earned, parents = np.random.default_rng(3), {}, {}
    while env.agents:
        names = {int(life.uid): life.name for life in env._agent_index.by_uid.values()}
        _, rewards, terminations, truncations, infos = env.step(random_actions(env, rng))
        columns = env.world.columns
        for life in env._agent_index.by_uid.values():
            parents[life.name] = names.get(
                int(columns.parents[life.row, 0]), parents.get(life.name)
            )
        for agent, reward in rewards.items():
            earned[agent] = earned.get(agent, 0.0) + reward
            ended = terminations[agent] or truncations[agent]
            assert ("final_cumulative_reward" in infos[agent]) == ended
            if ended:
                assert infos[agent]["final_cumulative_reward"] == earned[agent]
                assert infos[agent]["parent_id"] == parents[agent]
    assert any(parents.values())


def test_compact_observations_are_words():
    env = make_parallel("savanna", observation="compact", prey_obs_range=7)
    seen, _ = env.reset(seed=0)
    assert seen["type_1_prey_0"].shape == (7, 7)
    assert seen["type_1_prey_0"].dtype == np.uint32
    assert env.observation_space("type_1_prey_0").contains(seen["type_1_prey_0"])


def test_a_grid_too_full_for_a_birth_blocks_and_counts_it():
    full = {"grid_size": 2, "initial_num_grass": 0, "n_initial_active_type_1_predator": 2,
            "n_initial_active_type_1_prey": 2, "predator_obs_range": 3, "prey_obs_range": 3}  # fmt: skip
    env = make_parallel(
        "savanna", **full, predator_creation_energy_threshold=1.0, team_capture_margin=100.0
    )
    env.reset(seed=0)
    _, rewards, _, _, infos = env.step(stay(env))
    assert rewards["type_1_predator_0"] == 0.0
    assert infos["type_1_predator_0"]["reproduction_blocked_due_to_capacity"] is True
    assert env.counters["reproduction_blocked_due_to_capacity_predator"] == 2
