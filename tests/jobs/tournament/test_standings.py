"""Leaderboards: how often intervals cover the truth, which ranks are told apart, who is disqualified."""

from contextlib import closing
from itertools import combinations

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.core.events import Snapshot
from kinfolk.core.settings import validate_settings
from kinfolk.engines import make_engine
from kinfolk.jobs.tournament.job import check_tournament, tournament
from kinfolk.jobs.tournament.meetings import GamePlayed, MeetingRecord
from kinfolk.jobs.tournament.settings import Tournament
from kinfolk.jobs.tournament.standings import summarize_tournament

SKILLS = np.array([0.0, 0.5, 1.0, 3.0, 6.0])
TEAMS = {"world": "cogsguard", "preset": "head_to_head", "isolate": "none", "sandbox": False}
ROLES = ("BaseMiner", "BaseScrambler", "BaseAligner", "BaseScout")
PROBE = {"world": "probe", "isolate": "none", "sandbox": False, "replays": 0}
RAISING = "from kinfolk.policies.base import NoopPolicy\n\n\nclass Raising(NoopPolicy):\n" + (
    "    def act_async(self, observations, batch, memory, keys):\n        raise ValueError('boom')\n"
)


def summarize(scores, pairings):
    """Return the standings of a tournament, by name, from `[players, rivals, games]` scores."""
    n_players, _, n_games = scores.shape
    settings = validate_settings(
        Tournament,
        {**TEAMS, "policies": {f"p{i}": "kin://noop" for i in range(n_players)}, "games": n_games},
    )
    players, plan = check_tournament(settings)
    rows = [
        [number, game, a, b, scores[a, b, game], scores[b, a, game]]
        for number, (a, b) in enumerate(pairings)
        for game in range(n_games)
    ]
    notes = {"failed_slots": [{}] * n_players, "episodes": [9] * n_players, "replays": []}
    resume = Snapshot(step=len(pairings), arrays={"games": np.array(rows)}, notes=notes)
    record = MeetingRecord(n_players, 2, resume)
    nobody = [0] * n_players
    result = summarize_tournament(
        settings, players, plan, record, pairings, nobody, [""] * n_players
    )
    return {row.name: row for row in result.standings}


def draw_scores(rng, n_games):
    """Scores with the luck of each seed, common to all and of each player, and of each game."""
    n = len(SKILLS)
    common = rng.normal(0.0, 1.0, (1, 1, n_games))
    own = rng.normal(0.0, 1.0, (n, 1, n_games))
    return SKILLS[:, None, None] + common + own + rng.normal(0.0, 1.0, (n, n, n_games))


@pytest.mark.parametrize("n_games", [2, 10])
def test_the_interval_of_a_score_covers_the_truth_as_often_as_it_says(n_games):
    rng, covered = np.random.default_rng(7), []
    pairings = list(combinations(range(len(SKILLS)), 2))
    for _ in range(150):
        standings = summarize(draw_scores(rng, n_games), pairings)
        for player, skill in enumerate(SKILLS):
            score = standings[f"p{player}"].score
            assert score.n == n_games
            covered.append(score.low <= skill <= score.high)
    assert 0.92 <= np.mean(covered) <= 0.98


def test_the_interval_of_a_share_won_covers_the_truth_at_least_as_often_as_it_says():
    rng = np.random.default_rng(8)
    pairings = list(combinations(range(len(SKILLS)), 2))
    many = draw_scores(rng, 4000)
    beaten = (many > many.transpose(1, 0, 2)).mean(axis=2)
    truth = beaten.sum(axis=1) / (len(SKILLS) - 1)
    covered = []
    for _ in range(100):
        standings = summarize(draw_scores(rng, 10), pairings)
        for player, share in enumerate(truth):
            won = standings[f"p{player}"].win_rate
            assert won.n == 10
            covered.append(won.low <= share <= won.high)
    assert np.mean(covered) >= 0.95


def test_ranks_are_told_apart_only_if_games_on_the_same_seeds_show_it():
    rng = np.random.default_rng(9)
    skills = np.array([0.0, 0.0, 50.0])[:, None, None]
    scores = skills + rng.normal(0.0, 1.0, (3, 3, 10))
    standings = summarize(scores, [(0, 1), (0, 2), (1, 2)])
    assert standings["p2"].rank == 1
    assert standings["p2"].p_value < 0.05
    second, third = sorted((standings["p0"], standings["p1"]), key=lambda row: row.rank)
    assert second.p_value > 0.05
    assert third.p_value is None
    few = summarize(scores[:, :, :2], [(0, 1), (0, 2), (1, 2)])
    assert few["p2"].p_value == 1.0, "two seeds tell nothing apart, however large the difference"


def test_a_policy_that_fails_is_ranked_after_those_that_do_not(tmp_path):
    (tmp_path / "raising.py").write_text(RAISING)
    hunters = {"raising": f"file:{tmp_path / 'raising.py'}", "random": "kin://random"}
    policies = {"hunter": hunters, "grazer": {"random": "kin://random"}}
    result = kf.tournament(policies, **PROBE)
    first, last = [row for row in result.standings if row.side == "hunter"]
    assert (first.name, first.rank) == ("random", 1)
    assert (last.name, last.rank, last.failed_episodes) == ("raising", None, 10)
    assert last.disqualified == "it failed in 10 of 10 episodes, and never acted in 10"
    assert "disqualified raising (hunter): rating" in repr(result)
    assert result.frame()["disqualified"].tolist()[-1] == last.disqualified
    tolerant = kf.tournament(policies, **PROBE, max_failure_rate=1.0)
    hunters = [row for row in tolerant.standings if row.side == "hunter"]
    assert [(row.rank, row.name) for row in hunters] == [(1, "raising"), (2, "random")]


@pytest.mark.slow
def test_the_interval_covers_the_truth_in_real_games():
    """Seven teams of roles, 150 ticks: intervals over single games cover 83 %."""
    teams = {name: f"kin://role/{name}" for name in ROLES}
    teams |= {
        "smart": "kin://smart",
        "mixed": "kin://roles?miner=4&scrambler=2",
        "still": "kin://noop",
    }
    n_games, n_blocks = 10, 40
    settings = {**TEAMS, "world_settings": {"max_steps": 150}, "policies": teams, "replays": 0}
    settings |= {"games": n_games * n_blocks, "chunk_size": 50}
    pairings = list(combinations(range(len(teams)), 2))
    scores = np.zeros((len(teams), len(teams), n_games * n_blocks))
    with closing(make_engine(jobs=2)) as engine:
        for item in tournament(validate_settings(Tournament, settings), engine):
            if isinstance(item, GamePlayed):
                a, b = pairings[item.pairing]
                scores[a, b, item.step], scores[b, a, item.step] = item.scores
    truth = scores.mean(axis=2).sum(axis=1) / (len(teams) - 1)
    covered = []
    for block in range(n_blocks):
        chosen = slice(block * n_games, (block + 1) * n_games)
        standings = summarize(scores[:, :, chosen], pairings)
        for player, mean in enumerate(truth):
            score = standings[f"p{player}"].score
            covered.append(score.low <= mean <= score.high)
    assert np.mean(covered) >= 0.9
