"""Is A better than B: equal ones are called equal, a planted difference is found."""

import numpy as np
import pytest

from kinfolk.core.errors import SettingsError, UnknownNameError, UsageError
from kinfolk.core.settings import validate_settings
from kinfolk.engines.base import LocalEngine
from kinfolk.evaluation.comparison import (
    PairedComparison,
    compare_paired,
    describe_low_power,
)
from kinfolk.evaluation.ratings import PlayerScores, rate_games
from kinfolk.evaluation.statistics import Estimate, estimate_proportion, win_shares
from kinfolk.jobs.compare import Compare, candidate_settings, compare_policies
from kinfolk.jobs.evaluate import EpisodePlayed, Evaluate, evaluate
from kinfolk.jobs.round_robin import RoundRobin, assign_sides, round_robin
from kinfolk.testing.contracts.job import JobContract
from kinfolk.testing.probe.state import Probe
from kinfolk.testing.probe.world import ProbeWorld

TIMED = "rollout_timed"
EVERYBODY = {"grazer": "candidate", "hunter": "candidate"}
SHORT = {"world_settings": {"max_ticks": 40}, "chunk_size": 200, "agent_slot_map": EVERYBODY}


@pytest.fixture(autouse=True)
def zoo(monkeypatch, request):
    folder = request.path.parent.parent / "isolation" / "zoo"
    monkeypatch.syspath_prepend(str(folder))


def noisy(stream, lazy=0.0):
    return f"class:noisy_policies.Noisy?stream={stream}&lazy={lazy}"


def verdict(first, second, episodes, seed):
    asked = {"policies": [first, second], "episodes": episodes, "seed": seed, **SHORT}
    last = list(compare_policies(validate_settings(Compare, asked), LocalEngine()))[-1]
    return last.pairs["0 1"]


@pytest.mark.more
def test_equal_policies_are_called_different_in_one_of_twenty_at_most_by_chance():
    found = [verdict(noisy(1), noisy(2), 40, seed).better for seed in range(40)]
    # Of 40 true equals two are expected; six or more have a chance of 1 in 70.
    assert found.count("neither") >= 35


def test_a_planted_difference_of_a_tenth_is_found():
    found = verdict(noisy(1), noisy(2, lazy=0.3), 200, 0)
    assert found.better == "first"
    assert found.p_value < 0.001
    assert 0.05 < found.difference.mean / 440 < 0.15
    assert found.difference.low > 0
    turned = verdict(noisy(2, lazy=0.3), noisy(1), 200, 0)
    assert turned.better == "second"
    assert turned.difference.mean == -found.difference.mean


def test_a_policy_does_not_differ_from_itself():
    assert verdict("kin://random", "kin://random", 5, 0) == PairedComparison(
        Estimate(0, 0, 0, 5), 1.0, "neither", 5, 1.0, 1.0
    )


def test_a_verdict_is_of_common_episodes():
    with pytest.raises(
        UsageError,
        match=r"^Paired values must be of the same episodes, but there are 3 and 2 values\.$",
    ):
        compare_paired(np.zeros(3), np.zeros(2))
    same = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    found = compare_paired(same + 1, same)
    assert found.difference == Estimate(1, 1, 1, 6)
    assert found.p_value == pytest.approx(2 / 2**6), "all signs equal, in either direction"


def test_a_world_with_several_groups_needs_a_map():
    asked = {"policies": ["kin://random", "kin://noop"], "episodes": 6}
    with pytest.raises(SettingsError) as refused:
        list(compare_policies(validate_settings(Compare, asked), LocalEngine()))
    assert str(refused.value) == (
        "World probe has the groups grazer, hunter, and without a map every candidate would play "
        "all of them. Say who plays whom, such as slots={'others': 'kin://random'}, "
        "agent_slot_map={'grazer': 'candidate', 'hunter': 'others'}."
    )


def test_a_group_that_a_map_leaves_out_is_not_given_to_the_candidates_silently():
    asked = {"policies": ["kin://random", "kin://noop"], "agent_slot_map": {"hunter": "candidate"}}
    with pytest.raises(SettingsError) as refused:
        list(compare_policies(validate_settings(Compare, asked), LocalEngine()))
    assert str(refused.value) == (
        "World probe has groups that the map leaves out: grazer. Every candidate would play them too. "
        "Say who plays each, such as 'candidate' or another slot."
    )


def notes_of(episodes):
    asked = {"policies": ["kin://probe-python", "kin://noop"], "episodes": episodes, **SHORT}
    last = list(compare_policies(validate_settings(Compare, asked), LocalEngine()))[-1]
    assert last.episodes_needed == 6
    return last.pairs["0 1"], last.notes


def test_too_few_episodes_to_show_anything_are_called_so():
    few, notes = notes_of(4)
    assert (few.better, few.p_value, few.min_p_value) == ("neither", 0.125, 0.125)
    assert notes[:1] == [
        "4 episodes cannot show a difference between kin://probe-python and kin://noop: the p-value "
        "of a two-sided permutation test is at least 0.125. For p < 0.05 play 6 episodes or more."
    ]
    enough, notes = notes_of(6)
    assert (enough.better, enough.p_value) == ("first", 2 / 2**6)
    assert not any("cannot show" in note for note in notes)


