"""SuperSuit, TorchRL and RLlib over the adapters, where they are installed."""

import importlib.util
import sys

import numpy as np
import pytest

from kinfolk.core.errors import UsageError
from kinfolk.worlds.adapters import make_fixed_agents, make_gymnasium, make_parallel, make_rllib

SAVANNA = {"max_steps": 40, "max_rows": 40}


def has(module):
    return importlib.util.find_spec(module) is not None


@pytest.mark.skipif(not has("supersuit"), reason="SuperSuit is not installed")
def test_supersuit_stacks_environments_with_fixed_agents():
    import supersuit

    env = supersuit.pettingzoo_env_to_vec_env_v1(make_fixed_agents("savanna", **SAVANNA))
    both = supersuit.concat_vec_envs_v1(env, 2, num_cpus=0)
    seen, _ = both.reset(seed=1)
    assert seen.shape == (2 * 80, 5, 9, 9)
    rng, cut = np.random.default_rng(0), 0
    for _ in range(50):
        seen, _, ended, truncated, _ = both.step(rng.integers(0, 9, 2 * 80))
        assert not np.any(ended)
        cut += int(np.sum(truncated))
    assert cut == 2 * 80, "each copy ended once, and began again"


@pytest.mark.skipif(not has("torchrl"), reason="TorchRL is not installed")
@pytest.mark.parametrize(("name", "settings"), [("savanna", SAVANNA), ("probe", {"rows": 12})])
def test_torchrl_rolls_out_an_environment_with_fixed_agents(name, settings):
    from torchrl.envs import PettingZooWrapper
    from torchrl.envs.utils import check_env_specs

    slots = make_fixed_agents(name, **settings)
    env = PettingZooWrapper(slots, use_mask=False, seed=1)
    groups = [group.name for group in slots.world.spec.groups]
    assert list(env.group_map) == groups
    check_env_specs(env)
    data = env.rollout(1000)
    assert data.batch_size[0] == slots.world.tick[0]
    assert data["next", "done"][-1].all()
    assert not data["next", "done"][:-1].any()
    alive = data["next", groups[0], "info", "alive"]
    assert 0 < alive.float().mean() < 1


@pytest.mark.parametrize(
    ("make", "module", "command"),
    [
        (make_rllib, "ray.rllib", r"pip install 'kinfolk\[ray\]' 'ray\[rllib\]'"),
        (make_parallel, "pettingzoo", "pip install pettingzoo gymnasium"),
        (make_fixed_agents, "pettingzoo", "pip install pettingzoo gymnasium"),
        (make_gymnasium, "gymnasium", "pip install gymnasium"),
    ],
)
def test_without_its_library_an_adapter_names_the_command_to_install_it(
    monkeypatch, make, module, command
):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(
        UsageError, match=rf"^This adapter needs {module}, .* Install it: {command}\.$"
    ):
        make("probe")


needs_rllib = pytest.mark.skipif(
    not (has("ray") and has("ray.rllib") and has("tree")), reason="Ray's RLlib is not installed"
)


