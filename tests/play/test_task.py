"""Rollout tasks: equal results however they are split, and no other way to play episodes."""

import ast
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

import kinfolk
from kinfolk.engines.base import LocalEngine
from kinfolk.jobs.evaluate import EpisodePlayed
from kinfolk.play.loop import EpisodeLoop
from kinfolk.play.results import (
    AGENT_COLUMNS,
    NOTE_FIELDS,
    SCALAR_FIELDS,
    TABLE_FIELDS,
    AgentRecord,
    EpisodeResult,
)
from kinfolk.play.task import EpisodeRunner, Observer, RolloutTask, WorldRef, reuse_world, run_task
from kinfolk.policies.resolve import resolve

SOURCES = Path(kinfolk.__file__).parent
PLAIN = {"g": resolve("kin://probe-python"), "h": resolve("kin://random")}
TASK = RolloutTask(WorldRef("probe"), PLAIN, 3, range(5), {"hunter": "h"})


def calls(folder=""):
    """Every call in the sources as (file, called, call)."""
    for path in sorted((SOURCES / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                yield path.relative_to(SOURCES).as_posix(), ast.unparse(node.func), node


def test_the_episode_loop_is_constructed_in_one_place():
    name = EpisodeLoop.__name__
    assert [file for file, called, _ in calls() if called.split(".")[-1] == name] == [
        "play/task.py"
    ]
    for path in SOURCES.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            for alias in node.names if isinstance(node, ast.ImportFrom) else ():
                assert alias.name != name or alias.asname is None, f"{path} renames the loop"


def test_engines_are_handed_tasks_and_nothing_else():
    """Imitation runs nets over recorded trajectories; classic tasks play whole episodes as arrays."""
    mapped = {
        ast.unparse(node.args[0])
        for folder in ("jobs", "evaluation", "fitness", "training")
        for file, called, node in calls(folder)
        if called.endswith("engine.map") and "bench" not in file
    }
    tasks = {
        "run_task",
        "run_evaluation",
        "score_imitation",
        "score_discrimination",
        "play_classic",
    }
    assert mapped == tasks | {"run_point", "run_study_point", "task", "run"}, (
        "a point of a sweep or a study is a job; training and matches pass on"
    )


@pytest.mark.parametrize("worlds", [None, 1, 3])
def test_results_come_in_the_order_of_the_episodes_whatever_world_played_them(worlds):
    numbers = [7, 2, 9, 0]
    result = run_task(replace(TASK, episodes=numbers, worlds=worlds))
    assert [episode.episode for episode in result.episodes] == numbers
    assert result.episodes == run_task(replace(TASK, episodes=numbers)).episodes


def test_a_task_that_goes_on_from_a_snapshot_ends_as_one_that_never_stopped():
    whole = run_task(TASK)
    part = replace(TASK, max_ticks=9, keep_snapshot=True)
    results = [run_task(part)]
    while len(results[-1].episodes) < 5 and results[-1].ticks.any():
        results.append(run_task(replace(part, snapshot=results[-1].snapshot)))
    ended = sorted((e for r in results for e in r.episodes), key=lambda e: e.episode)
    assert ended == list(whole.episodes)
    for table in ("returns", "lives", "ticks_lived"):
        for slot in PLAIN:
            gained = sum(result.totals[table][slot] for result in results)
            assert gained.tolist() == pytest.approx(whole.totals[table][slot].tolist())
    assert sum(result.ticks for result in results).tolist() == whole.ticks.tolist()
    assert whole.ticks.tolist() == [episode.ticks for episode in whole.episodes]
    assert whole.counters["births"].tolist() == [e.counters["births"] for e in whole.episodes]


def test_tasks_that_share_policies_are_played_by_one_runner(monkeypatch):
    built = []
    make = Observer.build_slots
    monkeypatch.setattr(Observer, "build_slots", lambda self: built.append(1) or make(self))
    shared = replace(
        TASK, policies=LocalEngine().share(dict(PLAIN)), max_ticks=9, keep_snapshot=True
    )
    apart = replace(TASK, max_ticks=9, keep_snapshot=True)
    first, alone = run_task(shared), run_task(apart)
    for _ in range(3):
        first = run_task(replace(shared, snapshot=first.snapshot))
        alone = run_task(replace(apart, snapshot=alone.snapshot))
        assert first.episodes == alone.episodes
        assert first.snapshot.keys() == alone.snapshot.keys()
        names = [name for name in first.snapshot if not name.startswith("world/")]
        assert "row_state/uid" in names
        for name in names:  # a world that is used again has other leftovers where nothing is
            assert np.array_equal(first.snapshot[name], alone.snapshot[name]), name
    assert len(built) == 1 + 4, "once for all that share, and once for each of the others"


def test_a_world_that_is_used_again_plays_as_a_new_one():
    assert reuse_world(TASK.world, 5) is reuse_world(WorldRef("probe", None, {}), 5)
    again = [run_task(replace(TASK, seed=seed)).episodes for seed in (1, 3)][1]
    with EpisodeRunner(TASK) as fresh:
        assert fresh.run().episodes == again


def test_agents_are_logged_if_they_are_wanted():
    assert not any(result.agents or result.group_returns for result in run_task(TASK).episodes)
    for result in run_task(replace(TASK, log_agents=True)).episodes:
        agents = [AgentRecord(*row) for row in zip(*result.agents.values(), strict=True)]
        assert [agent.uid for agent in agents] == sorted(agent.uid for agent in agents)
        for index, slot in enumerate(PLAIN):
            mine = [agent for agent in agents if agent.slot == index]
            acted = [agent for agent in mine if agent.ticks]  # else born in the last tick
            assert len(acted) == result.lives[slot]
            assert sum(agent.ticks for agent in mine) == result.ticks_lived[slot]
            assert sum(agent.total_reward for agent in mine) == pytest.approx(result.returns[slot])
        assert list(result.group_returns) == ["grazer", "hunter"]


class Noting(Observer[list[str]]):
    """Notes when it is called, and marks every result."""

    def start(self):
        self.noted = [f"start {int(self.loop.idle.sum())}"]

    def before_step(self):
        self.noted.append(f"before {int(self.world.tick[0])}")

    def after_step(self, ended):
        self.noted.append(f"after {int(self.world.tick[0])}")
        return [replace(result, never_acted=("g",)) for result in ended]

    def finish(self):
        return self.noted


def test_an_observer_sees_the_worlds_before_and_after_each_step():
    result = run_task(replace(TASK, max_ticks=2, observer=Noting))
    assert result.observed == ["start 5", "before 0", "after 1", "before 1", "after 2"]
    whole = run_task(replace(TASK, observer=Noting))
    assert [episode.never_acted for episode in whole.episodes] == [("g",)] * 5


def test_every_field_of_a_result_has_its_place_in_columns_and_events():
    names = [field.name for field in fields(EpisodeResult)]
    assert sorted(names) == sorted([*SCALAR_FIELDS, *TABLE_FIELDS, "agents", *NOTE_FIELDS])
    assert SCALAR_FIELDS == ("episode", "ticks", "max_ticks", "full_length", "seed")
    assert NOTE_FIELDS == ("failures", "never_acted", "invalid_actions")
    assert {field.name for field in fields(EpisodePlayed)} == {*names, "step"}
    assert {
        **dict.fromkeys(AgentRecord._fields, "int64"),
        "total_reward": "float64",
    } == AGENT_COLUMNS
