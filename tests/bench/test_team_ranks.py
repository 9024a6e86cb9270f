import numpy as np
import pytest

from kinfolk.bench.roles import rank_stability


def test_ranks_that_hold_and_ranks_that_do_not():
    truth = np.array([[1.0, 2.0, 3.0, 4.0]])
    assert rank_stability(truth + 5.0, truth, 1) == {
        "spearman": 1.0,
        "winner": 1.0,
        "selection_bias": 5.0,
    }
    assert rank_stability(truth[:, ::-1], truth, 1) == {
        "spearman": -1.0,
        "winner": 0.0,
        "selection_bias": 3.0,
    }


def test_more_games_hold_better():
    chance = np.random.default_rng(1)
    truth = np.arange(12.0) * 100
    ranked = truth + chance.normal(0, 800, (16, 12))
    fresh = truth + chance.normal(0, 800, (400, 12))
    found = [rank_stability(ranked, fresh, n)["spearman"] for n in (1, 4, 16)]
    assert found == sorted(found)
    assert (
        rank_stability(ranked, fresh, 1)["selection_bias"]
        > rank_stability(ranked, fresh, 16)["selection_bias"]
    )
    assert found[0] == pytest.approx(0.4, abs=0.15)