@needs_rllib
@pytest.mark.parametrize(("name", "settings"), [("savanna", SAVANNA), ("probe", {})])
def test_rllib_takes_a_whole_episode(name, settings):
    from ray.rllib.env.multi_agent_episode import MultiAgentEpisode
    from ray.rllib.utils.pre_checks.env import check_multiagent_environments

    check_multiagent_environments(make_rllib(name, **settings))
    env = make_rllib(name, **settings)
    seen, infos = env.reset(seed=3)
    assert infos == {}
    rng, alive, dead = np.random.default_rng(0), list(seen), set()
    book = MultiAgentEpisode(
        observation_space=env.observation_spaces,
        action_space=env.action_spaces,
        agent_to_module_mapping_fn=lambda agent, *_, **__: agent.rpartition("_")[0],
    )
    book.add_env_reset(observations=seen, infos=infos)
    while not book.is_done:
        chosen = {}
        for agent in alive:
            assert env.get_observation_space(agent).contains(seen[agent])
            sizes = getattr(env.get_action_space(agent), "nvec", None)
            chosen[agent] = int(rng.integers(9)) if sizes is None else rng.integers(sizes)
        seen, rewards, terminateds, truncateds, infos = env.step(chosen)
        assert set(terminateds) == set(truncateds) == {*seen, "__all__"}
        assert env.agents == list(seen) == list(rewards) == list(infos)
        book.add_env_step(
            seen, chosen, rewards, infos, terminateds=terminateds, truncateds=truncateds
        )
        alive = [agent for agent in seen if not terminateds[agent]]
        dead |= set(seen) - set(alive)
    assert env.world.done[0]
    assert (truncateds["__all__"], terminateds["__all__"]) == (bool(alive), not alive)
    for agent, life in book.agent_episodes.items():
        assert (life.is_terminated, life.is_truncated) == (agent in dead, agent not in dead)
    assert dead
    assert len(book.agent_episodes) > len(dead)


@needs_rllib
def test_rllib_samples_whole_episodes_with_its_own_runner_and_nets():
    from ray.rllib.algorithms.ppo import PPOConfig
    from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig
    from ray.rllib.env.multi_agent_env_runner import MultiAgentEnvRunner

    from kinfolk.worlds.adapters.rllib import RLlibEnvAdapter

    config = (
        PPOConfig()
        .environment(RLlibEnvAdapter, env_config={"world": "savanna", "max_steps": 10, "ids": 50})
        .env_runners(num_env_runners=0, num_envs_per_env_runner=2)
        .multi_agent(
            policies={"type_1_predator", "type_1_prey"},
            policy_mapping_fn=lambda agent, *_, **__: agent.rpartition("_")[0],
        )
        .rl_module(model_config=DefaultModelConfig(conv_filters=[[4, 3, 1]]))
    )
    runner = MultiAgentEnvRunner(config=config)
    try:
        first, second = runner.sample(num_episodes=2)
    finally:
        runner.stop()
    assert [len(first), len(second)] == [10, 10]
    assert first.is_truncated
    assert not first.is_terminated
    start = [
        played.agent_episodes["type_1_prey_0"].get_observations(0) for played in (first, second)
    ]
    assert not np.array_equal(*start), "each environment has its own random keys"


@needs_rllib
def test_environments_of_rllib_get_different_random_keys():
    from ray.rllib.env.env_context import EnvContext

    from kinfolk.worlds.adapters.rllib import RLlibEnvAdapter

    starts = []
    for worker in (0, 1):
        context = EnvContext({"world": "savanna", "seed": 4}, worker_index=worker)
        starts += [RLlibEnvAdapter(context).reset()[0]["type_1_prey_0"] for _ in range(2)]
    assert len({start.tobytes() for start in starts}) == 4
    plain = make_rllib("savanna", seed=4).reset()[0]["type_1_prey_0"]
    assert np.array_equal(plain, starts[0])


@needs_rllib
def test_an_episode_is_truncated_when_rllib_has_no_id_for_a_newborn():
    env = make_rllib("savanna", initial_energy_prey=7.0, ids=20)
    seen, _ = env.reset(seed=0)
    assert len(env.possible_agents) == 40
    seen, _, terminateds, truncateds, _ = env.step(dict.fromkeys(seen, 4))
    assert "type_1_prey_20" in seen
    assert truncateds["__all__"]
    assert not terminateds["__all__"]
    with pytest.raises(UsageError, match=r"^'ids' is too small: the founder type_1_predator_3 "):
        make_rllib("savanna", ids=3).reset()


@needs_rllib
def test_rllib_needs_the_name_of_a_world():
    from kinfolk.worlds.adapters.rllib import RLlibEnvAdapter

    with pytest.raises(UsageError, match=r"^RLlibEnvAdapter needs the name of a world"):
        RLlibEnvAdapter({})
