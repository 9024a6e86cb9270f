"""Who plays whom in a league, and when snapshots join, with numbers made by hand."""

import pytest

from kinfolk.training.matchmaking import (
    LeagueSettings,
    WinRate,
    draw_weights,
    find_reset_reason,
    is_snapshot_due,
    prioritise,
    share_won,
)

SETTINGS = LeagueSettings(self_play=0.25, power=2.0, min_episodes=10)


def test_an_opponent_is_drawn_by_a_power_of_how_often_it_is_not_beaten():
    assert prioritise([0.5, 0.0, 1.0], 2.0) == [0.2, 0.8, 0.0]
    assert prioritise([0.5, 0.0], 1.0) == pytest.approx([1 / 3, 2 / 3])
    assert prioritise([0.9, 0.1], 0.0) == [0.5, 0.5]


def test_opponents_that_are_all_beaten_are_drawn_alike():
    assert prioritise([1.0, 1.0], 2.0) == [0.5, 0.5]


def test_a_main_agent_plays_a_share_of_self_play_and_the_rest_by_priority():
    drawn = draw_weights("main", 0, {7: 0.5, 8: 0.0}, SETTINGS)
    assert drawn == {0: 250_000, 7: 150_000, 8: 600_000}


def test_nobody_is_forgotten_for_good():
    drawn = draw_weights("main", 0, {7: 1.0, 8: 0.0}, SETTINGS)
    assert drawn == {0: 250_000, 7: 1, 8: 750_000}


def test_an_exploiter_plays_the_present_main_agent_alone():
    assert draw_weights("exploiter", 3, {7: 0.5}, SETTINGS) == {3: 1_000_000}


def test_an_exploiter_of_the_league_plays_snapshots_alone():
    drawn = draw_weights("league_exploiter", 3, {7: 0.5, 8: 0.5}, SETTINGS)
    assert drawn == {7: 500_000, 8: 500_000}


def test_before_the_first_snapshot_everybody_plays_the_present_main_agent():
    for kind in ("main", "exploiter", "league_exploiter"):
        assert draw_weights(kind, 3, {}, SETTINGS) == {3: 1_000_000}


def test_a_win_rate_is_an_exponential_average_that_begins_at_one_half():
    record = WinRate().add(1.0)
    assert record == WinRate(pytest.approx(0.525), 1)
    assert record.add(0.0) == WinRate(pytest.approx(0.49875), 2)


def test_an_episode_is_won_by_the_share_of_scores_that_it_exceeds():
    assert share_won(3.0, [1.0]) == 1.0
    assert share_won(1.0, [1.0]) == 0.5
    assert share_won(2.0, [1.0, 2.0, 3.0, 0.0]) == 0.625


def test_a_snapshot_joins_after_some_updates_or_when_everybody_is_beaten():
    settings = LeagueSettings(snapshot_every=20, snapshot_win_rate=0.8, min_episodes=10)
    beaten, even, few = WinRate(0.85, 10), WinRate(0.5, 50), WinRate(0.9, 9)
    assert is_snapshot_due(20, [even], settings)
    assert is_snapshot_due(3, [beaten, beaten], settings)
    assert not is_snapshot_due(3, [beaten, even], settings)
    assert not is_snapshot_due(3, [beaten, few], settings), "a few episodes are no win rate"
    assert not is_snapshot_due(3, [], settings)


def test_an_exploiter_is_reset_when_it_has_won_or_its_budget_is_used_up():
    settings = LeagueSettings(exploiter_updates=40, exploiter_win_rate=0.7, min_episodes=10)
    assert find_reset_reason(5, [WinRate(0.75, 10)], settings) == "won"
    assert find_reset_reason(5, [WinRate(0.75, 9)], settings) is None
    assert find_reset_reason(40, [WinRate(0.6, 99)], settings) == "budget"
    mean = [WinRate(0.9, 30), WinRate(0.3, 10)]  # 0.75 over all episodes
    assert find_reset_reason(5, mean, settings) == "won"
