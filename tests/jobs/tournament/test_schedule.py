"""Who meets whom: round robin, Swiss rounds without rematches, every combination."""

from itertools import combinations

import numpy as np

from kinfolk.evaluation.ratings import PlayerScores, rate_games
from kinfolk.jobs.tournament.schedule import pair_all, pair_swiss
from kinfolk.jobs.tournament.standings import count_points, rank_within_sides
from kinfolk.play.sides import find_sides
from kinfolk.play.task import WorldRef

TEAMS = find_sides(WorldRef("cogsguard", "head_to_head").spec)
GROUPS = find_sides(WorldRef("savanna").spec)


def test_everybody_meets_everybody_once():
    assert pair_all(TEAMS, [range(3)] * 2) == [(0, 1), (0, 2), (1, 2)]
    assert pair_all(TEAMS, [range(2)] * 2, with_self=True) == [(0, 0), (0, 1), (1, 1)]
    assert pair_all(GROUPS, [[0, 1], [2]]) == [(0, 2), (1, 2)]


def test_a_swiss_tournament_ranks_by_strength_without_rematches():
    n, earlier, byes = 24, [], [0] * 24
    points = [0.0] * n
    for _ in range(6):
        pairings, resting = pair_swiss(points, earlier, byes, 2, seed=1)
        assert resting == []
        assert sorted(player for pairing in pairings for player in pairing) == list(range(n))
        earlier += pairings
        for pairing in pairings:
            points[max(pairing)] += 1.0  # the higher number wins
    pairs = [frozenset(pairing) for pairing in earlier]
    assert len(set(pairs)) == len(pairs) == 72
    assert points[n - 1] == max(points) == 6
    assert np.corrcoef(points, range(n))[0, 1] > 0.85


def test_of_an_odd_number_everybody_rests_in_turn():
    byes, rested, earlier = [0] * 5, [], []
    for _ in range(5):
        pairings, resting = pair_swiss([0.0] * 5, earlier, byes, 2, seed=0)
        earlier += pairings
        for player in resting:
            byes[player] += 1
        rested += resting
    assert sorted(rested) == [0, 1, 2, 3, 4]


def test_if_all_have_met_they_meet_again():
    everybody = list(combinations(range(4), 2))
    pairings, _ = pair_swiss([3.0, 2.0, 1.0, 0.0], everybody, [0] * 4, 2, seed=0)
    assert pairings == [(0, 1), (2, 3)]


def test_points_are_pairings_won_and_byes():
    games = [PlayerScores((0, 1), (3.0, 0.0), 0), PlayerScores((0, 1), (0.0, 1.0), 1)]
    games += [PlayerScores((0, 2), (1.0, 1.0), game) for game in range(2)]
    assert count_points(games, [(0, 1), (0, 2)], [0, 1, 0], 2) == [1.5, 1.0, 0.5]


def test_players_of_a_side_are_ranked_by_games_against_the_same_rivals():
    # Predator 0 scores higher than 1 in each game; the prey differ much more between games.
    games = [PlayerScores((p, q), (10.0 * q - p + game, 0.0), game) for p in (0, 1) for q in (2, 3) for game in range(3)]  # fmt: skip
    ratings = rate_games(4, rank_within_sides(games, [[0, 1], [2, 3]]))
    assert [rating.win_rate for rating in ratings] == [1.0, 0.0, 0.5, 0.5]
    assert [rating.n_games for rating in ratings] == [6, 6, 6, 6]
    assert [rating.n_seeds for rating in ratings] == [3, 3, 3, 3], "two games on each seed"
    assert ratings[0].mu > 25 > ratings[1].mu
