"""Why a confidence interval may cover less than its level: few, skewed or nearly equal values."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kinfolk.core.arrays import AnyArray

# Below this n the shape of a distribution cannot be seen in a sample. From it on, intervals of
# skewed values cover too little while n < _SKEW_FACTOR * skewness^2. The factor was chosen on the
# distributions of the table in docs/evaluation.md, so that six of ten samples are warned of wherever
# coverage is below 90 %; 8, 10 and 15 warned of fewer.
MIN_VALUES = 6
_SKEW_FACTOR = 18


def describe_weakness(values: AnyArray) -> str | None:
    """Describe why the interval of a mean may cover less than its level; None if it should not.

    >>> describe_weakness(np.array([1.0, 2.0, 4.0]))
    'The interval of 3 values holds only if they are about normally distributed, which fewer than 6 values cannot show.'
    """
    numbers = np.asarray(values, dtype=np.float64)
    n = len(numbers)
    if n < 2:
        return None
    if numbers.min() == numbers.max():
        return (
            f"All {n} values are equal, so their interval has no width; others may differ. "
            "Draw more values."
        )
    if n < MIN_VALUES:
        return (
            f"The interval of {n} values holds only if they are about normally distributed, which "
            f"fewer than {MIN_VALUES} values cannot show."
        )
    skewness = _compute_skewness(numbers)
    needed = int(np.ceil(_SKEW_FACTOR * skewness**2))
    if needed > n:
        return (
            f"The {n} values are skewed (skewness {skewness:.1f}), so their interval may cover the true "
            f"mean in less than 90 % of cases; {needed} values would do, or method='bootstrap'."
        )
    return None


def _compute_skewness(numbers: AnyArray) -> float:
    """Return the skewness of values that are not all equal, as `scipy.stats.skew` defines it.

    scipy.stats takes half a second to import, which every evaluation would spend.
    """
    deviations = numbers - numbers.mean()
    return float((deviations**3).mean() / (deviations**2).mean() ** 1.5)


def describe_weak_proportion(values: AnyArray) -> str | None:
    """Describe why Wilson's interval may cover less than 90 %; None if it should not.

    It covers too little where the expected number of wins, or of losses, is about 0.2 to 0.6. Nine of
    ten such samples have at most one of them.

    >>> describe_weak_proportion(np.array([1.0] * 9 + [0.0]))
    "Only 1 of 10 values is not a win: near 0 and 1 Wilson's interval may cover the true proportion in less than 90 % of cases; method='exact' never covers less than its level."
    """
    n, won = len(values), float(np.sum(values))
    if n < 2:
        return None
    if n < MIN_VALUES:
        return (
            f"The interval of a proportion of {n} values may cover the true one in less than 90 % of "
            f"cases; {MIN_VALUES} values would do, or method='exact'."
        )
    rare, kind = (won, "a win") if won <= 0.5 * n else (n - won, "not a win")
    if rare > 1:
        return None
    count = (
        f"Only {rare:g} of {n} values is {kind}" if rare > 0 else f"None of {n} values is {kind}"
    )
    return (
        f"{count}: near 0 and 1 Wilson's interval may cover the true proportion in less than 90 % of "
        "cases; method='exact' never covers less than its level."
    )


def describe_weak_columns(columns: Mapping[str, AnyArray]) -> list[str]:
    """Describe which intervals of a table may cover less than 90 %: a sentence for each reason.

    Columns whose values are all equal are left out: they are more often a rule of the world than a
    small sample.

    Args:
        columns: By name, `[episodes]` each: NaN where a metric does not apply, booleans for proportions.

    >>> describe_weak_columns({"return": np.array([0.0] * 9 + [50.0]), "ticks": np.arange(10.0)})
    ['Skewed: the interval of return may cover the true mean in less than 90 % of cases.']
    """
    few: list[str] = []
    skewed: list[str] = []
    rare: list[str] = []
    for name, values in columns.items():
        finite = values[np.isfinite(values)]
        if not len(finite):
            continue
        if values.dtype == np.bool_:
            rare += [name] if describe_weak_proportion(finite) else []
        elif finite.min() != finite.max() and describe_weakness(finite):
            (few if len(finite) < MIN_VALUES else skewed).append(name)
    reasons = {
        f"Fewer than {MIN_VALUES} values: the interval of {{}} holds only for about normally "
        "distributed values.": few,
        "Skewed: the interval of {} may cover the true mean in less than 90 % of cases.": skewed,
        "Few values, or all but one alike: the interval of the proportion {} may cover the true one "
        "in less than 90 % of cases.": rare,
    }
    return [reason.format(", ".join(names)) for reason, names in reasons.items() if names]
