"""Ticks that are played in one kernel give what the episode loop gives, tick by tick."""

import numpy as np
import pytest

from kinfolk.play.loop import EpisodeLoop
from kinfolk.play.task import EpisodeRunner, Observer, RolloutTask, WorldRef, run_task
from kinfolk.policies.base import allocate_memory
from kinfolk.policies.resolve import resolve
from kinfolk.policies.scripted.cogsguard.catalog import cogs_catalog
from kinfolk.policies.scripted.cogsguard.role_policy import RolePolicy

TEAM = "kin://roles?miner=3&scout=1&aligner=2&scrambler=2"
TICKS = 120


class TickByTick(Observer):
    """Reads every tick, so that nothing is fused."""

    def before_step(self):
        pass

    def finish(self):
        return None


class Moments(Observer):
    """Reads junction-ticks at tick 40 and at the end; the other ticks need not be told."""

    def start(self):
        self.ticks, self.calls, self.found = 0, 0, []

    def count_free_ticks(self):
        return 39 - self.ticks if self.ticks < 40 else 1000

    def skip_ticks(self, n_ticks):
        self.ticks += n_ticks

    def after_step(self, ended):
        self.ticks, self.calls = self.ticks + 1, self.calls + 1
        if self.ticks == 40:
            self.found.append(self.world.counters()["junction_ticks_team_0"].tolist())
        return ended

    def finish(self):
        end = self.world.counters()["junction_ticks_team_0"].tolist()
        return [*self.found, end], self.ticks, self.calls


def make_task(preset="arena", uri=TEAM, world=(), **more):
    ref = WorldRef("cogsguard", preset, {"max_steps": TICKS, **dict(world)})
    episodes = more.pop("episodes", range(5))
    return RolloutTask(ref, {"cogs": resolve(uri)}, 7, episodes, keep_snapshot=True, **more)


def stretches(monkeypatch):
    """Lengths of the stretches of ticks that are played in one kernel from now on."""
    lengths, play = [], EpisodeLoop.play_ticks

    def record(self, most):
        n_ticks, ended = play(self, most)
        lengths.append(n_ticks)
        return n_ticks, ended

    monkeypatch.setattr(EpisodeLoop, "play_ticks", record)
    return lengths


def assert_equal(fused, stepped):
    assert list(fused.episodes) == list(stepped.episodes)
    assert fused.ticks.tolist() == stepped.ticks.tolist()
    for name, by_slot in stepped.totals.items():
        assert fused.totals[name]["cogs"].tolist() == by_slot["cogs"].tolist(), name
    assert set(fused.snapshot) == set(stepped.snapshot)
    for name, array in stepped.snapshot.items():
        assert np.array_equal(fused.snapshot[name], array), name
    for name, values in stepped.counters.items():
        assert fused.counters[name].tolist() == values.tolist(), name


@pytest.mark.parametrize("uri", [TEAM, "kin://smart", "kin://roles?miner=2&aligner=3"])
@pytest.mark.parametrize("preset", ["arena", "edition_a", "as_released_f"])
def test_fused_ticks_give_the_results_and_the_state_of_the_loop(preset, uri):
    # Five episodes in three worlds: two begin while others end, and a world is idle at the end.
    task = {"preset": preset, "uri": uri, "worlds": 3, "log_agents": True}
    assert_equal(run_task(make_task(**task)), run_task(make_task(**task, observer=TickByTick)))


def test_all_ticks_of_an_episode_but_the_first_are_one_stretch(monkeypatch):
    lengths = stretches(monkeypatch)
    run_task(make_task(worlds=3))
    assert lengths == [0, TICKS - 1, 0, TICKS - 1]
    lengths.clear()
    run_task(make_task(worlds=3, observer=TickByTick))
    assert set(lengths) == {0}


def test_a_task_that_is_cut_and_continued_from_its_snapshot_ends_alike():
    whole = run_task(make_task(episodes=range(3)))
    part = run_task(make_task(episodes=range(3), max_ticks=50))
    assert part.ticks.tolist() == [50, 50, 50]
    rest = run_task(make_task(episodes=range(3), snapshot=part.snapshot))
    assert list(rest.episodes) == list(whole.episodes)
    assert all(np.array_equal(rest.snapshot[name], whole.snapshot[name]) for name in whole.snapshot)


def test_an_observer_that_names_its_moments_sees_them_and_the_end():
    found, ticks, calls = run_task(make_task(episodes=range(3), observer=Moments)).observed
    runner = EpisodeRunner(make_task(episodes=range(3)))
    for _ in range(40):
        runner.tick()
    middle = runner.world.counters()["junction_ticks_team_0"].tolist()
    for _ in range(TICKS - 40):
        runner.tick()
    assert found == [middle, runner.world.counters()["junction_ticks_team_0"].tolist()]
    assert (ticks, calls) == (TICKS, 3)  # the first tick, the 40th and the last


@pytest.mark.parametrize(
    ("world", "uri"), [({"temple": True}, TEAM), ({"max_steps": 20}, "kin://random")]
)
def test_births_and_other_policies_are_played_tick_by_tick(world, uri, monkeypatch):
    lengths = stretches(monkeypatch)
    run_task(make_task(uri=uri, world=world, episodes=range(2), max_ticks=20))
    assert set(lengths) == {0}


def test_explanations_are_recorded_tick_by_tick(monkeypatch):
    lengths = stretches(monkeypatch)
    runner = EpisodeRunner(make_task(episodes=range(2), max_ticks=20))
    runner.observer.slots[0].policy.enable_explanations(True)
    runner.run()
    assert set(lengths) == {0}


def test_behaviors_in_plain_python_are_played_tick_by_tick():
    catalog = cogs_catalog()
    world = WorldRef("cogsguard", "arena").build(1)
    rows = np.zeros((8, world.spec.row_bytes), dtype=np.uint8), np.zeros((8, 2), dtype=np.int64)
    for name, is_fused in ((None, True), ("nap", False)):
        if name is not None:
            hooks = {"can_start": bool, "act": bool, "should_terminate": bool}
            catalog.add_behavior(name=name, source="common", **hooks)
        policy = RolePolicy(world.spec, catalog)
        memory = allocate_memory(policy.memory_layout, 8)
        player = policy.make_fused_player(world, memory, *rows)
        assert (player is not None) == is_fused
