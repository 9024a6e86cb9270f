from dataclasses import replace

import numpy as np
import pytest

from kinfolk.evaluation.rollout import evaluation_task, run_evaluation
from kinfolk.evaluation.trajectory import trace_episode
from kinfolk.play.results import EpisodeColumns, concatenate_columns
from kinfolk.play.task import WorldRef
from kinfolk.policies.resolve import resolve

NOOP = resolve("kin://noop")
TASK = evaluation_task(WorldRef("probe"), {"all": resolve("kin://probe-python")}, 3, range(6))


def test_watching_an_episode_again_finds_the_same_one():
    played = run_evaluation(TASK).episodes
    for episode in (0, 5):
        watched = trace_episode(TASK, episode)
        assert watched.report == played[episode]
        assert watched.groups == ("grazer", "hunter")
        assert len(watched.populations) == watched.report.ticks + 1
        assert watched.populations[0].tolist() == [5, 3]
        born = sum(1 for member in watched.family if member.parents)
        assert born == watched.report.counters["births"]
        died = sum(1 for member in watched.family if member.destruction_time is not None)
        assert died == watched.report.counters["deaths"]
        assert len(watched.family) == sum(watched.report.lives.values())


def test_mean_alive_is_what_was_counted_tick_by_tick():
    watched = trace_episode(TASK, 2)
    means = watched.populations[:-1].mean(axis=0)
    assert np.allclose(list(watched.report.mean_alive.values()), means)


def test_columns_keep_their_meaning_when_slots_come_in_another_order():
    played = run_evaluation(
        replace(TASK, policies={"g": NOOP, "h": NOOP}, slot_map={"hunter": "h"})
    ).episodes
    turned = run_evaluation(
        replace(TASK, policies={"h": NOOP, "g": NOOP}, slot_map={"grazer": "g"})
    ).episodes
    assert EpisodeColumns.from_results([played[0], turned[1]]).arrays["returns"].tolist() == [
        [result.returns["g"], result.returns["h"]] for result in (played[0], turned[1])
    ]


def test_results_survive_as_arrays():
    played = run_evaluation(TASK).episodes
    again = EpisodeColumns(played.arrays, played.notes)
    assert list(again) == list(played)
    parts = EpisodeColumns.from_results(played[:2]), EpisodeColumns.from_results(played[2:])
    assert concatenate_columns(parts) == played
    assert played.column("returns", "all").tolist() == [r.returns["all"] for r in played]
    assert played[-1] == played[5]
    with pytest.raises(IndexError, match=r"^Index 6 is out of range for 6 episodes\.$"):
        played[6]
