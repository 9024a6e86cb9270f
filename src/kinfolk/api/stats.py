"""`kf.stats`: the statistics that every report of kinfolk uses.

>>> import kinfolk as kf
>>> estimate = kf.stats.mean_interval([3.1, 2.9, 3.4, 3.0, 3.3, 2.8])
>>> f"{estimate.mean:.2f} ({estimate.low:.2f} to {estimate.high:.2f}), n = {estimate.n}"
'3.08 (2.84 to 3.33), n = 6'
"""

from __future__ import annotations

from kinfolk.evaluation.aggregates import interquartile_mean, performance_profile
from kinfolk.evaluation.comparison import PairedComparison, compare_paired
from kinfolk.evaluation.intervals import (
    IntervalWarning,
    mean_interval,
    proportion_interval,
    seed_interval,
)
from kinfolk.evaluation.significance import (
    describe_sample_size,
    holm,
    min_pairs,
    paired_difference,
    paired_permutation_test,
    power,
    probability_of_improvement,
    sample_size,
)
from kinfolk.evaluation.statistics import Estimate
from kinfolk.evaluation.weakness import describe_weak_proportion, describe_weakness

__all__ = [
    "Estimate",
    "IntervalWarning",
    "PairedComparison",
    "compare_paired",
    "describe_sample_size",
    "describe_weak_proportion",
    "describe_weakness",
    "holm",
    "interquartile_mean",
    "mean_interval",
    "min_pairs",
    "paired_difference",
    "paired_permutation_test",
    "performance_profile",
    "power",
    "probability_of_improvement",
    "proportion_interval",
    "sample_size",
    "seed_interval",
]
