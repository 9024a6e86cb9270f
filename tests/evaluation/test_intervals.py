"""`kf.stats`: which interval is computed, when there is none, and what it warns of."""

import warnings

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.core.errors import UsageError

SIX = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]


def quietly(function, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kf.stats.IntervalWarning)
        return function(*arguments, **options)


def test_the_interval_of_a_mean_is_that_of_students_t_at_any_level():
    # Mean 3.5, standard deviation sqrt(3.5); points of t with 5 degrees of freedom.
    for level, t in ((0.95, 2.5705818366147395), (0.9, 2.0150483733330233)):
        found = kf.stats.mean_interval(SIX, level)
        half = t * (3.5 / 6) ** 0.5
        assert found == pytest.approx((3.5, 3.5 - half, 3.5 + half, 6))


def test_scipy_gives_the_same_interval():
    from scipy.stats import ttest_1samp

    values = np.random.default_rng(0).normal(2.0, 1.0, 12)
    expected = ttest_1samp(values, 0.0).confidence_interval(0.95)
    assert kf.stats.mean_interval(values)[1:3] == pytest.approx(tuple(expected))


def test_one_value_has_no_interval():
    assert kf.stats.mean_interval([4.0]) == (4.0, None, None, 1)
    assert kf.stats.seed_interval({7: [1.0, 3.0]}) == (2.0, None, None, 1)
    assert kf.stats.interquartile_mean([4.0]) == (4.0, None, None, 1)
    assert kf.stats.probability_of_improvement([1.0], [0.0, 2.0]) == (0.5, None, None, 3)


def test_the_studentised_bootstrap_is_wider_on_the_side_of_the_long_tail():
    values = np.random.default_rng(3).exponential(1.0, 40)
    found = quietly(kf.stats.mean_interval, values, method="bootstrap")
    t = quietly(kf.stats.mean_interval, values)
    assert found.mean == t.mean
    assert found.high > t.high
    assert found.low > t.low
    assert quietly(kf.stats.mean_interval, values, method="bootstrap") == found


@pytest.mark.parametrize("method", ["wilson", "exact"])
def test_the_interval_of_a_proportion_is_that_of_scipy(method):
    from scipy.stats import binomtest

    expected = binomtest(3, 12).proportion_ci(0.95, method=method)
    found = kf.stats.proportion_interval([1] * 3 + [0] * 9, method=method)
    assert found == pytest.approx((0.25, expected.low, expected.high, 12))


def test_wilsons_interval_is_the_default_of_proportions_and_booleans():
    values = [1] * 3 + [0] * 9
    wilson = kf.stats.proportion_interval(values, method="wilson")
    assert kf.stats.proportion_interval(values) == wilson
    assert kf.stats.mean_interval(np.array(values, dtype=bool)) == wilson


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            [1, 0, 1],
            "The interval of a proportion of 3 values may cover the true one in less than 90 % of "
            "cases; 6 values would do, or method='exact'.",
        ),
        (
            [0] * 10,
            "None of 10 values is a win: near 0 and 1 Wilson's interval may cover the true proportion "
            "in less than 90 % of cases; method='exact' never covers less than its level.",
        ),
        (
            [1] * 9 + [0],
            "Only 1 of 10 values is not a win: near 0 and 1 Wilson's interval may cover the true "
            "proportion in less than 90 % of cases; method='exact' never covers less than its level.",
        ),
    ],
)
def test_a_proportion_near_0_or_1_comes_with_a_warning(values, message):
    for call in (
        lambda: kf.stats.proportion_interval(values),
        lambda: kf.stats.mean_interval(np.array(values, dtype=bool)),
    ):
        with pytest.warns(kf.stats.IntervalWarning) as caught:
            call()
        assert [str(warning.message) for warning in caught] == [message]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kf.stats.proportion_interval(values, method="exact")


def test_the_interval_over_seeds_is_t_over_their_means():
    table = {0: [1.0, 3.0], 1: [4.0, 4.0, 4.0], 2: [6.0]}
    assert kf.stats.seed_interval(table) == quietly(kf.stats.mean_interval, [2.0, 4.0, 6.0])


