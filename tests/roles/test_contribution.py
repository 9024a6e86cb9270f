"""Contributions of roles, estimated from games on common episodes."""

import random

import numpy as np
import pytest

from kinfolk.roles.contribution import (
    ScoredGame,
    contribution_score,
    estimate_contributions,
)
from kinfolk.roles.model import RoleDef, RoleTier

N_ROLES = 12
FOUNDERS = [RoleDef((RoleTier((0,)),), id=i) for i in range(N_ROLES)]
EFFECTS = [100.0 * (i - 5.5) for i in range(N_ROLES)]


def play(rng, teams, episodes, noise, effects=EFFECTS):
    """Games of all teams on common episodes, whose effects are far larger than those of roles."""
    games = []
    for episode in episodes:
        luck = rng.gauss(0.0, 5000.0)
        for team in teams:
            score = 10_000 + luck + sum(effects[role] for role in team) + rng.gauss(0.0, noise)
            games.append(ScoredGame(episode, team, score))
    return games


def test_roles_are_ranked_by_what_they_contribute_whatever_the_luck_of_episodes():
    rng = random.Random(1)
    teams = [tuple(sorted(rng.choices(range(N_ROLES), k=4))) for _ in range(30)]
    found = estimate_contributions(play(rng, teams, range(40), 300.0), FOUNDERS)
    values = [found.roles[role] for role in range(N_ROLES)]
    assert np.corrcoef(values, EFFECTS)[0, 1] > 0.93
    assert values[:4] < values[-4:]
    assert sum(values) == pytest.approx(0.0, abs=400.0), "relative to an average role"


def test_a_role_is_not_credited_for_its_team_mates():
    # Role 3 only plays beside the best role, and role 4 only beside the worst.
    effects = [-800.0, 800.0, 0.0, 0.0, 0.0]
    teams = [(0, 2), (1, 2), (1, 3), (0, 4), (0, 1), (2, 2)]
    games = play(random.Random(2), teams, range(60), 100.0, effects)
    found = estimate_contributions(games, FOUNDERS)
    assert abs(found.roles[3] - found.roles[4]) < 700.0, "their teams differ by 1,600"


def make_family(n_children):
    """A bad and a good founder, and as many children of each."""
    founders = [RoleDef((RoleTier((0,)),), id=i) for i in range(2)]
    children = [
        RoleDef((RoleTier((0,)),), id=2 + i, parents=(i % 2,)) for i in range(2 * n_children)
    ]
    return [*founders, *children]


def test_an_inherited_value_is_a_prior_that_own_games_confirm_or_not():
    roles = make_family(5)
    effects = [-500.0, 500.0] + [-500.0, 500.0] * 5
    effects[3] = -500.0  # a child of the good founder that is no better than the bad one
    rng = random.Random(3)

    def estimate(n_episodes):
        teams = [tuple(sorted(rng.choices(range(len(roles)), k=4))) for _ in range(40)]
        return estimate_contributions(play(rng, teams, range(n_episodes), 400.0, effects), roles)

    few, many = estimate(1), estimate(60)
    inherited = [few.roles[role] for role in range(5, 12, 2)]
    assert min(inherited) > few.roles[0], "children of the good founder begin above the bad one"
    assert many.roles[3] < many.roles[1] - 300.0, "and what it inherited is gone"
    assert many.roles[5] > many.roles[0] + 500.0


def test_the_mean_loss_by_variation_is_expected_of_new_children():
    roles = make_family(8)
    effects = [0.0, 0.0] + [-600.0] * 16
    effects[17] = 0.0
    rng = random.Random(4)
    teams = [tuple(sorted(rng.choices(range(17), k=4))) for _ in range(40)]
    games = play(rng, teams, range(20), 200.0, effects)
    games += play(rng, [(0, 1, 1, 17), (0, 0, 1, 1)], [99], 200.0, effects)
    found = estimate_contributions(games, roles)
    assert found.roles[17] < found.roles[1] - 200.0, "one game does not prove that it is no worse"


def test_a_team_that_is_more_than_its_roles_has_an_effect_of_its_own():
    rng = random.Random(5)
    teams = [(0, 1), (0, 2), (1, 2), (0, 0), (1, 1), (2, 2)]
    games = play(rng, teams, range(60), 200.0, [0.0] * 3)
    lifted = [g._replace(score=g.score + 2000) if g.roles == (0, 1) else g for g in games]
    found = estimate_contributions(lifted, FOUNDERS)
    assert max(found.teams, key=found.teams.get) == (0, 1)
    assert found.predict((0, 1)) > found.predict((0, 2)) + 1000
    assert found.predict((3, 3)) == found.mean, "unknown roles are average ones"


def test_the_score_of_a_contribution_lies_between_0_and_1():
    assert contribution_score(0.0, 500.0) == 0.5
    assert contribution_score(-500.0, 500.0) == 0.0, (
        "as much less as an agent contributes on average"
    )
    assert contribution_score(900.0, 500.0) == 1.0
    games = play(random.Random(6), [(0, 0), (0, 11), (11, 11)], range(10), 10.0)
    found = estimate_contributions(games, FOUNDERS)
    assert 0.0 <= found.scores[0] < 0.5 < found.scores[11] <= 1.0


def test_without_games_there_is_nothing_to_estimate():
    with pytest.raises(ValueError, match=r"^Contributions are estimated from at least one game;"):
        estimate_contributions([], FOUNDERS)
