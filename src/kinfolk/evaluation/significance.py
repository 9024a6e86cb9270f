"""Tests of differences: paired permutation, corrections for several tests, power, sample size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray
from kinfolk.core.errors import UsageError
from kinfolk.evaluation.intervals import check_values
from kinfolk.evaluation.statistics import CONFIDENCE_LEVEL, Estimate, estimate_mean

SIGNIFICANCE_LEVEL = 0.05  # below this p-value a difference is reported
_N_PERMUTATIONS = 9999
_N_RESAMPLES = 2000
_MAX_PAIRS = 1_000_000  # beyond which a sample size is not searched


def min_pairs(alpha: float = SIGNIFICANCE_LEVEL) -> int:
    """Return the fewest pairs with which a two-sided permutation test can give p < alpha.

    With n unequal pairs its p-value is at least 2 / 2^n.

    >>> min_pairs()
    6
    """
    _check_alpha(alpha)
    return 1 + math.floor(1 - math.log2(alpha))


def paired_difference(first: Any, second: Any, level: float = CONFIDENCE_LEVEL) -> Estimate:
    """Return the mean of `first - second` over common episodes, with its interval.

    Args:
        first: `[n]`, values of one policy.
        second: `[n]`, values of another in the same episodes.
        level: Confidence level, between 0 and 1.

    Raises:
        UsageError: The numbers of values differ, or one is not finite.
    """
    a, b = _check_pairs(first, second)
    return estimate_mean(a - b, level)


def paired_permutation_test(first: Any, second: Any) -> float:
    """Return the two-sided p-value of a paired permutation test of equal means; deterministic.

    It is exact up to 13 pairs; from 14 on, 9,999 random permutations are drawn with a fixed seed.

    Raises:
        UsageError: The numbers of values differ, or one is not finite.

    >>> paired_permutation_test([1, 2, 3, 4, 5, 6], [0, 0, 0, 0, 0, 0])
    0.03125
    """
    a, b = _check_pairs(first, second)
    if np.array_equal(a, b) or len(a) < 2:
        return 1.0
    from scipy.stats import permutation_test

    def mean_difference(x: AnyArray, y: AnyArray, axis: int) -> AnyArray:
        """Return the statistic of the test: the difference of the means along an axis."""
        return np.asarray(np.mean(x - y, axis=axis))

    n, rng = _N_PERMUTATIONS, np.random.default_rng(0)
    result = permutation_test(
        (a, b), mean_difference, permutation_type="samples", vectorized=True, n_resamples=n, rng=rng
    )
    return float(result.pvalue)


def probability_of_improvement(
    first: Any, second: Any, level: float = CONFIDENCE_LEVEL
) -> Estimate:
    """Return the probability that a value of `first` exceeds one of `second`; ties count half.

    It is the statistic of Mann and Whitney's test divided by the number of pairs, as in rliable
    (Agarwal et al. 2021), with a percentile bootstrap interval over both samples.

    Args:
        first: Values of one method, such as one per seed.
        second: Values of another; the two are not paired.
        level: Confidence level, between 0 and 1.

    Returns:
        The estimate, whose `n` counts both samples; no interval if one of them is a single value.

    >>> probability_of_improvement([3, 4, 5], [1, 2, 3]).mean.__round__(3)
    0.944
    """
    a, b = check_values(first, level), check_values(second, level)
    from scipy.stats import bootstrap

    def improvement(x: AnyArray, y: AnyArray, axis: int = -1) -> AnyArray:
        """Return the share of pairs in which x is larger, along the last axis."""
        x, y = np.moveaxis(x, axis, -1)[..., :, None], np.moveaxis(y, axis, -1)[..., None, :]
        return np.asarray(np.mean((x > y) + 0.5 * (x == y), axis=(-2, -1)))

    mean, n = float(improvement(a, b)), len(a) + len(b)
    if min(len(a), len(b)) < 2:
        return Estimate(mean, None, None, n)
    result = bootstrap(
        (a, b), improvement, n_resamples=_N_RESAMPLES, batch=100, vectorized=True,
        confidence_level=level, method="percentile", rng=np.random.default_rng(0),
    )  # fmt: skip
    low, high = result.confidence_interval
    return Estimate(mean, float(low), float(high), n)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted for several tests by Holm (1979), in the same order.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted


def power(n: int, difference: float, spread: float, alpha: float = SIGNIFICANCE_LEVEL) -> float:
    """Return the probability that `n` pairs show a true mean difference, by the paired t-test.

    Args:
        n: Number of pairs.
        difference: True mean of the differences.
        spread: Standard deviation of the differences.
        alpha: Significance level.

    Returns:
        The power; 0 if a permutation test of so few pairs cannot reach `alpha`.

    Raises:
        UsageError: `spread` is not positive, or `alpha` is not between 0 and 1.
    """
    _check_alpha(alpha)
    if spread <= 0:
        raise UsageError(f"The spread of differences is positive, not {spread}.")
    if n < min_pairs(alpha):
        return 0.0
    from scipy.stats import nct, t

    critical = t.ppf(1 - 0.5 * alpha, n - 1)
    shift = difference / spread * math.sqrt(n)
    return float(nct.sf(critical, n - 1, shift) + nct.cdf(-critical, n - 1, shift))


def sample_size(
    difference: float,
    spread: float,
    power_wanted: float = 0.8,
    alpha: float = SIGNIFICANCE_LEVEL,
) -> int:
    """Return the fewest pairs that show a true mean difference with the power that is wanted.

    Args:
        difference: True mean of the differences, not 0.
        spread: Standard deviation of the differences; a small first comparison estimates it.
        power_wanted: Probability of finding the difference.
        alpha: Significance level.

    Raises:
        UsageError: The difference is 0, a number is out of range, or a million pairs would not do.

    >>> sample_size(difference=0.1, spread=0.2)
    34
    """
    if difference == 0 or not 0.0 < power_wanted < 1.0:
        raise UsageError(
            "A sample size needs a difference that is not 0 and a power between 0 and 1."
        )
    low, high = min_pairs(alpha), min_pairs(alpha)
    while power(high, difference, spread, alpha) < power_wanted:
        low, high = high + 1, 2 * high
        if high > _MAX_PAIRS:
            raise UsageError(f"A difference of {difference} needs more than a million pairs.")
    while low < high:
        middle = (low + high) // 2
        if power(middle, difference, spread, alpha) < power_wanted:
            low = middle + 1
        else:
            high = middle
    return low


def describe_sample_size(n: int, alpha: float = SIGNIFICANCE_LEVEL) -> str | None:
    """Describe that too few pairs cannot show a difference; None if they can.

    >>> describe_sample_size(4)
    'With 4 episodes no p below 0.05 is possible; 6 is the least.'
    """
    least = min_pairs(alpha)
    if n >= least:
        return None
    return f"With {n} episodes no p below {alpha:g} is possible; {least} is the least."


def _check_alpha(alpha: float) -> None:
    """Check that a significance level is a probability.

    Raises:
        UsageError: It is not between 0 and 1.
    """
    if not 0.0 < alpha < 1.0:
        raise UsageError(f"A significance level is between 0 and 1, such as 0.05, not {alpha}.")


def _check_pairs(first: Any, second: Any) -> tuple[AnyArray, AnyArray]:
    """Return paired values as `[n]` floats each.

    Raises:
        UsageError: The numbers of values differ, or one is not finite.
    """
    a, b = check_values(first), check_values(second)
    if a.shape != b.shape:
        raise UsageError(
            f"Paired values must be of the same episodes, but there are {len(a)} and {len(b)} values."
        )
    return a, b
