"""Array versions of the classic control tasks equal Gymnasium's, step by step, in every bit."""

import gymnasium
import numpy as np
import pytest

from kinfolk.worlds import build_world
from kinfolk.worlds.gymnasium_task.classic import ClassicTasks, find_classic_task
from kinfolk.worlds.gymnasium_task.vector import LoopTasks, make_vector_tasks

TASKS = ["CartPole-v0", "CartPole-v1", "Acrobot-v1", "MountainCar-v0", "Pendulum-v1"]


def assert_equal_episodes(task, episodes, seed=0):
    """Play random episodes in arrays and one by one in Gymnasium, and compare every step."""
    rng = np.random.default_rng(seed)
    limit = gymnasium.spec(task).max_episode_steps
    arrays = ClassicTasks(find_classic_task(task), episodes, limit)
    env = gymnasium.make(task).env  # the time limit is compared too
    env = gymnasium.wrappers.TimeLimit(env.unwrapped, limit)
    seeds = rng.integers(0, 2**62, episodes)
    shown = np.array([arrays.reset(i, int(seeds[i])) for i in range(episodes)])
    continuous = task == "Pendulum-v1"
    if continuous:
        drawn = rng.uniform(-2.5, 2.5, (limit, episodes))
        actions = drawn.view(np.int64)
    else:  # runs of equal actions reach more of the states than independent ones
        drawn = np.repeat(
            rng.integers(0, env.action_space.n, (limit // 4 + 1, episodes)), 4, axis=0
        )
        actions = drawn
    history, active = [], np.ones(episodes, dtype=bool)
    for tick in range(limit):
        result = [part.copy() for part in arrays.step(actions[tick][:, None], active)]
        history.append((active.copy(), *result))
        active &= ~(result[2] | result[3])
    assert not active.any()
    for i in range(episodes):
        first, _ = env.reset(seed=int(seeds[i]))
        assert np.array_equal(first, shown[i])
        for tick, (playing, observation, reward, terminated, truncated) in enumerate(history):
            if not playing[i]:
                break
            action = drawn[tick, i]
            if continuous:
                action = np.clip(np.array([action]), -2, 2).astype(np.float32)
            seen, paid, ended, cut, _ = env.step(action if continuous else int(action))
            assert np.array_equal(seen, observation[i]), (i, tick, seen, observation[i])
            assert (paid, ended, cut) == (reward[i], terminated[i], truncated[i]), (i, tick)


@pytest.mark.parametrize("task", TASKS)
def test_random_episodes_equal_those_of_gymnasium(task):
    assert_equal_episodes(task, 12)


@pytest.mark.more
@pytest.mark.timeout(600)
@pytest.mark.parametrize("task", TASKS[1:])
def test_a_thousand_random_episodes_equal_those_of_gymnasium(task):
    assert_equal_episodes(task, 1000, seed=1)


def test_they_are_used_wherever_a_world_is_made_of_such_a_task():
    for task in TASKS:
        assert isinstance(build_world(f"gym:{task}", {}, 3)._tasks, ClassicTasks)
    assert isinstance(make_vector_tasks("MountainCarContinuous-v0", 2), LoopTasks)
    kwargs = {"env_kwargs": {"goal_velocity": 0.01}}
    assert isinstance(build_world("gym:MountainCar-v0", kwargs, 2)._tasks, LoopTasks)


@pytest.mark.parametrize("bins", [None, 5])
def test_a_world_of_them_equals_a_world_of_single_environments(bins):
    settings = {} if bins is None else {"bins": bins}
    arrays, loop = (build_world("gym:Pendulum-v1", settings, 4) for _ in range(2))
    loop._tasks = LoopTasks("Pendulum-v1", 4, bins)
    rng = np.random.default_rng(3)
    for world in (arrays, loop):
        world.reset(np.arange(4))
    for _ in range(30):
        actions = rng.uniform(-3, 3, (4, 1)).view(np.int64)
        actions = actions if bins is None else rng.integers(0, bins, (4, 1))
        arrays.step(actions)
        loop.step(actions)
        assert np.array_equal(arrays._state.observation, loop._state.observation)
        assert np.array_equal(arrays.columns.reward, loop.columns.reward)


def test_a_state_that_was_saved_goes_on_exactly():
    task = find_classic_task("Acrobot-v1")
    tasks, other = (ClassicTasks(task, 2, 500) for _ in range(2))
    for index in range(2):
        tasks.reset(index, index)
    active = np.ones(2, dtype=bool)
    tasks.step(np.array([[2], [0]]), active)
    other.set_states(tasks.get_states(), np.array([1, 1]))
    shown, *_ = tasks.step(np.array([[0], [2]]), active)
    copied, *_ = other.step(np.array([[2], [2]]), active)
    assert np.array_equal(copied, shown[[1, 1]])
