"""Robust aggregates over runs and tasks: interquartile mean and performance profiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray
from kinfolk.evaluation.intervals import check_values
from kinfolk.evaluation.statistics import CONFIDENCE_LEVEL, Estimate, estimate_proportion

_N_RESAMPLES = 9999


def interquartile_mean(values: Any, level: float = CONFIDENCE_LEVEL) -> Estimate:
    """Return the mean of the middle half of the values, with a percentile bootstrap interval.

    It is less sensitive to outliers than the mean and more efficient than the median (Agarwal et al.
    2021); the largest and the smallest quarter of the values are left out.

    Args:
        values: `[n]` finite numbers, one per run.
        level: Confidence level, between 0 and 1.

    Returns:
        The estimate; a single value has no interval.

    >>> interquartile_mean([0, 1, 2, 3, 4, 5, 6, 1000]).mean
    3.5
    """
    numbers = check_values(values, level)
    from scipy.stats import bootstrap, trim_mean

    mean, n = float(trim_mean(numbers, 0.25)), len(numbers)
    if n < 2 or numbers.min() == numbers.max():
        end = None if n < 2 else mean
        return Estimate(mean, end, end, n)

    def middle_mean(x: AnyArray, axis: int) -> AnyArray:
        """Return the interquartile mean along an axis."""
        return np.asarray(trim_mean(x, 0.25, axis=axis))

    result = bootstrap(
        (numbers,), middle_mean, n_resamples=_N_RESAMPLES, vectorized=True,
        confidence_level=level, method="percentile", rng=np.random.default_rng(0),
    )  # fmt: skip
    low, high = result.confidence_interval
    return Estimate(mean, float(low), float(high), n)


def performance_profile(
    values: Any, thresholds: Sequence[float], level: float = CONFIDENCE_LEVEL
) -> list[Estimate]:
    """Return the share of runs whose value exceeds each threshold, with intervals.

    Args:
        values: `[n]` finite numbers, one per run.
        thresholds: Values at which the profile is computed.
        level: Confidence level of each point of the profile.

    Returns:
        One proportion for each threshold.

    >>> [point.mean for point in performance_profile([1, 2, 3, 4], thresholds=[0, 2, 4])]
    [1.0, 0.5, 0.0]
    """
    numbers: AnyArray = check_values(values, level)
    cuts = check_values(list(thresholds), level)
    return [estimate_proportion(numbers > cut, level) for cut in cuts]


def estimate_stratified_mean(
    strata: Sequence[AnyArray], level: float = CONFIDENCE_LEVEL
) -> Estimate:
    """Return the mean over strata of their means, each stratum with equal weight.

    Strata are fixed, such as the scenarios of a table, and values within them are drawn
    independently. The interval is by Student's t with the degrees of freedom of Welch and Satterthwaite.

    Args:
        strata: `[n]` values of each stratum, n of at least 2.
        level: Confidence level, between 0 and 1.

    Returns:
        The estimate; `n` counts the values of all strata.

    >>> estimate_stratified_mean([np.array([1.0, 1.0]), np.array([3.0, 3.0, 3.0])])
    Estimate(mean=2.0, low=2.0, high=2.0, n=5)
    """
    from scipy.special import stdtrit

    means = [float(np.mean(values)) for values in strata]
    variances = np.array([np.var(values, ddof=1) / len(values) for values in strata])
    freedoms = np.array([len(values) - 1 for values in strata])
    mean, total, n = float(np.mean(means)), float(variances.sum()), sum(map(len, strata))
    if total == 0.0:
        return Estimate(mean, mean, mean, n)
    freedom = total**2 / float((variances**2 / freedoms).sum())
    half = float(stdtrit(freedom, 0.5 + 0.5 * level)) * np.sqrt(total) / len(strata)
    return Estimate(mean, mean - float(half), mean + float(half), n)
