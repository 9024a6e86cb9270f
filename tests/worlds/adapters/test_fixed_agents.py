"""The fixed-slot view: places that are always there."""

import copy

import numpy as np
import pytest
from pettingzoo.test import parallel_api_test, parallel_seed_test

import kinfolk
from kinfolk.core.errors import UsageError
from kinfolk.worlds.adapters import make_fixed_agents


@pytest.fixture
def env(kind, small):
    return make_fixed_agents(kind, **small)


@pytest.mark.filterwarnings("error::UserWarning")
def test_pettingzoos_api_test_passes(env, kind, small):
    parallel_api_test(env, num_cycles=200)
    parallel_seed_test(lambda: make_fixed_agents(kind, **small), num_cycles=50)


def test_the_same_seed_gives_the_same_whole_episode(env, kind, small, episode, same):
    other = make_fixed_agents(kind, seed=8, **small)
    assert same(episode(env, seed=5), episode(other, seed=5))


def test_there_is_an_agent_per_group_and_row_from_the_first_step_to_the_last(env, random_actions):
    spec, rng = env.world.spec, np.random.default_rng(0)
    seen, infos = env.reset(seed=0)
    slots = [f"{group.name}_{row}" for group in spec.groups for row in range(spec.rows)]
    assert env.possible_agents == env.agents == list(seen) == list(infos) == slots
    while env.agents:
        result = env.step(random_actions(env, rng))
        assert all(list(part) == slots for part in result)
        assert not any(result[2].values())
        assert set(result[3].values()) == {bool(env.world.done[0])}
    assert env.world.done[0]


def test_every_agent_observes_its_row_of_the_native_world(env, kind, small, random_actions, same):
    native = kinfolk.make(kind, seed=7, **small)
    spec, rng = native.spec, np.random.default_rng(1)
    shown = np.zeros((spec.rows, spec.row_bytes), dtype=np.uint8)
    env.reset(seed=7)
    births = deaths = 0
    while env.agents:
        chosen = random_actions(env, rng)
        columns, before = native.columns, native.columns.uid.copy()
        actions = np.zeros((spec.rows, spec.n_heads), dtype=np.int64)
        for row in np.flatnonzero(columns.alive):
            actions[row] = chosen[f"{spec.groups[columns.group[row]].name}_{row}"]
        seen, rewards, _, _, infos = env.step(chosen)
        native.step(actions)
        native.observe(shown)
        for index, group in enumerate(spec.groups):
            for row in range(spec.rows):
                slot, life = f"{group.name}_{row}", int(columns.uid[row])
                held = life >= 0 and columns.group[row] == index
                fields = {f.name: group.read_field(shown, f.name)[row] * held for f in group.fields}
                mine = seen[slot] if len(fields) > 1 else {group.fields[0].name: seen[slot]}
                assert all(np.array_equal(mine[name], fields[name]) for name in fields)
                assert rewards[slot] == (columns.reward[row] if held else 0.0)
                new = held and life != before[row]
                goes_on = held and columns.alive[row] and not columns.truncated[row]
                assert infos[slot] == {
                    "alive": int(goes_on),
                    "uid": life if held else -1,
                    "parent": int(columns.parents[row, 0]) if held else -1,
                    "born": int(new),
                    "ended": int(held and columns.terminated[row]),
                }
                births, deaths = births + new, deaths + infos[slot]["ended"]
    assert births
    assert deaths


def test_founders_are_born_at_every_reset(env, random_actions):
    for _ in range(2):
        _, infos = env.reset(seed=0)
        assert sum(info["born"] for info in infos.values()) == (env.world.columns.uid >= 0).sum()
        env.step(random_actions(env, np.random.default_rng(0)))


def test_actions_of_empty_agents_are_ignored(env, kind, small, random_actions, same):
    other = make_fixed_agents(kind, **small)
    _, infos = env.reset(seed=1)
    other.reset(seed=1)
    chosen = random_actions(env, np.random.default_rng(0))
    living = {agent: chosen[agent] for agent, info in infos.items() if info["alive"]}
    assert 0 < len(living) < len(chosen)
    assert same(env.step(chosen), other.step(living))


def test_a_copy_continues_with_the_same_steps(env, random_actions, same):
    env.reset(seed=4)
    rng = np.random.default_rng(4)
    env.step(random_actions(env, rng))
    twin = copy.deepcopy(env)
    for _ in range(10):
        chosen = random_actions(env, rng)
        assert same(twin.step(chosen), env.step(chosen))


def test_spaces_are_one_object_per_group_even_before_a_reset(env):
    for spaces in (env.observation_space, env.action_space):
        found = {id(spaces(agent)) for agent in env.possible_agents for _ in range(2)}
        assert len(found) == len(env.world.spec.groups)


def test_wrong_use_raises_an_error_that_names_it(env, kind, random_actions):
    with pytest.raises(UsageError, match=r"^Call reset\(\) before the first step\(\)\.$"):
        env.step({})
    _, infos = env.reset(seed=0)
    chosen = random_actions(env, np.random.default_rng(0))
    first = next(agent for agent in env.agents if infos[agent]["alive"])
    with pytest.raises(UsageError, match=f"^There is no agent 'wolf'. Known: {env.agents[0]}"):
        env.step(chosen | {"wolf": 0})
    with pytest.raises(UsageError, match=f"^{first} is alive and has no action"):
        env.step({})
    with pytest.raises(UsageError, match=f"^{first} chose 99 for move; a "):
        env.step(chosen | {first: np.full(env.world.spec.n_heads, 99)})
