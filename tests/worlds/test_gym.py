import gymnasium
import numpy as np
import pytest

from kinfolk.core.errors import SettingsError, UnknownNameError
from kinfolk.worlds import build
from kinfolk.worlds.gym_copies import pack, refuse_uncopyable, unpack
from kinfolk.worlds.gym_lanes import ArrayLanes, PlainLanes


def steps_of(world, count, seed=0):
    chance = np.random.default_rng(seed)
    for _ in range(count):
        choices = world.spec.choices[0]
        world.step(chance.integers(0, choices, (world.worlds, len(choices))))
        yield world


@pytest.mark.parametrize("task", ["CartPole-v1", "Acrobot-v1", "MountainCar-v0", "FrozenLake-v1"])
def test_an_episode_is_that_of_the_task_with_the_key_as_seed(task):
    world = build(f"gym:{task}", {}, 2)
    world.reset(np.array([123, 456]))
    env = gymnasium.make(task)
    shown, _ = env.reset(seed=456)
    out = np.zeros((2, world.spec.row_bytes), dtype=np.uint8)
    for _ in range(60):
        world.observe(out)
        numbers = world.spec.groups[0].read(out, "numbers")[1]
        assert np.array_equal(numbers, gymnasium.spaces.flatten(env.observation_space, shown))
        if world.done[1]:
            break
        world.step(np.ones((2, 1), dtype=np.int64))
        shown, reward, terminated, truncated, _ = env.step(1)
        assert world.columns.reward[1] == reward
        assert (world.columns.terminated[1], world.done[1]) == (terminated, terminated or truncated)


def test_the_array_form_is_used_where_there_is_one_and_plays_the_same():
    array = build("gym:CartPole-v1", {}, 5)
    plain = build("gym:CartPole-v1", {}, 5)
    assert isinstance(array._lanes, ArrayLanes)
    plain._lanes = PlainLanes("CartPole-v1", 5, 11)
    for world in (array, plain):
        world.reset(np.arange(5))
    for one, other in zip(steps_of(array, 40), steps_of(plain, 40), strict=True):
        assert np.array_equal(one.done, other.done)
        assert np.allclose(one._state.shown, other._state.shown, atol=1e-6)
    assert array.done.any()


@pytest.mark.parametrize("task", ["Acrobot-v1", "Pendulum-v1", "FrozenLake-v1", "CliffWalking-v1"])
def test_a_packed_task_goes_on_exactly(task):
    env, other = (gymnasium.make(task) for _ in range(2))
    env.reset(seed=1)
    other.reset(seed=2)
    env.action_space.seed(0)
    for _ in range(3):
        env.step(env.action_space.sample())
    unpack(other, pack(env) + b"\0\0")
    for _ in range(10):
        action = env.action_space.sample()
        one, two = env.step(action), other.step(action)
        assert np.array_equal(one[0], two[0])
        assert one[1:4] == two[1:4]
        if one[2] or one[3]:
            env.reset()
            other.reset()


def test_numbers_are_acted_on_in_steps_of_their_range():
    world = build("gym:Pendulum-v1", {"bins": 5}, 1)
    assert world.spec.groups[0].heads[0].choices == ("0/4", "1/4", "2/4", "3/4", "4/4")
    world.reset(np.array([3]))
    env = gymnasium.make("Pendulum-v1")
    env.reset(seed=3)
    for choice, torque in ((0, -2.0), (3, 1.0), (2, 0.0)):
        world.step(np.array([[choice]]))
        _, reward, _, _, _ = env.step(np.array([torque], dtype=np.float32))
        assert world.columns.reward[0] == reward


@pytest.mark.parametrize("task", ["LunarLander-v3", "BipedalWalker-v3", "CarRacing-v3"])
def test_tasks_of_box2d_are_refused_by_name_without_being_made(task):
    with pytest.raises(SettingsError, match=rf"^gym:{task} cannot be copied .* belong to Box2D\."):
        refuse_uncopyable(task)
    refuse_uncopyable("Acrobot-v1")


def test_what_cannot_be_copied_is_named():
    env = gymnasium.make("Acrobot-v1")
    env.reset(seed=0)
    env.unwrapped.body = object()
    with pytest.raises(SettingsError) as caught:
        pack(env)
    assert str(caught.value) == (
        "gym:Acrobot-v1 cannot be copied in the middle of an episode: "
        "its body is a object, not a number."
    )


def test_an_unknown_task_gets_a_hint():
    with pytest.raises(UnknownNameError) as caught:
        build("gym:Acrobt-v1", {}, 1)
    assert str(caught.value) == "Gymnasium has no task 'Acrobt-v1'. Did you mean 'Acrobot-v1'?"
