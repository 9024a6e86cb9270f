"""The gates of neuroevolution: what must be reached, over three seeds, and what must not."""

import statistics

import pytest

from kinfolk.core.events import Event
from kinfolk.core.settings import validate_settings
from kinfolk.engines.base import LocalEngine
from kinfolk.jobs.evolve_nets.job import evolve_nets
from kinfolk.jobs.evolve_nets.settings import EvolveNets

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
CENTRE = {
    "population": 64,
    "hidden": (16,),
    "goal": 475,
    "goal_of": "center",
    "held_out_episodes": 100,
}
ELMAN = {
    "algorithm": "ga", "net": "recurrent", "hidden": (50,), "zero_init": True, "population": 64, "generations": 100,
    "goal": 450, "goal_of": "mean", "held_out_episodes": 0,
}  # fmt: skip
DYNAMIC = {
    "net": "dynamic", "population": 32, "generations": 80, "matches": 8, "elites": 2,
    "selection": "tournament", "tournament_size": 4, "goal": 450, "goal_of": "mean", "held_out_episodes": 0,
}  # fmt: skip
ACROBOT = {
    "algorithm": "ga", "task": "gym:Acrobot-v1", "net": "recurrent", "hidden": (16,), "zero_init": True,
    "population": 40, "held_out_episodes": 20, "chunk_size": 40,
}  # fmt: skip
ADVERSARIAL = {
    "adversarial": "kin://cartpole", "population": 64, "hidden": (16,), "matches": 4, "sigma": 0.1,
    "generations": 100, "goal": 500, "goal_of": "elite", "held_out_episodes": 20,
}  # fmt: skip


def events_of(settings):
    return [
        e
        for e in evolve_nets(validate_settings(EvolveNets, settings), LocalEngine())
        if isinstance(e, Event)
    ]


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(
    "gate",
    [
        CENTRE | {"algorithm": "cma", "generations": 20},
        CENTRE | {"algorithm": "sep-cma", "generations": 20},
        CENTRE | {"algorithm": "openai-es", "generations": 35},
        ELMAN,
        DYNAMIC,
        ADVERSARIAL,
    ],
    ids=["cma", "sep-cma", "openai-es", "elman", "dynamic", "adversarial"],
)
def test_the_goal_is_reached(gate, seed):
    assert events_of(gate | {"seed": seed})[-1].goal_reached


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(
    ("task", "level"),
    [("CartPole-v1", 475), ("Acrobot-v1", -100), ("MountainCar-v0", -150), ("Pendulum-v1", -400)],
)
def test_the_defaults_solve_classic_control(task, level, seed):
    ended = events_of({"task": f"gym:{task}", "seed": seed})[-1]
    assert ended.held_out["agent"].mean > level


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(
    "control",
    [ELMAN | {"sigma": 0.1}, DYNAMIC | {"keep_running_stats": False}],
    ids=["a large sigma", "calibration dropped at selection"],
)
def test_the_goal_is_not_reached_without_what_makes_it_work(control, seed):
    assert not events_of(control | {"seed": seed})[-1].goal_reached


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_inherited_worlds_and_fitness_need_a_third_of_the_ticks(seed):
    baseline = events_of(ACROBOT | {"generations": 20, "held_out_every": 1, "seed": seed})
    held_out = [event for event in baseline if event.kind == "held_out"]
    scores = [event.score.mean for event in held_out if event.individual == "elite"]
    level, ticks = statistics.median(scores[-5:]), baseline[-1].steps
    children = ACROBOT | {
        "inherit": ("env", "fit"),
        "steps": 50,
        "held_out_every": 2,
        "goal": level,
    }
    generations = max(2, ticks // 3 // (40 * 50))
    assert events_of(children | {"generations": generations, "seed": seed})[-1].goal_reached, (
        level,
        ticks,
    )
