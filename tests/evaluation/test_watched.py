from dataclasses import replace

import numpy as np

from kinfolk.evaluation.match import Match, play_match
from kinfolk.evaluation.results import column, from_arrays, joined, to_arrays
from kinfolk.evaluation.watched import watch_episode
from kinfolk.policies.resolve import resolve

NOOP = resolve("kin://noop")
MATCH = Match("probe", {}, {"all": resolve("kin://probe-plain")}, 3, 0, 6)


def test_watching_an_episode_again_finds_the_same_one():
    played = play_match(MATCH)
    for episode in (0, 5):
        watched = watch_episode(MATCH, episode)
        assert watched.result == played[episode]
        assert watched.groups == ("grazer", "hunter")
        assert len(watched.populations) == watched.result.ticks + 1
        assert watched.populations[0].tolist() == [5, 3]
        born = sum(1 for member in watched.family if member.parents)
        assert born == watched.result.counters["births"]
        died = sum(1 for member in watched.family if member.died is not None)
        assert died == watched.result.counters["deaths"]
        assert len(watched.family) == sum(watched.result.lives.values())


def test_mean_alive_is_what_was_counted_tick_by_tick():
    watched = watch_episode(MATCH, 2)
    means = watched.populations[:-1].mean(axis=0)
    assert np.allclose(list(watched.result.mean_alive.values()), means)


def test_columns_keep_their_meaning_when_slots_come_in_another_order():
    played = play_match(replace(MATCH, slots={"g": NOOP, "h": NOOP}, slot_map={"hunter": "h"}))
    turned = play_match(replace(MATCH, slots={"h": NOOP, "g": NOOP}, slot_map={"grazer": "g"}))
    assert to_arrays([played[0], turned[1]])[0]["returns"].tolist() == [
        [result.returns["g"], result.returns["h"]] for result in (played[0], turned[1])
    ]


def test_results_survive_as_arrays():
    played = play_match(MATCH)
    arrays, names = to_arrays(played)
    assert from_arrays(arrays, names) == played
    assert (
        from_arrays(*joined(joined(None, to_arrays(played[:2])), to_arrays(played[2:]))) == played
    )
    assert column(played, "returns", "all").tolist() == [r.returns["all"] for r in played]
