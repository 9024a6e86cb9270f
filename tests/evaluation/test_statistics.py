"""Confidence intervals of means and of shares: their coverage, and where there is none."""

import numpy as np
import pytest

from kinfolk.evaluation.statistics import (
    Estimate,
    estimate_mean,
    estimate_proportion,
    t_intervals,
)

DRAWS = 4000


def test_a_mean_lies_within_its_interval_and_the_interval_is_the_same_each_time():
    values = np.random.default_rng(1).normal(10.0, 2.0, 200)
    found = estimate_mean(values)
    assert found.low < found.mean < found.high
    # 95 % of a normal mean: 1.96 * 2 / sqrt(200) on either side
    assert found.high - found.low == pytest.approx(2 * 1.96 * 2 / 200**0.5, rel=0.2)
    assert estimate_mean(values) == found
    assert found.n == 200


def test_an_interval_is_that_of_students_t():
    # Mean 3, standard deviation sqrt(2.5); the 97.5 % point of t with 4 degrees of freedom.
    found = estimate_mean(np.array([1.0, 2.0, 3.0, 4.0, 5.0]))
    half = 2.7764451051977987 * (2.5 / 5) ** 0.5
    assert found == pytest.approx((3.0, 3.0 - half, 3.0 + half, 5))


@pytest.mark.parametrize("n", [2, 3, 5, 10])
def test_95_of_100_intervals_hold_the_true_mean_however_few_values_there_are(n):
    draws = np.random.default_rng(n).normal(3.0, 2.0, (DRAWS, n))
    mean, low, high = t_intervals(draws)
    assert 0.94 <= np.mean((low <= 3.0) & (high >= 3.0)) <= 0.96
    assert estimate_mean(draws[0]) == (mean[0], low[0], high[0], n), "one by one it is the same"


def test_one_value_has_no_interval():
    assert estimate_mean(np.array([4.0])) == Estimate(4.0, None, None, 1)
    assert estimate_proportion(np.array([1.0])) == Estimate(1.0, None, None, 1)


def test_equal_values_have_an_interval_without_width():
    assert estimate_mean(np.array([0.1, 0.1, 0.1])) == Estimate(0.1, 0.1, 0.1, 3)


def test_a_proportion_of_all_or_none_still_has_an_interval():
    # Wilson: with ten wins of ten the low end is 1 / (1 + z^2 / n), with z = 1.96.
    low = 1 / (1 + 1.959963984540054**2 / 10)
    assert estimate_proportion(np.ones(10)) == pytest.approx((1.0, low, 1.0, 10))
    assert estimate_proportion(np.zeros(10)) == pytest.approx((0.0, 0.0, 1 - low, 10))


def test_the_interval_of_a_proportion_is_wilsons_as_in_scipy():
    from scipy.stats import binomtest

    for won in range(13):
        expected = binomtest(won, 12).proportion_ci(0.95, method="wilson")
        found = estimate_proportion(np.repeat([1.0, 0.0], [won, 12 - won]))
        assert found == pytest.approx((won / 12, expected.low, expected.high, 12))


def test_ties_are_halves_and_make_a_share_no_less_sure():
    drawn = np.random.default_rng(0).choice([0.0, 0.5, 1.0], p=[0.3, 0.4, 0.3], size=(DRAWS, 10))
    found = [estimate_proportion(values) for values in drawn]
    assert np.mean([one.low <= 0.5 <= one.high for one in found]) >= 0.95
