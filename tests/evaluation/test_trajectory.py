from dataclasses import replace

import numpy as np

from kinfolk.evaluation.results import concatenate_results, extract_column, from_arrays, to_arrays
from kinfolk.evaluation.rollout import RolloutTask, play_task
from kinfolk.evaluation.trajectory import trace_episode
from kinfolk.policies.resolve import resolve

NOOP = resolve("kin://noop")
MATCH = RolloutTask("probe", {}, {"all": resolve("kin://probe-python")}, 3, 0, 6)


def test_watching_an_episode_again_finds_the_same_one():
    played = play_task(MATCH)
    for episode in (0, 5):
        watched = trace_episode(MATCH, episode)
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
    watched = trace_episode(MATCH, 2)
    means = watched.populations[:-1].mean(axis=0)
    assert np.allclose(list(watched.report.mean_alive.values()), means)


def test_columns_keep_their_meaning_when_slots_come_in_another_order():
    played = play_task(replace(MATCH, slots={"g": NOOP, "h": NOOP}, slot_map={"hunter": "h"}))
    turned = play_task(replace(MATCH, slots={"h": NOOP, "g": NOOP}, slot_map={"grazer": "g"}))
    assert to_arrays([played[0], turned[1]])[0]["returns"].tolist() == [
        [result.returns["g"], result.returns["h"]] for result in (played[0], turned[1])
    ]


def test_results_survive_as_arrays():
    played = play_task(MATCH)
    arrays, names = to_arrays(played)
    assert from_arrays(arrays, names) == played
    assert (
        from_arrays(
            *concatenate_results(
                concatenate_results(None, to_arrays(played[:2])), to_arrays(played[2:])
            )
        )
        == played
    )
    assert extract_column(played, "returns", "all").tolist() == [r.returns["all"] for r in played]
