"""Environments that users bring, and tasks that cannot be copied."""

import threading
from collections import deque
from functools import partial

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

import kinfolk as kf
from kinfolk.core.errors import ContractError, SettingsError
from kinfolk.core.events import Snapshot
from kinfolk.core.settings import validate_settings
from kinfolk.engines.base import LocalEngine
from kinfolk.engines.processes import ProcessEngine
from kinfolk.jobs.train.job import train
from kinfolk.jobs.train.settings import Train
from kinfolk.testing.contracts.job import event_lines
from kinfolk.worlds import build_world


class Queue(gymnasium.Env):
    """Shows the last three bits; the agent is rewarded for repeating the oldest of them."""

    observation_space = gymnasium.spaces.Box(0.0, 1.0, (3,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, length=8):
        self.length, self.lock, self.bits = length, threading.Lock(), deque(maxlen=3)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.bits.extend(self.np_random.integers(0, 2, 3).tolist())
        self.age = 0
        return np.array(self.bits, np.float32), {}

    def step(self, action):
        with self.lock:
            reward = float(action == self.bits[0])
            self.bits.append(int(self.np_random.integers(0, 2)))
            self.age += 1
        return np.array(self.bits, np.float32), reward, self.age >= self.length, False, {}


TASK = f"gym:{__name__}:Queue"
SMALL = {"world": TASK, "worlds": 4, "rollout_length": 11, "steps": 132, "checkpoint_every": 1,
         "slots": {"main": "kin://mlp?hidden=[16]"}, "ppo": {"n_epochs": 1}}  # fmt: skip


def test_a_class_is_a_world_by_its_import_path():
    assert kf.register_env(Queue) == TASK
    world = kf.make(TASK, worlds=2, settings={"env_kwargs": {"length": 2}})
    for _ in range(2):
        world.step(np.zeros((2, 1), np.int64))
    assert world.done.tolist() == [True, True]


def test_an_instance_or_a_function_of_this_process_is_a_world():
    for source in (Queue(length=2), lambda length=2: Queue(length)):
        name = kf.register_env(source)
        assert name.startswith("gym:local/")
        assert kf.register_env(source) == name
    world = kf.make(name, worlds=1)
    world.step(np.zeros((1, 1), np.int64))
    assert not world.done[0]
    world.step(np.zeros((1, 1), np.int64))
    assert world.done[0]


def test_wrong_environments_are_refused_with_the_reason():
    with pytest.raises(SettingsError) as caught:
        kf.register_env(3)
    assert str(caught.value) == (
        "An environment is a gymnasium.Env, its class or a function that makes one, not 3."
    )
    name = kf.register_env(dict)
    with pytest.raises(SettingsError) as caught:
        kf.make(name, worlds=1)
    assert str(caught.value) == f"{name} must make a gymnasium.Env, not one dict."
    with pytest.raises(SettingsError) as caught:
        build_world("gym:local/Lost-1", {}, 1)
    assert str(caught.value) == (
        "gym:local/Lost-1 is an environment of another process. Pass kf.train the environment again "
        "or, for --engine processes and for --resume, a class or function that can be imported."
    )
    name = kf.register_env(Queue())
    with pytest.raises(SettingsError, match=r"is an instance that cannot be copied \(TypeError: "):
        build_world(name, {}, 2)
    with pytest.raises(SettingsError, match=r"with the env_kwargs lenght=3: TypeError: .*lenght"):
        build_world(TASK, {"env_kwargs": {"lenght": 3}}, 1)


def test_a_snapshot_of_such_a_task_is_an_error_unless_it_is_kept_alive():
    world = kf.make(TASK, worlds=2)
    with pytest.raises(SettingsError) as caught:
        world.snapshot()
    assert str(caught.value) == (
        "gym:Queue cannot be copied in the middle of an episode: its lock is a lock, not a number."
    )
    assert world.find_copy_problem() == str(caught.value)
    assert kf.make("gym:Acrobot-v1").find_copy_problem() == ""


def test_parked_tasks_go_on_where_they_were_once():
    world = kf.make(TASK, worlds=2)
    world.keeps_tasks_alive = True
    for _ in range(3):
        world.step(np.zeros((2, 1), np.int64))
    snapshot = world.snapshot()
    world.reset(np.array([5, 6]))  # other episodes, in other environments
    world.restore(snapshot)
    assert not world.lost_tasks
    for _ in range(5):
        assert not world.done.any()
        world.step(np.zeros((2, 1), np.int64))
    assert world.done.all()
    world.restore(snapshot)
    assert world.lost_tasks
    assert world.done.all()


def trained(engine, **changes):
    settings = validate_settings(Train, {**SMALL, **changes})
    items = list(train(settings, engine))
    return items, [item for item in items if isinstance(item, Snapshot)]


def test_a_training_keeps_such_tasks_alive_between_updates():
    items, _ = trained(LocalEngine())
    assert not [item for item in items if getattr(item, "kind", "") == "episodes_restarted"]
    ended = [item for item in items if getattr(item, "kind", "") == "update_done"]
    assert [item.length for item in ended] == [8.0, 8.0, 8.0]  # episodes go on in the next rollout


@pytest.mark.more
def test_each_chunk_stays_in_its_worker_and_gives_the_same_numbers():
    engine = ProcessEngine(2)
    try:
        apart, _ = trained(engine, n_chunks=2)
    finally:
        engine.close()
    together, _ = trained(LocalEngine(), n_chunks=2)
    assert event_lines(apart) == event_lines(together)


def test_resumed_episodes_begin_anew_and_the_run_says_so():
    items, snapshots = trained(LocalEngine())
    settings = validate_settings(Train, SMALL)
    rest = list(train(settings, LocalEngine(), snapshots[0]))
    assert (rest[0].kind, rest[0].episodes) == ("episodes_restarted", 4)
    assert rest[-1].step == items[-1].step
    assert not [i for i in rest[1:] if getattr(i, "kind", "") == "episodes_restarted"]


def test_engines_without_fixed_workers_are_refused():
    class Other:
        jobs = 2

        def share(self, value):
            return LocalEngine().share(value)

    with pytest.raises(SettingsError) as caught:
        trained(Other())
    assert str(caught.value) == (
        "gym:Queue cannot be copied in the middle of an episode: its lock is a lock, not a number. "
        "Train it with --engine local or processes, whose workers can keep it alive."
    )


def test_nan_in_an_observation_names_task_number_and_step():
    class Broken(Queue):
        def step(self, action):
            shown, *others = super().step(action)
            if self.age == 2:
                shown[1] = np.nan
            return shown, *others

    world = kf.make(kf.register_env(Broken), worlds=1)
    name = world.spec.world
    world.step(np.zeros((1, 1), np.int64))
    with pytest.raises(ContractError) as caught:
        world.step(np.zeros((1, 1), np.int64))
    line = Broken.step.__code__.co_firstlineno
    assert str(caught.value) == (
        f"{name} must return numbers as observation, not NaN: observation[1] is NaN in step 2 "
        f"(test_own_tasks.py:{line} in step)."
    )


class Weather(gymnasium.Env):
    """Returns what it is told to, after two steps."""

    observation_space = gymnasium.spaces.Dict(
        goal=gymnasium.spaces.Discrete(3), wind=gymnasium.spaces.Box(-1.0, 1.0, (2, 2))
    )
    action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,))

    def __init__(self, wind=0.0, reward=0.0):
        self.late = wind, reward

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.age = 0
        return {"goal": 1, "wind": np.zeros((2, 2), np.float32)}, {}

    def step(self, action):
        self.age += 1
        wind, reward = self.late if self.age == 3 else (0.0, 0.0)
        shown = {"goal": 1, "wind": np.array([[0.0, 0.0], [wind, 0.0]], np.float32)}
        return shown, reward, self.age >= 5, False, {}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("wind", "must return numbers as observation, not NaN: observation['wind'][1, 0] is NaN in "
                 "step 3"),
        ("reward", "must give a finite number as reward, not nan, in step 3"),
    ],
)  # fmt: skip
def test_a_training_stops_at_nan_and_names_task_field_step_file_and_line(wrong, message, tmp_path):
    with pytest.raises(ContractError) as caught:
        kf.train(Weather, env_kwargs={wrong: float("nan")}, steps=64, worlds=2, out=tmp_path / "r")
    line = Weather.step.__code__.co_firstlineno
    name = kf.register_env(Weather)
    assert str(caught.value) == f"{name} {message} (test_own_tasks.py:{line} in step)."


