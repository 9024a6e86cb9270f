"""Alpha-rank and Nash mixtures: known games, and OpenSpiel where it is installed."""

import re

import numpy as np
import pytest

from kinfolk.core.errors import UsageError
from kinfolk.evaluation.games import alpha_rank, marginal, nash_mixture

ROCK_PAPER_SCISSORS = np.array([[0.0, -1.0, 1.0], [1.0, 0.0, -1.0], [-1.0, 1.0, 0.0]])
THIRDS = [pytest.approx(1 / 3, abs=1e-12)] * 3


def random_games(n_games=10):
    rng = np.random.default_rng(7)
    for _ in range(n_games):
        n, m = rng.integers(2, 5, size=2)
        yield rng.normal(size=(n, m)), rng.normal(size=(n, m))


def test_rock_paper_scissors_is_mixed_in_equal_parts():
    mixture = nash_mixture(ROCK_PAPER_SCISSORS, -ROCK_PAPER_SCISSORS)
    assert mixture.mixtures == (THIRDS, THIRDS)
    assert (mixture.payoffs, mixture.regret) == (pytest.approx((0, 0)), pytest.approx(0, abs=1e-12))
    assert alpha_rank([ROCK_PAPER_SCISSORS]).tolist() == THIRDS
    assert alpha_rank([ROCK_PAPER_SCISSORS], alpha=0.5).tolist() == THIRDS


def test_the_higher_paper_wins_against_rock_the_more_scissors_are_played():
    # Paper beats rock twice as high: known equilibrium rock 1/4, paper 1/4, scissors 1/2.
    payoff = np.array([[0.0, -2.0, 1.0], [2.0, 0.0, -1.0], [-1.0, 1.0, 0.0]])
    mixture = nash_mixture(payoff, -payoff)
    assert mixture.mixtures[0] == pytest.approx([0.25, 0.25, 0.5])


def test_a_policy_that_beats_all_others_has_all_of_alpha_rank_and_of_the_mixture():
    payoff = np.array([[0.0, 3.0, 3.0], [-3.0, 0.0, 1.0], [-3.0, -1.0, 0.0]])
    assert alpha_rank([payoff])[0] > 0.97
    assert alpha_rank([payoff], alpha=2.0)[0] == pytest.approx(1.0, abs=0.01)
    assert nash_mixture(payoff, -payoff).mixtures[0] == pytest.approx([1, 0, 0])


def test_in_the_battle_of_the_sexes_an_equilibrium_is_found():
    first, second = np.array([[2.0, 0.0], [0.0, 1.0]]), np.array([[1.0, 0.0], [0.0, 2.0]])
    mixture = nash_mixture(first, second)
    assert mixture.mixtures in ([[1, 0], [1, 0]], ([1, 0], [1, 0]), ([0, 1], [0, 1]))
    assert mixture.regret == pytest.approx(0, abs=1e-12)


def test_no_player_gains_by_leaving_the_mixture_also_of_games_with_ties():
    rng = np.random.default_rng(3)
    for number in range(60):
        n, m = rng.integers(1, 12, size=2)
        first, second = rng.normal(size=(n, m)), rng.normal(size=(n, m))
        if number % 2:  # ties make a game degenerate
            first, second = np.round(first), np.round(second)
        mixture = nash_mixture(first, second)
        assert mixture.regret < 1e-9
        assert [sum(weights) for weights in mixture.mixtures] == pytest.approx([1, 1])


def test_alpha_rank_is_the_stationary_distribution_of_its_chain():
    # Two policies each; hand-made: from any profile one of two changes is proposed, each with 1/2.
    first, second = np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([[1.0, 0.0], [0.0, 0.0]])
    profiles = alpha_rank([first, second])
    chain = np.array([
        [1 - 0.01, 0.005, 0.005, 0], [0.495, 1 - 0.495 - 0.25, 0, 0.25],
        [0.495, 0, 1 - 0.495 - 0.25, 0.25], [0, 0.25, 0.25, 0.5],
    ])  # fmt: skip
    assert profiles.ravel() @ chain == pytest.approx(profiles.ravel(), abs=1e-12)
    assert marginal(profiles, 0) == pytest.approx(profiles.sum(axis=1))
    assert profiles.sum() == pytest.approx(1.0)


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(UsageError) as refused:
        alpha_rank([np.zeros((2, 3))])
    assert str(refused.value) == (
        "alpha_rank needs one square matrix, or an array per population, with an axis each and all of "
        "one shape; these have the shapes (2, 3)."
    )
    with pytest.raises(UsageError, match=re.escape("the shapes (2, 2) and (2, 3).")):
        nash_mixture(np.zeros((2, 2)), np.zeros((2, 3)))


def test_alpha_rank_equals_that_of_openspiel():
    alpharank = pytest.importorskip("open_spiel.python.egt.alpharank")
    for first, second in random_games():
        for alpha in (0.1, 1.0):
            theirs = alpharank.compute([first, second], m=50, alpha=alpha)[2]
            assert alpha_rank([first, second], alpha).ravel() == pytest.approx(theirs, abs=1e-6)
        theirs = alpharank.compute([first, second], use_inf_alpha=True, inf_alpha_eps=0.01)[2]
        assert alpha_rank([first, second]).ravel() == pytest.approx(theirs, abs=1e-6)
        square = first[:, :1] - first[:, :1].T  # a symmetric game
        square = square + np.round(square)
        for alpha in (0.1, 1.0):
            theirs = alpharank.compute([square], m=50, alpha=alpha)[2]
            assert alpha_rank([square], alpha) == pytest.approx(theirs, abs=1e-6)


def test_values_of_zero_sum_games_equal_those_of_openspiel():
    pyspiel = pytest.importorskip("pyspiel")
    lp_solver = pytest.importorskip("open_spiel.python.algorithms.lp_solver")
    for first, _ in random_games():
        game = pyspiel.create_matrix_game(first, -first)
        value = lp_solver.solve_zero_sum_matrix_game(game)[2]
        assert nash_mixture(first, -first).payoffs[0] == pytest.approx(value, abs=1e-6)
