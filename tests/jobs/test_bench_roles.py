"""The benchmarks of CogsGuard, made small: their figures hang together."""

import pytest

from kinfolk.jobs import bench_cogs, bench_roles


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
