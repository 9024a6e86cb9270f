import numpy as np
import pytest

from kinfolk.roles.fitness import blend_scores, find_winners, relative_contributions, team_shares
from kinfolk.roles.generations import pool_diversity, role_distance


def test_a_share_is_relative_to_the_scores_of_all_sides():
    held = np.array([[30, 10], [0, 0], [0, 7]])
    assert team_shares(held).tolist() == [[0.75, 0.25], [0.5, 0.5], [0.0, 1.0]]


def test_a_side_wins_only_if_it_scored_more_than_every_other():
    held = np.array([[30, 10, 5], [8, 8, 1], [0, 0, 0]])
    assert find_winners(held).tolist() == [[True, False, False], [False] * 3, [False] * 3]


def test_a_contribution_is_relative_to_the_best_agent_of_the_team():
    counters = {"aligned": np.array([[2, 0, 0]]), "deposited": np.array([[0, 40, 0]])}
    contributions = relative_contributions(counters, {"aligned": 1.0, "deposited": 1 / 40})
    assert contributions.tolist() == [[1.0, 0.5, 0.0]]
    idle = relative_contributions({"aligned": np.zeros((1, 3))}, {"aligned": 1.0})
    assert idle.tolist() == [[0.0, 0.0, 0.0]]


def test_scores_stay_in_bounds_whatever_the_blend():
    team, own = np.array([1.0, 0.0]), np.array([[1.0, 0.0], [0.5, 1.0]])
    for weight in (0.0, 0.3, 1.0):
        scores = blend_scores(team, own, weight)
        assert scores.min() >= 0.0
        assert scores.max() <= 1.0
    assert blend_scores(team, own, 1.0).tolist() == [[1.0, 1.0], [0.0, 0.0]]
    assert blend_scores(team, own, 0.0).tolist() == own.tolist()


def test_roles_with_the_same_behaviors_in_another_order_differ(catalog, role_of):
    one, turned = role_of("explore / recharge"), role_of("recharge / explore")
    assert role_distance(one, one) == 0.0
    assert role_distance(one, turned) == pytest.approx(0.5)  # two traits of four are common
    assert role_distance(one, role_of("get_hearts")) == 1.0
    assert pool_diversity([one]) == 0.0
    assert pool_diversity([one, one, turned]) == pytest.approx(1 / 3)
