"""The PettingZoo adapter, whose agents are born and die."""

import copy
import pickle

import numpy as np
import pytest
from gymnasium import spaces
from pettingzoo.test import parallel_api_test, parallel_seed_test

import kinfolk
from kinfolk.core.errors import SettingsError, UnknownNameError, UsageError
from kinfolk.worlds.adapters import make_parallel


@pytest.fixture
def env(kind, small):
    return make_parallel(kind, **small)


@pytest.mark.filterwarnings("ignore:.*possible_agents:UserWarning")
@pytest.mark.filterwarnings("ignore:No agents present:UserWarning")
@pytest.mark.filterwarnings("ignore:Agent was given:UserWarning")  # born on the last step
@pytest.mark.filterwarnings("error:Live agent was not given:UserWarning")
def test_pettingzoos_api_test_passes(env, kind, small):
    parallel_api_test(env, num_cycles=200)
    parallel_seed_test(lambda: make_parallel(kind, **small), num_cycles=50)


def test_the_same_seed_gives_the_same_whole_episode_in_another_environment(
    env, kind, small, episode, same
):
    other = make_parallel(kind, seed=99, **small)
    assert same(episode(env, seed=5), episode(other, seed=5))


def test_a_reset_without_seed_starts_the_next_episode_of_the_seed(env, kind, small, episode, same):
    again = make_parallel(kind, **small)
    series = [episode(env, seed=None) for _ in range(3)]
    assert not same(series[0], series[1])
    assert same(series, [episode(again, seed=None) for _ in range(3)])
    assert same(series[0], episode(again, seed=0))


def test_a_seed_gives_the_same_episode_as_kinfolk_make(env, kind, small):
    native = kinfolk.make(kind, seed=11, **small)
    env.reset(seed=11)
    mine = env.world.snapshot()
    assert all(np.array_equal(mine[name], array) for name, array in native.snapshot().items())


def test_every_step_returns_what_the_native_world_returns(env, kind, small, random_actions, same):
    native = kinfolk.make(kind, seed=7, **small)
    spec = native.spec
    shown = np.zeros((spec.rows, spec.row_bytes), dtype=np.uint8)
    env.reset(seed=7)
    rng, name_of, row_of = np.random.default_rng(1), {}, dict.fromkeys(env.agents)
    for uid, name in zip(sorted(native.columns.uid[native.columns.uid >= 0]), row_of, strict=True):
        name_of[uid] = name
    while env.agents:
        chosen = random_actions(env, rng)
        columns, actions = native.columns, np.zeros((spec.rows, spec.n_heads), dtype=np.int64)
        for row in np.flatnonzero(columns.alive):
            actions[row] = chosen[name_of[columns.uid[row]]]
        seen, rewards, terminations, truncations, infos = env.step(chosen)
        native.step(actions)
        native.observe(shown)
        there = np.flatnonzero(columns.uid >= 0)
        there = there[np.argsort(columns.uid[there])]
        assert len(seen) == len(rewards) == len(terminations) == len(there)
        for name, row in zip(seen, there, strict=True):
            assert name_of.setdefault(columns.uid[row], name) == name
            assert rewards[name] == columns.reward[row]
            assert terminations[name] is bool(columns.terminated[row])
            assert truncations[name] is bool(columns.truncated[row])
            group = spec.groups[columns.group[row]]
            fields = {f.name: group.read_field(shown, f.name)[row] for f in group.fields}
            mine = seen[name] if len(fields) > 1 else {group.fields[0].name: seen[name]}
            assert same(mine, fields)
            assert name in infos
    assert native.done[0]


def test_births_and_deaths_appear_once_each_in_all_five_dictionaries(env, random_actions):
    agents, born, dead = set(env.reset(seed=2)[0]), set(), set()
    founders, rng = set(agents), np.random.default_rng(2)
    while env.agents:
        result = env.step(random_actions(env, rng))
        seen, _, terminations, truncations, infos = result
        assert ("__all__" in infos) == (not env.agents), "counters come with the last step"
        assert infos.pop("__all__", env.counters) == env.counters
        assert all(list(part) == list(seen) for part in result)
        assert agents <= set(seen), "all who acted are answered"
        new = set(seen) - agents
        assert not new & (founders | born), "no name is used twice"
        assert all(env.observation_space(name).contains(seen[name]) for name in seen)
        born |= new
        ended = {name for name in seen if terminations[name] or truncations[name]}
        assert not any(terminations[name] and truncations[name] for name in seen)
        dead |= {name for name in seen if terminations[name]}
        agents = set(seen) - ended
        assert set(env.agents) == agents
    assert born, "an episode without births would prove nothing"
    assert dead


def test_on_the_last_step_all_survivors_are_truncated(env, episode):
    _, _, terminations, truncations, _ = episode(env, seed=3)[-1]
    assert any(truncations.values())
    assert all(terminations[name] or truncations[name] for name in terminations)
    assert env.agents == []


def test_observations_are_copies(env, random_actions, same):
    seen, _ = env.reset(seed=0)
    first = copy.deepcopy(seen)
    env.step(random_actions(env, np.random.default_rng(0)))
    assert same(seen, first)


def test_spaces_are_one_object_per_group(env):
    env.reset(seed=0)
    sees = {id(env.observation_space(agent)) for agent in env.agents for _ in range(2)}
    does = {id(env.action_space(agent)) for agent in env.agents for _ in range(2)}
    assert len(sees) == len(does) == len(env.world.spec.groups)


