"""The array interface and the vector environment give the steps of the dictionaries."""

import numpy as np
import pytest

from kinfolk.core.errors import UsageError
from kinfolk.worlds.adapters import make_parallel, make_vec


def test_array_steps_are_the_dictionaries_steps(kind, small):
    plain, fast = make_parallel(kind, **small), make_parallel(kind, **small)
    plain.reset(seed=3)
    fast.reset(seed=3)
    rng, heads = np.random.default_rng(3), plain.world.spec.n_heads
    while plain.agents:
        assert fast.agents == plain.agents
        limits = [plain.action_space(agent) for agent in plain.agents]
        sizes = np.array([np.atleast_1d(getattr(s, "nvec", getattr(s, "n", 1))) for s in limits])
        actions = rng.integers(0, 1 << 30, sizes.shape) % sizes
        chosen = {
            a: row if heads > 1 else row[0] for a, row in zip(plain.agents, actions, strict=True)
        }
        seen, rewards, terminations, truncations, _ = plain.step(chosen)
        step = fast.step_arrays(actions)
        assert step.rewards.tolist() == list(rewards.values())
        assert step.terminated.tolist() == list(terminations.values())
        assert step.truncated.tolist() == list(truncations.values())
        assert step.survives.sum() == len(plain.agents)
        for row, (name, mine) in enumerate(seen.items()):
            group = plain.world.spec.groups[step.groups[row]]
            assert name.startswith(group.name)
            for field in group.fields:
                got = group.read_field(step.observations, field.name)[row]
                expected = mine[field.name] if len(group.fields) > 1 else mine
                assert np.array_equal(got, expected)


@pytest.mark.parametrize("actions", [[1], np.full(30, 9), np.full(30, 0.5)])
def test_wrong_arrays_get_an_error_message(actions):
    env = make_parallel("savanna")
    env.reset(seed=0)
    with pytest.raises(
        UsageError,
        match=r"^step_arrays needs whole numbers in range, one row for each of the 30 agents",
    ):
        env.step_arrays(actions)


def test_a_vector_environment_plays_the_episodes_of_its_seed_one_after_the_other():
    settings = {"max_steps": 12, "max_rows": 64}
    env = make_vec("savanna", 3, seed=7, **settings)
    _, infos = env.reset(seed=7)
    single = make_parallel("savanna", seed=7, **settings)
    first = [single.reset() and single.world.columns.uid.copy() for _ in range(3)]
    assert np.array_equal(infos["uid"], np.stack(first))
    actions = np.full((3, 64, 1), 4)
    for step in range(12):
        assert not infos["done"].any()
        observations, rewards, terminations, truncations, infos = env.step(actions)
        assert observations.shape == (3, 64, env.spec.row_bytes)
        assert rewards.shape == terminations.shape == (3, 64)
        assert truncations.any() == (step == 11)
    assert infos["done"].all()
    observations, rewards, _, _, infos = env.step(actions)
    assert not rewards.any()
    assert not infos["done"].any()
    assert (env.world.tick == 0).all()
    single.reset()
    assert np.array_equal(observations[0], single.single_world.observations), "episode 3"
