"""Paired tests, corrections for several of them, power and sample size."""

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.core.errors import UsageError
from kinfolk.evaluation.comparison import (
    adjust_comparisons,
    compare_paired,
    describe_disagreement,
)


def test_a_p_value_counts_the_permutations_at_least_as_extreme():
    # Of the 16 signs of (1, 2, 3, 4), 1 + 1 have a sum of 10 or -10; of (1, 2, 3, -4) more.
    zeros = np.zeros(4)
    assert kf.stats.paired_permutation_test([1, 2, 3, 4], zeros) == 2 / 16
    assert kf.stats.paired_permutation_test([1, 2, 3, -4], zeros) == 14 / 16
    assert kf.stats.paired_permutation_test(zeros, zeros) == 1.0


def test_holm_multiplies_the_smallest_most_and_keeps_the_order():
    assert kf.stats.holm([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])
    assert kf.stats.holm([0.9, 0.8]) == [1.0, 1.0]
    assert kf.stats.holm([]) == []


def test_ties_count_half_of_an_improvement():
    found = kf.stats.probability_of_improvement([1.0, 2.0, 3.0], [2.0, 2.0])
    assert found.mean == pytest.approx((0 + 0 + 0.5 + 0.5 + 1 + 1) / 6)
    assert 0.0 <= found.low <= found.mean <= found.high <= 1.0


def test_scipy_counts_the_same_improvement():
    from scipy.stats import mannwhitneyu

    rng = np.random.default_rng(0)
    a, b = rng.normal(0.5, 1, 20), rng.normal(0, 1, 15)
    found = kf.stats.probability_of_improvement(a, b)
    assert found.mean == pytest.approx(mannwhitneyu(a, b).statistic / 300)


def test_advice_says_how_many_episodes_are_the_least():
    assert kf.stats.min_pairs() == 6
    assert kf.stats.min_pairs(0.01) == 8
    message = "With 4 episodes no p below 0.05 is possible; 6 is the least."
    assert kf.stats.describe_sample_size(4) == message
    assert kf.stats.describe_sample_size(6) is None


def test_power_and_sample_size_are_those_of_the_paired_t_test():
    # Cohen (1988): an effect of half a standard deviation needs 34 pairs for a power of 0.8.
    assert kf.stats.sample_size(0.5, 1.0) == 34
    assert kf.stats.power(34, 0.5, 1.0) > 0.8 > kf.stats.power(33, 0.5, 1.0)
    assert kf.stats.power(5, 99.0, 1.0) == 0.0, "no permutation test of 5 pairs gives p < 0.05"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: kf.stats.sample_size(0.0, 1.0),
            "A sample size needs a difference that is not 0 and a power between 0 and 1.",
        ),
        (
            lambda: kf.stats.sample_size(1e-6, 1.0),
            "A difference of 1e-06 needs more than a million pairs.",
        ),
        (lambda: kf.stats.power(9, 1.0, 0.0), "The spread of differences is positive, not 0.0."),
        (
            lambda: kf.stats.min_pairs(5),
            "A significance level is between 0 and 1, such as 0.05, not 5.",
        ),
        (
            lambda: kf.stats.paired_difference([1, 2], [1]),
            "Paired values must be of the same episodes, but there are 2 and 1 values.",
        ),
    ],
)
def test_wrong_numbers_are_refused(call, message):
    with pytest.raises(UsageError) as refused:
        call()
    assert str(refused.value) == message


def test_episodes_without_a_value_are_left_out_of_a_comparison():
    nan = float("nan")
    found = compare_paired(np.array([1.0, nan, 3.0]), np.array([0.0, 5.0, 2.0]))
    assert (found.n_episodes, found.difference.mean) == (2, 1.0)
    none = compare_paired(np.array([nan]), np.array([1.0]))
    assert none == (None, 1.0, "neither", 0, 1.0, 1.0)


def test_several_comparisons_are_adjusted_and_the_better_one_is_named_by_that():
    # All differences positive: p = 2 / 2^12 and 2 / 2^6.
    pairs = {str(n): compare_paired(np.arange(1.0, n + 1), np.zeros(n)) for n in (12, 6)}
    assert [pair.better for pair in pairs.values()] == ["first", "first"]
    found = adjust_comparisons(pairs)
    assert [pair.p_value for pair in found.values()] == [2 / 2**12, 2 / 2**6]
    assert [pair.adjusted_p_value for pair in found.values()] == [4 / 2**12, 2 / 2**6]
    assert [pair.better for pair in found.values()] == ["first", "first"]
    again = adjust_comparisons({**pairs, "same": pairs["6"]})
    assert [pair.adjusted_p_value for pair in again.values()] == [6 / 2**12, 4 / 2**6, 4 / 2**6]
    assert [pair.better for pair in again.values()] == ["first", "neither", "neither"]


CONTRAST = (
    "The interval of the difference between a and b {} 0, but p = {}: {}. The p-value decides."
)


def test_an_interval_without_zero_and_a_large_p_value_are_explained():
    few = compare_paired(np.array([1.0, 1.1, 0.9, 1.0, 1.0]), np.zeros(5))
    assert few.difference.low > 0
    assert describe_disagreement("a", "b", few) == CONTRAST.format(
        "excludes",
        "0.0625",
        "so few unequal episodes allow no smaller p-value, however large the difference is",
    )
    one = compare_paired(np.array([1.0, 1.1, 0.9, 1.0, 1.0, 0.8]), np.zeros(6))
    assert describe_disagreement("a", "b", one) is None
    four = adjust_comparisons({str(i): one for i in range(4)})["0"]
    assert describe_disagreement("a", "b", four) == CONTRAST.format(
        "excludes", "0.1250", "the p-value is adjusted for several comparisons, the interval is not"
    )
    skewed = compare_paired(np.array([1.0, 1, 1, 1, 1, 1, 30]), np.zeros(7))
    assert describe_disagreement("a", "b", skewed) == CONTRAST.format(
        "contains",
        "0.0156",
        "the interval assumes normally distributed differences, the permutation test does not",
    )
