"""Whole episodes in one kernel give the numbers of the episode loop."""

import numpy as np
import pytest

from kinfolk.core.settings import validate_settings
from kinfolk.engines.base import LocalEngine
from kinfolk.fitness.classic import ClassicFitness, find_classic
from kinfolk.fitness.world import HELD_OUT_START, WorldFitness, evaluate_held_out
from kinfolk.jobs.evolve_nets.settings import EvolveNets
from kinfolk.jobs.evolve_nets.state import initial_state

NETS = {
    "feedforward": {"hidden": (5,)},
    "feedforward with normalised inputs": {"hidden": (5,), "normalize": True},
    "recurrent": {"net": "recurrent", "hidden": (4, 3), "normalize": True},
    "dynamic": {"net": "dynamic"},
}


def state_of(task, **settings):
    given = {"task": f"gym:{task}", "population": 6, "matches": 2, **settings}
    state = initial_state(validate_settings(EvolveNets, given))
    for key in range(6):
        state.populations["agent"].mutate(key)
    return state


@pytest.mark.parametrize("head", ["argmax", "tanh"])
@pytest.mark.parametrize("nets", NETS)
@pytest.mark.parametrize("task", ["CartPole-v1", "Acrobot-v1", "MountainCar-v0", "Pendulum-v1"])
def test_a_generation_equals_that_of_the_episode_loop(task, nets, head):
    options = NETS[nets] | {"head": head, "steps": 60}
    one, two = state_of(task, **options), state_of(task, **options)
    assert isinstance(one.fitness, ClassicFitness)
    loop = WorldFitness(two.setup, 4, inherit_env=False, inherit_mem=False)
    for generation in range(2):  # the second begins with running statistics
        ours = one.fitness(one.populations, generation, 5, LocalEngine())
        theirs = loop(two.populations, generation, 5, LocalEngine())
        assert np.array_equal(ours.fitness["agent"], theirs.fitness["agent"])
        assert ours.steps == theirs.steps
    arrays, others = one.populations["agent"].to_arrays(), two.populations["agent"].to_arrays()
    for name, array in arrays.items():
        assert np.array_equal(array, others[name]), name


def test_measures_of_an_archive_are_those_of_the_episode_loop():
    archive = [{"name": "ticks", "low": 0, "high": 9}, {"name": "mean:1", "low": 0, "high": 9}]
    one, two = (state_of("CartPole-v1", archive=archive) for _ in range(2))
    loop = WorldFitness(two.setup, 4, inherit_env=False, inherit_mem=False)
    ours = one.fitness(one.populations, 0, 5, LocalEngine()).measures
    theirs = loop(two.populations, 0, 5, LocalEngine()).measures
    for name in ("ticks", "mean:1"):
        assert np.array_equal(ours[name], theirs[name])


def test_held_out_episodes_equal_those_of_the_episode_loop(monkeypatch):
    state = state_of("CartPole-v1", normalize=True)
    state.fitness(state.populations, 0, 5, LocalEngine())
    nets = state.populations["agent"].nets.select([2])
    arguments = (state.setup, "agent", nets, {}, range(60), LocalEngine())
    ours = evaluate_held_out(*arguments)
    monkeypatch.setattr("kinfolk.fitness.world.find_classic", lambda setup: None)
    assert np.array_equal(ours, evaluate_held_out(*arguments))
    assert HELD_OUT_START == 1 << 40


@pytest.mark.parametrize(
    "settings",
    [
        {"head": "softmax_sample"},
        {"inherit": ("env",), "steps": 5},
        {"inherit": ("mem",), "net": "recurrent"},
        {"fitness": {"agent": "life"}},
        {"world_settings": {"env_kwargs": {"sutton_barto_reward": True}}},
        {"archive": [{"name": "return", "low": 0, "high": 9}]},
    ],
)
def test_where_the_kernel_does_not_apply_the_loop_plays(settings):
    assert isinstance(state_of("CartPole-v1", **settings).fitness, WorldFitness)


def test_tasks_of_others_are_played_by_the_loop():
    assert find_classic(state_of("CartPole-v1").setup) is not None
    assert find_classic(state_of("FrozenLake-v1").setup) is None
