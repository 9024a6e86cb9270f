"""Compare two policies by a paired permutation test on common episodes."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from kinfolk.core.arrays import AnyArray
from kinfolk.core.errors import UsageError
from kinfolk.evaluation.significance import (
    SIGNIFICANCE_LEVEL,
    holm,
    min_pairs,
    paired_difference,
    paired_permutation_test,
)
from kinfolk.evaluation.statistics import Estimate

MIN_EPISODES = min_pairs()
CANDIDATE_SLOT = "candidate"
_TEAM_MEMBER = re.compile(r"\w+=.")  # of a team; a URI has another sign behind its first word
_SCHEME = re.compile(r"\b(?:kin://|class:|file:|run:)")
_MAX_LABEL = 40  # characters


def parse_team(candidate: str) -> dict[str, str]:
    """Return the policy URI of each slot of a candidate.

    >>> parse_team("kin://roles?miner=3&scout=1")
    {'candidate': 'kin://roles?miner=3&scout=1'}
    >>> parse_team("miner=kin://role/miner;scout=run:mine/scout@best")
    {'miner': 'kin://role/miner', 'scout': 'run:mine/scout@best'}
    """
    parts = candidate.split(";")
    if not all(_TEAM_MEMBER.match(part) for part in parts):
        return {CANDIDATE_SLOT: candidate}
    return {name: uri for name, _, uri in (part.partition("=") for part in parts)}


def label_policies(policies: Sequence[str]) -> list[str]:
    """Return a short text for each policy that can be part of a file's name, by number and URI.

    >>> label_policies(["kin://smart", "class:mine.Own?depth=2"])
    ['0-smart', '1-mine.Own-depth-2']
    """
    width = len(str(len(policies) - 1))
    labels = []
    for number, uri in enumerate(policies):
        text = re.sub(r"[^A-Za-z0-9_.]+", "-", _SCHEME.sub("", uri))[-_MAX_LABEL:].strip("-.")
        labels.append(f"{number:0{width}d}-{text}" if text else f"{number:0{width}d}")
    return labels


class PairedComparison(NamedTuple):
    """Result of a two-sided paired permutation test of two policies on common episodes.

    `p_value` is the probability of a mean difference at least this large if the two values of each
    episode are exchanged at random.
    """

    difference: Estimate | None  # first minus second, per episode; None without common episodes
    p_value: float  # of this pair alone
    better: str  # first, second or neither, by the adjusted p-value
    n_episodes: int  # in which both have a value
    min_p_value: float  # smallest p-value possible with this number of unequal episodes
    adjusted_p_value: float  # by Holm, if several pairs were tested; otherwise `p_value`


def compare_paired(first: AnyArray, second: AnyArray) -> PairedComparison:
    """Test whether two policies differ in the same episodes; deterministic.

    Args:
        first: `[episodes]`, scores of the first policy; NaN where it has none.
        second: `[episodes]`, scores of the second policy in the same episodes.

    Raises:
        UsageError: The numbers of episodes differ.
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.shape != b.shape:
        raise UsageError(
            f"Paired values must be of the same episodes, but there are {len(a)} and {len(b)} values."
        )
    common = np.isfinite(a) & np.isfinite(b)
    a, b = a[common], b[common]
    if not len(a):
        return PairedComparison(None, 1.0, "neither", 0, 1.0, 1.0)
    difference, p_value = paired_difference(a, b), paired_permutation_test(a, b)
    least = min(1.0, 2.0 ** (1 - int(np.count_nonzero(a != b))))
    better = _find_better(difference, p_value)
    return PairedComparison(difference, p_value, better, len(a), least, p_value)


def adjust_comparisons(pairs: Mapping[str, PairedComparison]) -> dict[str, PairedComparison]:
    """Return comparisons with p-values adjusted by Holm, and who is better by these."""
    adjusted = holm([pair.p_value for pair in pairs.values()])
    return {
        name: pair._replace(adjusted_p_value=p, better=_find_better(pair.difference, p))
        for (name, pair), p in zip(pairs.items(), adjusted, strict=True)
    }


def _find_better(difference: Estimate | None, p_value: float) -> str:
    """Return `first`, `second` or `neither`."""
    if difference is None or p_value >= SIGNIFICANCE_LEVEL:
        return "neither"
    return "first" if difference.mean > 0 else "second"


def describe_low_power(first: str, second: str, comparison: PairedComparison) -> str | None:
    """Describe why a comparison could not reach significance, and what would help.

    Args:
        first: Name of the first policy.
        second: Name of the second.
        comparison: Their comparison.

    Returns:
        One or two sentences; None if significance was possible, or all episodes were equal.
    """
    least = f"the p-value of a two-sided permutation test is at least {comparison.min_p_value:.3g}"
    if comparison.n_episodes < MIN_EPISODES:
        return (
            f"{comparison.n_episodes} episodes cannot show a difference between {first} and {second}: "
            f"{least}. For p < {SIGNIFICANCE_LEVEL:g} play {MIN_EPISODES} episodes or more."
        )
    if SIGNIFICANCE_LEVEL <= comparison.min_p_value < 1.0:
        unequal = 1 - round(math.log2(comparison.min_p_value))
        return (
            f"{first} and {second} scored differently in {unequal} of {comparison.n_episodes} episodes "
            f"only, so {least}. For p < {SIGNIFICANCE_LEVEL:g} there must be {MIN_EPISODES} or more such "
            f"episodes: play more."
        )
    return None


def describe_disagreement(first: str, second: str, comparison: PairedComparison) -> str | None:
    """Describe why the interval and the p-value of a comparison disagree; None if they agree.

    They agree if the 95 % interval of the difference excludes 0 exactly if p < 0.05.

    Args:
        first: Name of the first policy.
        second: Name of the second.
        comparison: Their comparison, with its adjusted p-value.
    """
    difference, p_value = comparison.difference, comparison.adjusted_p_value
    if difference is None or difference.low is None or difference.high is None:
        return None
    excludes_zero = difference.low > 0 or difference.high < 0
    if excludes_zero == (p_value < SIGNIFICANCE_LEVEL):
        return None
    if comparison.min_p_value >= SIGNIFICANCE_LEVEL:
        reason = "so few unequal episodes allow no smaller p-value, however large the difference is"
    elif comparison.p_value < SIGNIFICANCE_LEVEL <= p_value:
        reason = "the p-value is adjusted for several comparisons, the interval is not"
    else:
        reason = (
            "the interval assumes normally distributed differences, the permutation test does not"
        )
    position = "excludes" if excludes_zero else "contains"
    return (
        f"The interval of the difference between {first} and {second} {position} 0, but p = "
        f"{p_value:.4f}: {reason}. The p-value decides."
    )
