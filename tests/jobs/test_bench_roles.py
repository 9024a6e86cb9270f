"""The benchmarks of CogsGuard, made small: their figures hang together."""

import pytest

from kinfolk.core.settings import read
from kinfolk.engines.local import Local
from kinfolk.jobs import bench_cogs, bench_role_job, bench_roles
from kinfolk.jobs.role_settings import EvolveRoles


def test_role_play_is_timed_over_whole_games():
    found = bench_roles.measure("tutorial", 2, bench_roles.SMART, max_steps=60)
    assert (found["worlds"], found["agents"], found["ticks"]) == (2, 4, 60)
    assert len(found["by_part"]) == bench_roles.PARTS
    harmonic = bench_roles.PARTS / sum(1 / part for part in found["by_part"])
    assert found["agent_steps_per_s"] == pytest.approx(harmonic, rel=0.05)


def test_the_engine_is_timed_with_and_without_observations():
    found = bench_cogs.measure(2, "tutorial", ticks=5, repeats=1)
    assert found["rules"] > found["whole"] > 0
    assert found["bytes_per_world"] > 10_000


def test_engines_take_turns_over_the_same_generations(monkeypatch):
    settings = read(
        EvolveRoles,
        {
            "preset": "tutorial",
            "world_settings": {"max_steps": 20, "agents": 2},
            "generations": 3,
            "games_per_generation": 4,
            "lineups": 1,
            "showcase_every": 0,
        },
    )
    made, turns = [], []

    class Watched(Local):
        def map(self, function, items):
            turns.append(made.index(self))
            return super().map(function, items)

    def make(name, jobs):
        made.append(Watched())
        return made[-1]

    monkeypatch.setattr(bench_role_job, "make_engine", make)
    found = bench_role_job.side_by_side([("local", 1), ("processes", 2)], settings)
    assert [len(seconds) for seconds in found] == [2, 2], "the first is not counted"
    assert all(taken > 0 for seconds in found for taken in seconds)
    assert turns == [0, 1, 0, 1, 0, 1]
