"""The benchmarks of CogsGuard, made small: their figures hang together."""

from contextlib import closing

import pytest

from kinfolk.bench import roles, worlds
from kinfolk.core.settings import validate_settings
from kinfolk.engines.base import LocalEngine
from kinfolk.jobs.evolve_roles.racing import learn_from_race, run_race
from kinfolk.jobs.evolve_roles.settings import EvolveRoles
from kinfolk.jobs.evolve_roles.start import prepare
from kinfolk.jobs.evolve_roles.state import RoleEvolutionState


def test_role_play_is_timed_over_whole_games():
    found = roles.measure_roles("tutorial", 2, roles.SMART_URI, max_steps=60)
    assert (found["worlds"], found["agents"], found["ticks"]) == (2, 4, 60)
    assert len(found["by_part"]) == roles.PARTS
    harmonic = roles.PARTS / sum(1 / part for part in found["by_part"])
    assert found["agent_steps_per_s"] == pytest.approx(harmonic, rel=0.05)


def test_role_play_is_timed_tick_by_tick_and_in_one_kernel():
    found = roles.measure_fused_roles("tutorial", 2, roles.SMART_URI, max_steps=60)
    assert (found["worlds"], found["agents"], found["ticks"]) == (2, 4, 60)
    rates = found["fused_agent_steps_per_s"], found["agent_steps_per_s"]
    assert found["speed_up"] == rates[0] / rates[1] > 0


def test_the_engine_is_timed_with_and_without_observations():
    found = worlds.measure_cogsguard(2, "tutorial", ticks=5, repeats=1)
    assert found["rules"] > found["whole"] > 0
    assert found["bytes_per_world"] > 10_000


def test_engines_take_turns_over_the_same_generations(monkeypatch):
    settings = validate_settings(
        EvolveRoles,
        {
            "preset": "tutorial",
            "world_settings": {"max_steps": 20, "agents": 2},
            "generations": 3,
            "racing": (1,),
            "n_teams": 2,
            "replay_every": 0,
        },
    )
    made, turns = [], []

    class Watched(LocalEngine):
        def map(self, function, items):
            turns.append(made.index(self))
            return super().map(function, items)

    def make(name, jobs):
        made.append(Watched())
        return made[-1]

    monkeypatch.setattr(roles, "make_engine", make)
    found = roles.time_engines([("local", 1), ("processes", 2)], settings)
    assert [len(seconds) for seconds in found] == [2, 2], "the first is not counted"
    assert all(taken > 0 for seconds in found for taken in seconds)
    assert turns == [0, 1, 0, 1, 0, 1]


def test_small_generations_have_ten_games(monkeypatch):
    settings = roles.make_small_settings(4)
    settings = settings.model_copy(
        update={"preset": "tutorial", "world_settings": {"max_steps": 20}}
    )
    played = []
    state, _ = prepare(settings, None)
    play = RoleEvolutionState.play_games

    def count(self, engine, seed, games):
        played.append(len(games))
        return play(self, engine, seed, games)

    monkeypatch.setattr(RoleEvolutionState, "play_games", count)
    with closing(LocalEngine()) as engine:
        for number in range(3):
            learn_from_race(state, run_race(state, engine, number), number)
    assert played == [roles.SMALL_GAMES] * 3
