"""Confidence intervals for users: of a mean, a share, or values that come from several seeds."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from kinfolk.core.arrays import AnyArray
from kinfolk.core.errors import UsageError
from kinfolk.evaluation.statistics import (
    CONFIDENCE_LEVEL,
    Estimate,
    estimate_mean,
    estimate_proportion,
)
from kinfolk.evaluation.weakness import describe_weak_proportion, describe_weakness

_N_RESAMPLES = 9999


class IntervalWarning(UserWarning):
    """An interval whose true coverage may be well below its level."""


def mean_interval(
    values: Any,
    level: float = CONFIDENCE_LEVEL,
    method: Literal["t", "bootstrap"] = "t",
) -> Estimate:
    """Return the mean of independent values with its confidence interval.

    Args:
        values: `[n]` finite numbers, drawn independently; booleans are a proportion, whose interval
            is Wilson's.
        level: Confidence level, between 0 and 1.
        method: Student's t, or the studentised bootstrap (Efron and Tibshirani 1993, 12.5), which
            covers more of skewed data and needs 10 values or more.

    Returns:
        The estimate; a single value has no interval.

    Raises:
        UsageError: There is no value, one is not finite, or `level` or `method` is wrong.

    Warns:
        IntervalWarning: So few values, or so skewed ones, that the interval may cover too little.

    >>> mean_interval([1.0, 2.0, 4.0, 4.0, 5.0, 6.0, 6.0]).n
    7
    """
    numbers = check_values(values, level)
    is_proportion = np.asarray(values).dtype == np.bool_
    if method not in ("t", "bootstrap"):
        raise UsageError(f"The method of an interval is 't' or 'bootstrap', not {method!r}.")
    weakness = (describe_weak_proportion if is_proportion else describe_weakness)(numbers)
    if weakness is not None:
        warnings.warn(weakness, IntervalWarning, stacklevel=2)
    if is_proportion:
        return estimate_proportion(numbers, level)
    if method == "t" or len(numbers) < 2 or numbers.min() == numbers.max():
        return estimate_mean(numbers, level)
    return _bootstrap_t_interval(numbers, level)


def proportion_interval(
    values: Any,
    level: float = CONFIDENCE_LEVEL,
    method: Literal["wilson", "exact"] = "wilson",
) -> Estimate:
    """Return a proportion, such as a win rate, with its confidence interval.

    Args:
        values: `[n]` between 0 and 1: 1 for a win, 0 for none, a half for a tie of two.
        level: Confidence level, between 0 and 1.
        method: "wilson" covers `level` on average, but only 84 % of some proportions near 0 and 1;
            "exact" (Clopper and Pearson) is longer and never covers less than `level`.

    Returns:
        The estimate; a single value has no interval.

    Raises:
        UsageError: A value is not between 0 and 1, or `level` or `method` is wrong.

    Warns:
        IntervalWarning: Wilson's interval may cover less than 90 %: few values, or all but one alike.

    >>> [round(end, 3) for end in proportion_interval([1] * 8 + [0] * 4)[1:3]]
    [0.391, 0.862]
    """
    numbers = check_values(values, level)
    if numbers.min() < 0 or numbers.max() > 1:
        raise UsageError("A proportion is of values between 0 and 1: a win is 1, a tie 0.5.")
    if method not in ("wilson", "exact"):
        raise UsageError(f"The method of a proportion is 'wilson' or 'exact', not {method!r}.")
    if method == "exact" and len(numbers) > 1:
        return _exact_proportion_interval(numbers, level)
    weakness = describe_weak_proportion(numbers)
    if weakness is not None:
        warnings.warn(weakness, IntervalWarning, stacklevel=2)
    return estimate_proportion(numbers, level)


def _exact_proportion_interval(numbers: AnyArray, level: float) -> Estimate:
    """Return a proportion of two or more values with its interval by Clopper and Pearson (1934)."""
    from scipy.special import betaincinv

    n, won, tail = len(numbers), float(numbers.sum()), 0.5 * (1.0 - level)
    low = 0.0 if won <= 0 else float(betaincinv(won, n - won + 1, tail))
    high = 1.0 if won >= n else float(betaincinv(won + 1, n - won, 1.0 - tail))
    return Estimate(float(numbers.mean()), low, high, n)


def seed_interval(
    values_by_seed: Mapping[Any, Any] | Sequence[Any],
    level: float = CONFIDENCE_LEVEL,
    method: Literal["t", "bootstrap"] = "t",
) -> Estimate:
    """Return the mean over seeds with an interval for a claim about the method, not about one run.

    Episodes of one training or evolution share its luck, so seeds are what was drawn independently.

    Args:
        values_by_seed: For each seed the values of its episodes.
        level: Confidence level, between 0 and 1.
        method: Student's t over the means of the seeds, or a hierarchical bootstrap, which draws
            seeds and then episodes of each; its percentile interval needs about 20 seeds.

    Returns:
        The mean of the means of the seeds; `n` is the number of seeds. One seed has no interval.

    Raises:
        UsageError: A seed has no values, or `level` or `method` is wrong.

    Warns:
        IntervalWarning: So few seeds, or means so skewed, that the interval may cover too little.
    """
    groups = values_by_seed.values() if isinstance(values_by_seed, Mapping) else values_by_seed
    tables = [check_values(group, level) for group in groups]
    means = check_values([table.mean() for table in tables], level)
    weakness = describe_weakness(means)
    if weakness is not None:
        warnings.warn(weakness, IntervalWarning, stacklevel=2)
    if method == "t" or len(means) < 2:
        return estimate_mean(means, level)
    if method != "bootstrap":
        raise UsageError(f"The method of an interval is 't' or 'bootstrap', not {method!r}.")
    rng = np.random.default_rng(0)
    # One draw of the episodes of every seed for each place that a drawn seed takes.
    drawn = rng.integers(len(tables), size=(_N_RESAMPLES, len(tables)))
    resampled = np.zeros(drawn.shape)
    for seed, table in enumerate(tables):
        places = np.nonzero(drawn == seed)
        picks = rng.integers(len(table), size=(len(places[0]), len(table)))
        resampled[places] = table[picks].mean(axis=1)
    low, high = np.quantile(resampled.mean(axis=1), [0.5 - 0.5 * level, 0.5 + 0.5 * level])
    return Estimate(float(means.mean()), float(low), float(high), len(means))


def check_values(values: Any, level: float = CONFIDENCE_LEVEL) -> AnyArray:
    """Return values as `[n]` floats.

    Raises:
        UsageError: There is no value, one is not finite, or `level` is not between 0 and 1.
    """
    if not 0.0 < level < 1.0:
        raise UsageError(f"The level of an interval is between 0 and 1, such as 0.95, not {level}.")
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise UsageError(f"Statistics are of numbers, not of {values!r}.") from None
    if numbers.ndim != 1 or not len(numbers):
        shape = "no values" if not numbers.size else f"an array of shape {numbers.shape}"
        raise UsageError(f"Statistics are of a list of one or more numbers, not of {shape}.")
    wrong = int(np.count_nonzero(~np.isfinite(numbers)))
    if wrong:
        raise UsageError(
            f"{wrong} of {len(numbers)} values {'is' if wrong == 1 else 'are'} not finite. Leave out "
            "those to which the metric does not apply."
        )
    return numbers


def _bootstrap_t_interval(numbers: AnyArray, level: float) -> Estimate:
    """Return the mean of unequal values with its studentised bootstrap interval; deterministic."""
    n, mean = len(numbers), float(numbers.mean())
    picks = np.random.default_rng(0).integers(n, size=(_N_RESAMPLES, n))
    drawn = numbers[picks]
    errors = drawn.std(axis=1, ddof=1) / np.sqrt(n)
    useful = errors > 0  # a draw of equal values has no t
    t = (drawn.mean(axis=1)[useful] - mean) / errors[useful]
    low, high = np.quantile(t, [0.5 - 0.5 * level, 0.5 + 0.5 * level])
    error = float(numbers.std(ddof=1) / np.sqrt(n))
    return Estimate(mean, mean - float(high) * error, mean - float(low) * error, n)
