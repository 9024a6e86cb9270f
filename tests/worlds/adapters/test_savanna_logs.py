"""Event log, statistics, lineages and counters of the savanna, through the adapters."""

import copy

import numpy as np
import pytest

from kinfolk.core.errors import UsageError
from kinfolk.worlds.adapters import make_fixed_agents, make_gymnasium, make_parallel, rllib

SETTINGS = {"max_steps": 120, "predator_creation_energy_threshold": 7.0}


@pytest.fixture(scope="module")
def played():
    """An episode of lineage_documented by random play, with its rewards and last infos by agent."""
    env = make_parallel("savanna", preset="lineage_documented", **SETTINGS)
    env.reset(seed=3)
    rng, rewards, finals = np.random.default_rng(3), {}, {}
    while env.agents:
        actions = {agent: int(rng.integers(9)) for agent in env.agents}
        _, paid, _, _, infos = env.step(actions)
        for agent, reward in paid.items():
            rewards[agent] = rewards.get(agent, 0.0) + reward
            if "final_cumulative_reward" in infos[agent]:
                finals[agent] = infos[agent]
    return env, rewards, finals


def test_statistics_agree_with_rewards_and_final_infos(played):
    env, rewards, finals = played
    stats = env.agent_stats()
    assert set(stats) == set(rewards) == set(finals)
    for agent, entry in stats.items():
        assert entry["cumulative_reward"] == pytest.approx(rewards[agent])
        assert entry["parent"] == finals[agent]["parent_id"]
        if entry["death_step"] is not None:  # not of the survivors of an extinction
            lived = entry["death_step"] - entry["birth_step"]
            assert lived == finals[agent]["lifetime_steps"]
    assert {"eaten", "starved"} <= {entry["death_cause"] for entry in stats.values()}


def test_the_event_log_adds_up_to_the_statistics(played):
    env, _, _ = played
    stats, log = env.agent_stats(), env.event_log()
    n_meals = 0
    for agent, entry in log.items():
        meals = entry["eating_events"]
        n_meals += len(meals)
        assert stats[agent]["times_ate"] == len(meals)
        assert stats[agent]["energy_gained"] == pytest.approx(sum(m["bite_size"] for m in meals))
        assert [event["child_id"] for event in entry["reproduction_events"]] == stats[agent][
            "offspring_ids"
        ]
        assert set(entry) == {
            *("agent_id", "birth_step", "death_step", "parent_id", "death_cause", "eating_events"),
            *("reproduction_events", "reward_events", "diet_events", "lifecycle_events"),
            "fertility_events",
        }
    counters = env.counters
    assert n_meals == sum(counters[f"{kind}_bites"] for kind in ("live", "carcass", "grass")) > 0


def test_the_lineage_tracker_counts_living_descendants(played):
    env, _, _ = played
    tracker = env.lineage_tracker

    def living(agent):
        children = tracker[agent]["children_ids"]
        return sum(tracker[c]["is_alive_descendant"] + living(c) for c in children)

    assert any(entry["children_ids"] for entry in tracker.values())
    for agent, entry in tracker.items():
        assert entry["live_descendants"] == living(agent)
        for child in entry["children_ids"]:
            assert tracker[child]["parent_id"] == agent


def test_a_copied_environment_goes_on_with_the_log():
    env = make_parallel("savanna", **SETTINGS)
    env.reset(seed=1)
    rng = np.random.default_rng(1)
    for _ in range(10):
        env.step({agent: int(rng.integers(9)) for agent in env.agents})
    twin = copy.deepcopy(env)
    actions = {agent: int(rng.integers(9)) for agent in env.agents}
    env.step(actions)
    assert twin.event_log() != env.event_log()
    twin.step(actions)
    assert twin.event_log() == env.event_log()
    assert twin.lineage_tracker == env.lineage_tracker


def test_a_reset_starts_a_new_log():
    env = make_parallel("savanna", **SETTINGS)
    env.reset(seed=1)
    env.step(dict.fromkeys(env.agents, 0))
    env.reset(seed=1)
    assert all(entry["avg_energy_steps"] == 0 for entry in env.agent_stats().values())


def test_without_agent_infos_and_log_an_environment_gives_the_same_steps(same):
    full = make_parallel("savanna", **SETTINGS)
    bare = make_parallel("savanna", agent_infos=False, record_log=False, **SETTINGS)
    full.reset(seed=2)
    bare.reset(seed=2)
    rng = np.random.default_rng(2)
    while full.agents:
        actions = {agent: int(rng.integers(9)) for agent in full.agents}
        whole, part = full.step(actions), bare.step(actions)
        assert same(whole[:4], part[:4])
        assert part[4] == {agent: {} for agent in whole[0]}
    assert full.counters == bare.counters
    with pytest.raises(UsageError) as caught:
        bare.event_log()
    assert str(caught.value) == (
        "This environment keeps no event log: make it with record_log=True, and of a world that has "
        "one (this is savanna)."
    )


def test_a_world_without_a_log_says_so():
    env = make_parallel("probe")
    env.reset()
    with pytest.raises(UsageError, match="this is probe"):
        env.agent_stats()


@pytest.mark.parametrize("make", [make_fixed_agents, make_gymnasium])
def test_the_other_adapters_have_a_log_too(make):
    env = make("savanna", **SETTINGS)
    env.reset(seed=0)
    actions = {group.name: np.full((256, 1), 4) for group in env.world.spec.groups}
    if make is make_fixed_agents:
        actions = dict.fromkeys(env.agents, 4)
    env.step(actions)
    assert sum(entry["avg_energy_steps"] for entry in env.agent_stats().values()) == 30
    assert len(env.event_log()) == len(env.lineage_tracker) >= 30
    assert env.counters["active_num_predators"] >= 0


def test_rllib_gets_the_counters_of_the_world_under_all(monkeypatch):
    if rllib.MultiAgentEnv is None:
        monkeypatch.setattr(rllib, "MultiAgentEnv", object)
    env = rllib.RLlibEnvAdapter({"world": "savanna", "preset": "shared_prey_r2"})
    observations, infos = env.reset(seed=5)
    assert infos == {}
    for _ in range(20):
        *_, infos = env.step(dict.fromkeys(env._env.agents, 4))
        assert infos["__all__"] == env.counters
        assert "team_capture_successes" in infos["__all__"]
    assert env.event_log() == env._env.event_log()
    assert set(env.agent_stats()) == set(env.lineage_tracker) >= set(observations)