@pytest.mark.parametrize("which", ["action_space", "observation_space"])
def test_an_unsupported_space_names_the_users_file_and_line(which):
    names = gymnasium.spaces.Sequence(gymnasium.spaces.Discrete(2))
    env = type("Words", (Weather,), {which: names})
    supported = {
        "action_space": "only Discrete, MultiDiscrete, MultiBinary and Box spaces are supported",
        "observation_space": "only spaces of a fixed number of numbers are supported: Box, Discrete, "
        "MultiDiscrete, MultiBinary, Text, and Dict and Tuple of them",
    }
    name = kf.register_env(env)
    with pytest.raises(SettingsError) as caught:
        kf.train(env, steps=64)
    line = Weather.step.__code__.co_firstlineno
    assert str(caught.value) == (
        f"{name} has the {which.replace('_', ' ')} {names}; {supported[which]} "
        f"(test_own_tasks.py:{line} in step)."
    )


class OldReset(Weather):
    """Has the reset of an older interface."""

    def reset(self):
        return {"goal": 1, "wind": np.zeros((2, 2), np.float32)}


class Unfinished(gymnasium.Env):
    """Has neither spaces nor methods yet."""


def test_methods_of_another_interface_and_missing_ones_are_blamed_on_the_users_class():
    name = kf.register_env(OldReset)
    with pytest.raises(ContractError) as caught:
        kf.Trainer(OldReset, worlds=1).collect()
    assert str(caught.value) == (
        f"{name} failed in reset: TypeError: OldReset.reset() got an unexpected keyword argument "
        f"'seed' (test_own_tasks.py:{OldReset.reset.__code__.co_firstlineno} in reset)."
    )
    with pytest.raises(SettingsError) as caught:
        kf.make(kf.register_env(Unfinished))
    assert " has no observation_space; " in str(caught.value)
    assert str(caught.value).endswith(f"of them (class Unfinished of {__name__}).")


