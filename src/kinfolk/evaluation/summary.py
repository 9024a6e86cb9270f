"""What results say: means with bootstrap intervals."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinfolk.core.arrays import AnyArray

CONFIDENCE = 0.95
_RESAMPLES = 2000


class Estimate(NamedTuple):
    """A mean and the interval that holds it with 95 % confidence."""

    mean: float
    low: float
    high: float


def estimate(values: AnyArray) -> Estimate:
    """The mean of independent values; the same values give the same interval.

    One value, or equal values, have no spread to tell of: the interval is the mean itself.
    """
    numbers = np.asarray(values, dtype=np.float64)
    mean = float(numbers.mean())
    if len(numbers) < 2 or numbers.min() == numbers.max():
        return Estimate(mean, mean, mean)
    from scipy.stats import bootstrap  # takes most of a second to import, and is needed last

    # scipy's default (BCa) needs a jackknife of its own; percentile is enough for a mean.
    interval = bootstrap(
        (numbers,),
        np.mean,
        n_resamples=_RESAMPLES,
        confidence_level=CONFIDENCE,
        method="percentile",
        rng=np.random.default_rng(0),
    ).confidence_interval
    return Estimate(mean, float(interval.low), float(interval.high))