def test_intervals_that_may_cover_too_little_are_named():
    _, notes = notes_of(4)
    assert notes[1:] == [
        "Fewer than 6 values: the interval of kin://probe-python, kin://noop, kin://probe-python - "
        "kin://noop holds only for about normally distributed values."
    ]


def test_a_metric_that_is_true_or_false_has_wilsons_interval():
    asked = {"policies": ["kin://noop", "kin://random"], "metric": "full_length_episodes",
             "world": "savanna", "world_settings": {"max_steps": 2}, "episodes": 8,
             "agent_slot_map": {"type_1_predator": "candidate", "type_1_prey": "candidate"}}  # fmt: skip
    items = list(compare_policies(validate_settings(Compare, asked), LocalEngine()))
    assert items[-1].means[0] == estimate_proportion(np.ones(8))
    assert items[-1].notes == [
        "Few values, or all but one alike: the interval of the proportion kin://noop, kin://random "
        "may cover the true one in less than 90 % of cases."
    ]


def test_episodes_that_end_alike_are_not_counted_as_evidence():
    first = np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    found = compare_paired(first, np.zeros(8))
    assert found.min_p_value == found.p_value == 0.25
    assert describe_low_power("a", "b", found) == (
        "a and b scored differently in 3 of 8 episodes only, so the p-value of a two-sided "
        "permutation test is at least 0.25. For p < 0.05 there must be 6 or more such episodes: "
        "play more."
    )
    assert describe_low_power("a", "b", compare_paired(first, first)) is None


def test_what_is_compared_may_be_a_counter_of_the_world():
    asked = {"policies": ["kin://random", "kin://noop"], "episodes": 3, "metric": "deaths"}
    asked["agent_slot_map"] = EVERYBODY
    last = list(compare_policies(validate_settings(Compare, asked), LocalEngine()))[-1]
    assert last.metric == "deaths"
    with pytest.raises(UnknownNameError) as refused:
        list(
            compare_policies(
                validate_settings(Compare, {**asked, "metric": "birth"}), LocalEngine()
            )
        )
    assert str(refused.value) == (
        "There is no metric 'birth'. Did you mean 'births'? Known: return, return_per_life, "
        "reward_per_tick, ticks, births, deaths, blocked, grown, spent, lost."
    )


def test_what_is_compared_may_be_a_metric_of_the_world_and_episodes_without_it_are_left_out():
    asked = {
        "policies": ["kin://hunter", "kin://random"],
        "world": "savanna",
        "world_settings": {"max_steps": 12, "n_initial_active_type_1_predator": 1},
        "slots": {"herd": "kin://random"},
        "agent_slot_map": {"type_1_predator": "candidate", "type_1_prey": "herd"},
        "episodes": 6,
        "metric": "capture_success_rate_all_episodes",
    }
    *_, last = stream = list(compare_policies(validate_settings(Compare, asked), LocalEngine()))
    played = [event for event in stream if getattr(event, "kind", "") == "candidate_played"]
    values = {(e.policy, e.step): e.value for e in played}
    assert len(values) == 12
    assert None in values.values(), "else no episode is left out, and nothing is tested"
    both = [i for i in range(6) if None not in (values[0, i], values[1, i])]
    pair = last.pairs["0 1"]
    assert pair.n_episodes == len(both)
    assert pair.difference.mean == pytest.approx(
        np.mean([values[0, i] - values[1, i] for i in both])
    )
    assert last.means[0].n == sum(values[0, i] is not None for i in range(6))


def test_a_metric_that_applies_to_no_episode_is_none_in_the_result():
    asked = {
        "policies": ["kin://noop", "kin://noop"],
        "world": "savanna",
        "world_settings": {"max_steps": 1, "n_initial_active_type_1_predator": 1},
        "agent_slot_map": {"type_1_predator": "candidate", "type_1_prey": "candidate"},
        "episodes": 2,
        "metric": "cooperative_kill_fraction_all_episodes",
    }
    last = list(compare_policies(validate_settings(Compare, asked), LocalEngine()))[-1]
    assert last.means == [None, None]
    assert last.pairs["0 1"] == (None, 1.0, "neither", 0, 1.0, 1.0)


def test_candidates_take_turns_in_one_seat_among_others():
    asked = {
        "policies": ["kin://probe-python", "kin://noop"],
        "slots": {"pack": "kin://random"},
        "agent_slot_map": {"grazer": "candidate", "hunter": "pack"},
        "episodes": 4,
    }
    played = list(compare_policies(validate_settings(Compare, asked), LocalEngine()))
    [*events, last] = [e for e in played if getattr(e, "kind", TIMED) != TIMED]
    for number, uri in enumerate(asked["policies"]):
        slots = {"candidate": uri, "pack": "kin://random"}
        alone = validate_settings(
            Evaluate, {**{k: asked[k] for k in ("agent_slot_map", "episodes")}, "slots": slots}
        )
        whole = [
            e for e in evaluate(alone, LocalEngine()) if getattr(e, "kind", "") == "episode_played"
        ]
        assert [e.value for e in events if e.policy == number] == [
            e.returns["candidate"] for e in whole
        ]
    assert last.failures == [0, 0]