def test_one_field_is_a_box_and_several_are_a_dictionary():
    savanna, probe = make_parallel("savanna"), make_parallel("probe")
    savanna.reset()
    probe.reset()
    box = spaces.Box(0.0, 100.0, (5, 9, 9), np.float32)
    assert savanna.observation_space("type_1_prey_0") == box
    assert savanna.action_space("type_1_prey_0") == spaces.Discrete(9)
    assert set(probe.observation_space("grazer_0").spaces) == {"window", "body"}
    assert probe.action_space("grazer_0") == spaces.MultiDiscrete([3, 2])


@pytest.mark.parametrize("way", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_in_the_middle_of_an_episode_continues_with_the_same_steps(
    env, way, random_actions, same
):
    env.reset(seed=4)
    rng = np.random.default_rng(4)
    for _ in range(5):
        env.step(random_actions(env, rng))
    twin = way(env)
    for _ in range(10):
        chosen = random_actions(env, rng)
        assert same(twin.step(chosen), env.step(chosen))


def test_a_step_before_the_first_reset_is_refused(env):
    with pytest.raises(UsageError, match=r"^Call reset\(\) before the first step\(\)\.$"):
        env.step({})


def test_a_step_after_the_end_is_refused(env, episode):
    episode(env, seed=0)
    with pytest.raises(UsageError, match=r"^The episode is over; call reset\(\)"):
        env.step({})


@pytest.mark.parametrize(
    ("kind", "agent", "action", "message"),
    [
        ("savanna", "type_1_prey_3", 9, "type_1_prey_3 chose 9 for move; a type_1_prey has 0 to 8."),
        ("savanna", "type_1_prey_3", 0.5, "The action of type_1_prey_3 must be a whole number, not 0.5."),
        ("savanna", "type_1_prey_3", [1, 2], "The action of type_1_prey_3 must be a whole number, not [1, 2]."),
        ("savanna", "wolf", 1, "'wolf' is not an agent, so it cannot act. Known: type_1_predator_0, "),
        ("probe", "hunter_6", [1, 2], "hunter_6 chose 2 for voice; a hunter has 0 to 1."),
        ("probe", "hunter_6", 1, "The action of hunter_6 must be 2 whole numbers, not 1."),
    ],
)  # fmt: skip
def test_an_invalid_action_raises_an_error_and_changes_nothing(
    env, kind, agent, action, message, random_actions
):
    env.reset(seed=0)
    chosen = random_actions(env, np.random.default_rng(0))
    before = env.world.snapshot()
    with pytest.raises(UsageError) as caught:
        env.step(chosen | {agent: action})
    assert str(caught.value).startswith(message)
    assert all(np.array_equal(env.world.snapshot()[name], before[name]) for name in before)
    env.step(chosen)


def test_dead_agents_cannot_act_and_living_agents_must(env, random_actions):
    env.reset(seed=2)
    rng, ended = np.random.default_rng(2), []
    while not ended:
        _, _, terminations, _, _ = env.step(random_actions(env, rng))
        ended = [name for name, over in terminations.items() if over]
    chosen = random_actions(env, rng)
    with pytest.raises(UsageError, match=f"^'{ended[0]}' is dead, so it cannot act"):
        env.step(chosen | {ended[0]: chosen[env.agents[0]]})
    del chosen[env.agents[-1]]
    with pytest.raises(UsageError, match=f"^{env.agents[-1]} is alive and has no action"):
        env.step(chosen)


@pytest.mark.parametrize(
    ("name", "settings", "error", "message"),
    [
        ("savana", {}, UnknownNameError, "No world is named 'savana'. Did you mean 'savanna'?"),
        ("savanna", {"grid_siez": 9}, SettingsError, "Savanna has no setting 'grid_siez'. Did you mean 'grid_size'?"),
        ("savanna", {"preset": "kickback"}, UnknownNameError, "World savanna has no preset 'kickback'. Did you mean 'kick_back'?"),
        ("probe", {"preset": "x"}, UnknownNameError, "World probe has no preset 'x'. Known: none."),
        ("probe", {"render_mode": "human"}, SettingsError, "render_mode must be None or 'ansi', not 'human'."),
        ("probe", {"rows": 3}, SettingsError, "Probe.rows must hold all 8 founders, not 3."),
    ],
)  # fmt: skip
def test_an_environment_that_cannot_be_made_raises_an_error_that_says_why(
    name, settings, error, message
):
    with pytest.raises(error) as caught:
        make_parallel(name, **settings)
    assert str(caught.value).startswith(message)


def test_an_adapter_refuses_a_batch_of_two_worlds():
    from kinfolk.worlds.adapters.pettingzoo import ParallelEnvAdapter

    with pytest.raises(SettingsError, match="An adapter takes one world; this batch has 2"):
        ParallelEnvAdapter(kinfolk.make("probe", worlds=2))


def test_an_unknown_agent_has_no_spaces():
    env = make_parallel("probe")
    env.reset()
    with pytest.raises(UsageError, match=r"^No agent was called 'grazer_77' in this episode"):
        env.observation_space("grazer_77")


def test_render_returns_text_in_mode_ansi_only():
    env = make_parallel("probe", render_mode="ansi")
    env.reset()
    assert env.render().strip()
    assert make_parallel("probe").render() is None