def test_the_hierarchical_bootstrap_draws_seeds_and_then_episodes():
    rng = np.random.default_rng(0)
    table = [rng.normal(rng.normal(0.0, 1.0), 0.5, 8) for _ in range(30)]
    found = kf.stats.seed_interval(table, method="bootstrap")
    t = kf.stats.seed_interval(table)
    assert found.mean == t.mean
    assert found.n == 30
    assert found.high - found.low == pytest.approx(t.high - t.low, rel=0.15)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            [1.0, 2.0, 3.0],
            "The interval of 3 values holds only if they are about normally distributed, which fewer "
            "than 6 values cannot show.",
        ),
        (
            [2.0] * 8,
            "All 8 values are equal, so their interval has no width; others may differ. Draw more values.",
        ),
        (
            [0.0] * 9 + [50.0],
            "The 10 values are skewed (skewness 2.7), so their interval may cover the true mean in less "
            "than 90 % of cases; 128 values would do, or method='bootstrap'.",
        ),
    ],
)
def test_an_interval_that_may_cover_too_little_comes_with_a_warning(values, message):
    with pytest.warns(kf.stats.IntervalWarning) as caught:
        kf.stats.mean_interval(values)
    assert [str(warning.message) for warning in caught] == [message]


def test_an_interval_over_few_seeds_comes_with_a_warning():
    with pytest.warns(kf.stats.IntervalWarning, match=r"^The interval of 3 values holds only if "):
        kf.stats.seed_interval([[1.0, 2.0], [2.0, 4.0], [5.0]])


def test_ten_evenly_spread_values_give_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kf.stats.mean_interval(np.arange(10.0))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: kf.stats.mean_interval([]),
            "Statistics are of a list of one or more numbers, not of no values.",
        ),
        (
            lambda: kf.stats.mean_interval([[1.0], [2.0]]),
            "Statistics are of a list of one or more numbers, not of an array of shape (2, 1).",
        ),
        (
            lambda: kf.stats.mean_interval([1.0, float("nan"), 2.0]),
            "1 of 3 values is not finite. Leave out those to which the metric does not apply.",
        ),
        (
            lambda: kf.stats.mean_interval(["a"]),
            "Statistics are of numbers, not of ['a'].",
        ),
        (
            lambda: kf.stats.mean_interval(SIX, level=95),
            "The level of an interval is between 0 and 1, such as 0.95, not 95.",
        ),
        (
            lambda: kf.stats.mean_interval(SIX, method="bca"),
            "The method of an interval is 't' or 'bootstrap', not 'bca'.",
        ),
        (
            lambda: kf.stats.seed_interval([SIX, SIX], method="bca"),
            "The method of an interval is 't' or 'bootstrap', not 'bca'.",
        ),
        (
            lambda: kf.stats.proportion_interval([2.0, 0.0]),
            "A proportion is of values between 0 and 1: a win is 1, a tie 0.5.",
        ),
        (
            lambda: kf.stats.proportion_interval([1.0, 0.0], method="t"),
            "The method of a proportion is 'wilson' or 'exact', not 't'.",
        ),
    ],
)
def test_wrong_values_levels_and_methods_are_refused(call, message):
    with pytest.raises(UsageError) as refused:
        call()
    assert str(refused.value) == message


def test_an_interquartile_mean_leaves_out_both_tails():
    found = kf.stats.interquartile_mean([-1000.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 1000.0])
    assert found.mean == 3.5
    assert found.low < 3.5 < found.high
    assert kf.stats.interquartile_mean([2.0] * 5) == (2.0, 2.0, 2.0, 5)


def test_a_performance_profile_is_a_proportion_at_each_threshold():
    points = kf.stats.performance_profile([1.0, 2.0, 3.0, 4.0], [0.0, 2.5, 9.0])
    assert [point.mean for point in points] == [1.0, 0.5, 0.0]
    assert points[1] == quietly(kf.stats.proportion_interval, [0, 0, 1, 1])