class Countdowns(gymnasium.vector.VectorEnv):
    """Tasks that count down from a random number; the reward is 1 for naming the parity."""

    metadata = {"autoreset_mode": AutoresetMode.DISABLED}  # noqa: RUF012

    def __init__(self, num_envs=1, most=9):
        self.num_envs, self.most = num_envs, most
        self.single_observation_space = gymnasium.spaces.Box(0.0, 99.0, (1,), np.float32)
        self.single_action_space = gymnasium.spaces.Discrete(2)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.left = np.zeros(num_envs, np.int64)

    def reset(self, *, seed=None, options=None):
        mask = (options or {}).get("reset_mask", np.ones(self.num_envs, bool))
        for i in np.flatnonzero(mask):
            self.left[i] = np.random.default_rng(seed[i]).integers(3, self.most)
        return self.left[:, None].astype(np.float32), {}

    def step(self, actions):
        assert (self.left > 0).all(), "an ended task was stepped"
        reward = (actions == self.left % 2).astype(np.float64)
        self.left -= 1
        ended = self.left == 0
        return self.left[:, None].astype(np.float32), reward, ended, np.zeros_like(ended), {}


def test_a_vector_environment_is_trained_like_single_ones(tmp_path):
    settings = {"worlds": 4, "rollout_length": 16, "steps": 256, "ppo": {"n_epochs": 1}}
    result = kf.train(Countdowns, env_kwargs={"most": 6}, out=tmp_path / "run", **settings)
    assert (result.step, result.episodes > 30) == (256, True)
    base = {"slots": {"all": f"run:{tmp_path / 'run'}"}, "episodes": 7}
    world = kf.register_env(Countdowns)
    one = kf.evaluate(world, **base)
    assert one.returns == kf.evaluate(world, **base, engine="processes", jobs=2).returns


def test_gymnasiums_own_vector_environments_play_the_same_episodes(tmp_path):
    make = partial(
        gymnasium.make_vec, "Acrobot-v1", vectorization_mode="sync",
        vector_kwargs={"autoreset_mode": AutoresetMode.DISABLED},
    )  # fmt: skip
    alone, vector = (kf.make(name, worlds=3) for name in ("gym:Acrobot-v1", kf.register_env(make)))
    for world in (alone, vector):
        world.reset(np.array([5, 6, 7]))
        for _ in range(3):
            world.step(np.array([[0], [2], [1]]))
        world.reset(np.array([8]), np.array([1]))
        world.step(np.array([[0], [2], [1]]))
    assert np.array_equal(alone._state.observation, vector._state.observation)
    assert "it is a vector environment" in vector.find_copy_problem()


def test_vector_environments_that_reset_themselves_are_refused():
    make = partial(gymnasium.make_vec, "CartPole-v1", vectorization_mode="sync")
    with pytest.raises(SettingsError, match="has the autoreset mode NEXT_STEP; every episode must"):
        kf.make(kf.register_env(make), worlds=2)
    with pytest.raises(SettingsError, match=r"Pass its class or a function of num_envs\.$"):
        kf.register_env(Countdowns(2))
    with pytest.raises(SettingsError, match=r"was asked for 3 environments, and made 2\.$"):
        kf.make(kf.register_env(lambda num_envs: Countdowns(min(num_envs, 2))), worlds=3)


@pytest.mark.more
def test_an_own_task_with_a_lock_and_a_deque_is_learnt(tmp_path):
    result = kf.train(Queue, steps=12_000, out=tmp_path / "run")
    assert result.score > 7.5  # of 8; chance is 4