def test_a_candidate_may_be_a_team_of_slots():
    team = "herd=kin://probe-python;pack=kin://random"
    asked = {
        "policies": [team, "herd=kin://noop;pack=kin://noop"],
        "agent_slot_map": {"grazer": "herd", "hunter": "pack"},
        "episodes": 4,
    }
    played = list(compare_policies(validate_settings(Compare, asked), LocalEngine()))
    [*events, last] = [e for e in played if getattr(e, "kind", TIMED) != TIMED]
    alone = {"slots": {"herd": "kin://probe-python", "pack": "kin://random"}}
    alone |= {k: asked[k] for k in ("agent_slot_map", "episodes")}
    whole = [
        e
        for e in evaluate(validate_settings(Evaluate, alone), LocalEngine())
        if e.__class__ is EpisodePlayed
    ]
    assert [e.value for e in events if e.policy == 0] == [
        e.returns["herd"] + e.returns["pack"] for e in whole
    ]
    assert last.policies[0] == team


def test_settings_read_from_a_run_give_the_same_candidates():
    asked = {"policies": ["kin://random", "kin://noop"], "agent_slot_map": EVERYBODY}
    fresh = validate_settings(Compare, asked)
    stored = validate_settings(Compare, fresh.model_dump())
    assert candidate_settings(stored) == candidate_settings(fresh)
    assert candidate_settings(fresh)[0].slot_ids == ["candidate"]
    asked["agent_slot_map"] = {"grazer": "candidate", "hunter": "main"}
    named = validate_settings(Compare, asked)
    assert candidate_settings(named)[0].slot_ids == ["candidate", "main"]


class TestCompare(JobContract):
    @pytest.fixture
    def start(self):
        asked = {"policies": ["kin://random", "kin://noop"], "episodes": 6, "chunk_size": 2}
        asked["agent_slot_map"] = EVERYBODY
        return lambda resume: compare_policies(
            validate_settings(Compare, asked), LocalEngine(), resume
        )


class TestRoundRobin(JobContract):
    @pytest.fixture
    def start(self):
        asked = {"policies": ["kin://random", "kin://noop", "kin://probe-python"], "episodes": 4,
                 "chunk_size": 2, "world_settings": {"max_ticks": 20}}  # fmt: skip
        return lambda resume: round_robin(
            validate_settings(RoundRobin, asked), LocalEngine(), resume
        )


def test_in_a_round_robin_all_meet_from_both_sides_and_the_better_is_rated_higher():
    asked = {
        "policies": ["kin://noop", "kin://probe-python", "kin://random"],
        "episodes": 6,
        "chunk_size": 6,
    }
    *met, rated = [
        e
        for e in round_robin(validate_settings(RoundRobin, asked), LocalEngine())
        if getattr(e, "kind", TIMED) != TIMED
    ]
    assert [(e.first, e.second) for e in met[::6]] == [(0, 1), (0, 2), (1, 2)]
    assert [rating.n_games for rating in rated.ratings] == [12, 12, 12]
    strengths = [rating.mu for rating in rated.ratings]
    assert strengths[1] == max(strengths)
    assert sum(rating.win_rate for rating in rated.ratings) == pytest.approx(1.5)


def test_sides_are_teams_where_groups_are_alike_and_rows_elsewhere():
    spec = ProbeWorld(Probe(rows=4, grazers=2, hunters=2)).spec
    sides = assign_sides(spec)
    here, there = sides.slot_maps
    assert (sides.kind, sides.slots) == ("rows", ("first", "second"))
    assert here == ["first", "second", "first", "second"]
    assert there == ["second", "first", "second", "first"]


def test_ratings_follow_from_games_in_order():
    games = [PlayerScores((0, 1), (3.0, 1.0), game) for game in range(3)]
    games += [PlayerScores((0, 1), (2.0, 2.0), 3)]
    a, b = rate_games(2, games)
    assert [a, b] == rate_games(2, games)
    assert a.mu > 25 > b.mu
    assert (a.n_games, a.win_rate, b.win_rate) == (4, 0.875, 0.125)
    assert (a.win_rate_low, a.win_rate_high) == estimate_proportion(np.array([1, 1, 1, 0.5]))[1:3]
    assert a.ordinal == pytest.approx(a.mu - 3 * a.sigma)


def test_a_win_of_nobody_is_no_win():
    found = win_shares({"a": np.array([np.nan, 1.0]), "b": np.array([np.nan, np.nan])})
    assert found["a"].tolist()[1] == 1.0
    assert np.isnan(found["a"][0])
    assert found["b"].tolist()[1] == 0.0
