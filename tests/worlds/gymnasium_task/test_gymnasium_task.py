import sys

import gymnasium
import numpy as np
import pytest

from kinfolk.cli.app import main
from kinfolk.core.errors import SettingsError, UnknownNameError, UsageError
from kinfolk.worlds import build_world
from kinfolk.worlds.gymnasium_task.env import check_copyable, deserialize_env, serialize_env
from kinfolk.worlds.gymnasium_task.loop import LoopTasks
from kinfolk.worlds.gymnasium_task.vector import ArrayTasks


def steps_of(world, count, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        choices = world.spec.n_choices[0]
        world.step(rng.integers(0, choices, (world.n_worlds, len(choices))))
        yield world


@pytest.mark.parametrize("task", ["CartPole-v1", "Acrobot-v1", "MountainCar-v0", "FrozenLake-v1"])
def test_an_episode_equals_that_of_the_task_with_the_key_as_seed(task):
    world = build_world(f"gym:{task}", {}, 2)
    world.reset(np.array([123, 456]))
    env = gymnasium.make(task)
    shown, _ = env.reset(seed=456)
    out = np.zeros((2, world.spec.row_bytes), dtype=np.uint8)
    for _ in range(60):
        world.observe(out)
        numbers = world.spec.groups[0].read_field(out, "observation")[1]
        assert np.array_equal(numbers, gymnasium.spaces.flatten(env.observation_space, shown))
        if world.done[1]:
            break
        world.step(np.ones((2, 1), dtype=np.int64))
        shown, reward, terminated, truncated, _ = env.step(1)
        assert world.columns.reward[1] == reward
        assert (world.columns.terminated[1], world.done[1]) == (terminated, terminated or truncated)


@pytest.fixture
def array_pole():
    """A task with an array environment in the form of Gymnasium's CartPole."""
    pole = gymnasium.envs.classic_control.CartPoleEnv
    vector = "gymnasium.envs.classic_control.cartpole:CartPoleVectorEnv"
    gymnasium.register("ArrayPole-v0", pole, vector_entry_point=vector, max_episode_steps=500)
    yield "ArrayPole-v0"
    gymnasium.registry.pop("ArrayPole-v0")


def test_an_array_environment_is_used_where_there_is_one_and_gives_the_same_episode(array_pole):
    array = build_world(f"gym:{array_pole}", {}, 5)
    plain = build_world(f"gym:{array_pole}", {}, 5)
    assert isinstance(array._tasks, ArrayTasks)
    plain._tasks = LoopTasks(array_pole, 5, 11)
    for world in (array, plain):
        world.reset(np.arange(5))
    for one, other in zip(steps_of(array, 40), steps_of(plain, 40), strict=True):
        assert np.array_equal(one.done, other.done)
        assert np.allclose(one._state.observation, other._state.observation, atol=1e-6)
    assert array.done.any()


@pytest.mark.parametrize("task", ["Acrobot-v1", "Pendulum-v1", "FrozenLake-v1", "CliffWalking-v1"])
def test_a_packed_task_goes_on_exactly(task):
    env, other = (gymnasium.make(task) for _ in range(2))
    env.reset(seed=1)
    other.reset(seed=2)
    env.action_space.seed(0)
    for _ in range(3):
        env.step(env.action_space.sample())
    deserialize_env(other, serialize_env(env) + b"\0\0")
    for _ in range(10):
        action = env.action_space.sample()
        one, two = env.step(action), other.step(action)
        assert np.array_equal(one[0], two[0])
        assert one[1:4] == two[1:4]
        if one[2] or one[3]:
            env.reset()
            other.reset()


def test_continuous_actions_are_chosen_from_bins_of_their_range():
    world = build_world("gym:Pendulum-v1", {"bins": 5}, 1)
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
    with pytest.raises(SettingsError, match=rf"^gym:{task} cannot be copied .* held by Box2D\."):
        check_copyable(task)
    check_copyable("Acrobot-v1")


def test_what_cannot_be_copied_is_named():
    env = gymnasium.make("Acrobot-v1")
    env.reset(seed=0)
    env.unwrapped.body = object()
    with pytest.raises(SettingsError) as caught:
        serialize_env(env)
    assert str(caught.value) == (
        "gym:Acrobot-v1 cannot be copied in the middle of an episode: "
        "its body is a object, not a number."
    )


def test_an_unknown_task_gets_a_hint():
    with pytest.raises(UnknownNameError) as caught:
        build_world("gym:Acrobt-v1", {}, 1)
    assert str(caught.value) == "Gymnasium has no task 'Acrobt-v1'. Did you mean 'Acrobot-v1'?"


MODULE = """
import gymnasium
import numpy as np


class Walk(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-100.0, 100.0, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, length=3, step=1.0):
        if length < 1:
            raise ValueError("a walk has at least one step")
        self.length, self.step_size, self.at = length, step, 0.0

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.at = 0.0
        return np.array([self.at], np.float32), {}

    def step(self, action):
        self.at += self.step_size * action
        done = self.at >= self.length
        return np.array([self.at], np.float32), float(action), done, False, {}


gymnasium.register("Walk-v0", Walk, max_episode_steps=20)
"""


@pytest.fixture
def walk(tmp_path, monkeypatch):
    """A module of a user's, in the folder that they work in: `gym:walks:Walk-v0`."""
    (tmp_path / "walks.py").write_text(MODULE)
    (tmp_path / "needy.py").write_text("import a_package_that_is_not_there\n")
    (tmp_path / "broken.py").write_text("1 / 0\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "gym:walks:Walk-v0"
    gymnasium.registry.pop("Walk-v0", None)
    for name in ("walks", "needy", "broken"):
        sys.modules.pop(name, None)


def test_a_task_of_a_module_is_found_by_the_name_that_gymnasium_uses(walk):
    world = build_world(walk, {}, 2)
    assert world.spec.world == walk
    assert world.spec.max_ticks == 20
    world.reset(np.array([1, 2]))
    for _ in range(3):
        assert not world.done.any()
        world.step(np.array([[1], [0]]))
    assert world.done.tolist() == [True, False]
    assert world.counters()["return"].tolist() == [3.0, 0.0]


def test_keywords_go_to_gymnasium(walk):
    given = {"env_kwargs": {"length": 1, "step": 0.5, "max_episode_steps": 7}}
    world = build_world(walk, given, 1)
    assert world.spec.max_ticks == 7
    world.reset(np.array([1]))
    world.step(np.array([[1]]))
    assert not world.done.any()
    world.step(np.array([[1]]))
    assert world.done.all()


def test_keywords_apply_to_tasks_that_have_an_array_environment():
    """Sutton and Barto pay nothing but -1 for the fall; the array form is told so by no one."""
    world = build_world("gym:CartPole-v1", {"env_kwargs": {"sutton_barto_reward": True}}, 2)
    world.reset(np.array([1, 2]))
    for _ in range(30):
        world.step(np.zeros((2, 1), dtype=np.int64))
    assert world.done.all()
    assert world.counters()["return"].tolist() == [-1.0, -1.0]


WRONG = {
    "an unknown keyword": (
        "gym:walks:Walk-v0", {"lenght": 2}, SettingsError,
        "gym:walks:Walk-v0 cannot be made with the env_kwargs lenght=2. Gymnasium says: TypeError: "
        "Walk.__init__() got an unexpected keyword argument 'lenght' was raised from the "
        "environment creator for Walk-v0 with kwargs ({'lenght': 2}). Did you mean 'length'? "
        "Known: length, step, max_episode_steps.",
    ),
    "a wrong value": (
        "gym:walks:Walk-v0", {"length": 0, "step": 2.0}, SettingsError,
        "gym:walks:Walk-v0 cannot be made with the env_kwargs length=0, step=2.0. Gymnasium says: "
        "ValueError: a walk has at least one step.",
    ),
    "a module that is not there": (
        "gym:wlaks:Walk-v0", {}, UsageError,
        "gym:wlaks:Walk-v0 names the module 'wlaks', which is not found in the working "
        "folder, {here}, nor among the installed packages.",
    ),
    "a module that needs another": (
        "gym:needy:Walk-v0", {}, UsageError,
        "gym:needy:Walk-v0 cannot be used: its module 'needy' needs 'a_package_that_is_not_there', "
        "which is not installed.",
    ),
    "a module that fails": (
        "gym:broken:Walk-v0", {}, UsageError,
        "gym:broken:Walk-v0 cannot be used: importing 'broken' raised ZeroDivisionError: division "
        "by zero.",
    ),
    "a task that the module does not register": (
        "gym:walks:Walks-v0", {}, UnknownNameError,
        "Gymnasium has no task 'Walks-v0' after importing walks. Did you mean 'Walk-v0'?",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_with_a_task_is_said(name, walk, tmp_path):
    world, env_kwargs, kind, message = WRONG[name]
    with pytest.raises(kind) as caught:
        build_world(world, {"env_kwargs": env_kwargs} if env_kwargs else {}, 1)
    assert str(caught.value) == message.replace("{here}", str(tmp_path))


SHORT_TRAINING = [
    "--worlds",
    "2",
    "--rollout-length",
    "8",
    "--steps",
    "16",
    "--slot",
    "main=kin://mlp",
]
COMMANDS = {
    "train": ["train", *SHORT_TRAINING, "--out", "run", "--world"],
    "eval": ["eval", "--slot", "all=kin://random", "--episodes", "2", "--world"],
    "play": ["play", "--slot", "all=kin://random", "--world"],
    "evolve nets": ["evolve", "nets", "--population", "4", "--generations", "1", "--inherit", "env",
                    "--steps", "3", "--out", "run", "--task"],
}  # fmt: skip


@pytest.mark.parametrize(
    "command", [pytest.param("train", marks=pytest.mark.train), "eval", "play", "evolve nets"]
)
def test_every_command_takes_a_task_of_a_module_and_its_keywords(command, walk, capsys):
    def call(*words):
        with pytest.raises(SystemExit) as left:
            main([*COMMANDS[command], *words])
        return left.value.code, capsys.readouterr().err

    code, err = call(walk, "--set", "env_kwargs.length=2")
    assert code == 0, err
    code, err = call(walk, "--set", "env_kwargs.lenght=2")
    assert code == 2
    assert err.startswith("gym:walks:Walk-v0 cannot be made with the env_kwargs lenght=2.")


FAILING = """
import gymnasium
import numpy as np

SHOWN = np.zeros(1, np.float32)


class Failing(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, how):
        self.how = how

    def reset(self, seed=None, options=None):
        if self.how == "reset raises":
            raise KeyError("maps")
        return SHOWN if self.how == "reset without info" else (SHOWN, {})

    def step(self, action):
        if self.how == "step raises":
            raise ValueError("no path")
        if self.how == "four values":
            return SHOWN, 0.0, False, {}
        shown = np.zeros(3, np.float32) if self.how == "another shape" else SHOWN
        reward = {"no number": "high", "not finite": float("nan")}.get(self.how, 0.0)
        return shown, reward, False, False, {}


gymnasium.register("Failing-v0", Failing)
"""
FAILS = {
    "reset raises": "failed in reset: KeyError: 'maps' (failing.py:17 in reset).",
    "reset without info": "must return 2 values from reset (observation, info), not one ndarray "
    "(failing.py:15 in reset).",
    "step raises": "failed in step: ValueError: no path (failing.py:22 in step).",
    "four values": "must return 5 values from step (observation, reward, terminated, truncated, "
    "info), not 4 (failing.py:20 in step).",
    "another shape": "must return observations of 1 number, as its observation_space says, not 3 "
    "(failing.py:20 in step).",
    "no number": "must give a finite number as reward, not 'high', in step 1 (failing.py:20 in step).",
    "not finite": "must give a finite number as reward, not nan, in step 1 (failing.py:20 in step).",
}


@pytest.mark.parametrize("how", FAILS)
def test_an_error_in_a_task_names_the_task_and_its_file_and_line(
    how, tmp_path, monkeypatch, capsys
):
    (tmp_path / "failing.py").write_text(FAILING)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    task = "gym:failing:Failing-v0"
    try:
        with pytest.raises(SystemExit) as left:
            main(["eval", "--world", task, "--episodes", "1", "--set", f"env_kwargs.how={how}"])
    finally:
        gymnasium.registry.pop("Failing-v0", None)
        sys.modules.pop("failing", None)
    assert (left.value.code, capsys.readouterr().err) == (1, f"{task} {FAILS[how]}\n")
