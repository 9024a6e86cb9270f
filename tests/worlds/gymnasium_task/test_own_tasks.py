"""Environments that users bring, and tasks that cannot be copied."""

import threading
from collections import deque

import gymnasium
import numpy as np
import pytest

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
    assert str(caught.value) == (
        f"{name} must return numbers as observation, not NaN: number 1 of 3 is NaN in step 2."
    )


@pytest.mark.more
def test_an_own_task_with_a_lock_and_a_deque_is_learnt(tmp_path):
    result = kf.train(Queue, steps=12_000, out=tmp_path / "run")
    assert result.score > 7.5  # of 8; chance is 4
