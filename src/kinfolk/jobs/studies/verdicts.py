"""What the numbers of a study say about its hypotheses: supported, refuted or not decided.

The rules are written before any number is known, and are the same for every study:

* A hypothesis is reduced to one number per seed, its *effect*: a difference, a trend, a contrast.
* The p-value is that of a two-sided paired permutation test over seeds, adjusted by Holm for all
  hypotheses of the plan. The simultaneous interval is Student's t at the level 1 - 0.05 / hypotheses.
* A direction is **supported** if the adjusted p is below 0.05, the effect has the sign that was
  predicted, and it is not below the smallest that matters. It is **refuted** if the adjusted p is below
  0.05 with the other sign, or if the simultaneous interval excludes the smallest effect that matters.
* Equality is **supported** if the simultaneous interval lies within the smallest effect that matters,
  and **refuted** if the adjusted p is below 0.05 and the effect is larger than that.
* Everything else is **not decided**, and so is every quick run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kinfolk.evaluation.formatting import format_number
from kinfolk.evaluation.significance import (
    SIGNIFICANCE_LEVEL,
    holm,
    min_pairs,
    paired_permutation_test,
)
from kinfolk.evaluation.statistics import Estimate, estimate_mean
from kinfolk.jobs.studies.effects import HypothesisEffect, describe_comparison
from kinfolk.jobs.studies.plan import StudyHypothesis

SUPPORTED, REFUTED, NOT_DECIDED = "supported", "refuted", "not decided"
_MIN_VALUES = 2  # seeds below which there is no interval


class HypothesisVerdict(NamedTuple):
    """What the study found about one hypothesis."""

    name: str
    claim: str
    metric: str
    comparison: str  # what the effect is, in words
    effect: Estimate | None  # over seeds, with its 95 % interval; None without values
    p_value: float  # of this hypothesis alone
    adjusted_p_value: float  # by Holm, for all hypotheses of the study
    verdict: str  # supported, refuted or not decided
    reason: str  # why, as a sentence
    finding: str  # the verdict, and of a refuted claim what was found instead
    simultaneous: Estimate | None  # with the interval by which all hypotheses are decided at once
    parts: list[tuple[str, Estimate | None]]  # the effect at each level over which it is averaged


def decide_all(
    hypotheses: Sequence[StudyHypothesis], effects: Sequence[HypothesisEffect], quick: bool
) -> list[HypothesisVerdict]:
    """Return the verdict on every hypothesis of a study.

    Args:
        hypotheses: All hypotheses of the plan.
        effects: The effect of each.
        quick: Whether this is a quick run, which decides nothing.
    """
    p_values = [
        paired_permutation_test(e.values, np.zeros(len(e.values))) if e.values else 1.0
        for e in effects
    ]
    adjusted = holm(p_values)
    verdicts = []
    for hypothesis, effect, p, p_adjusted in zip(
        hypotheses, effects, p_values, adjusted, strict=True
    ):
        values = np.array(effect.values)
        level = 1.0 - SIGNIFICANCE_LEVEL / len(hypotheses)
        if quick:
            decided = _Decision(NOT_DECIDED, "A quick run decides nothing.")
        elif len(values) < _MIN_VALUES:
            reason = f"Only {len(values)} seeds have a value in all conditions."
            decided = _Decision(NOT_DECIDED, reason)
        else:
            decided = _decide(hypothesis, estimate_mean(values, level), p_adjusted)
            if effect.n_missing:
                reason = (
                    f"{decided.reason} {effect.n_missing} seeds had no value and were left out."
                )
                decided = decided._replace(reason=reason)
        verdicts.append(
            HypothesisVerdict(
                hypothesis.name, hypothesis.claim, hypothesis.metric,
                describe_comparison(hypothesis, effect.averaged), _estimate(effect.values), p,
                p_adjusted, decided.verdict, decided.reason, decided.finding,
                _estimate(effect.values, level), [(n, _estimate(v)) for n, v in effect.parts],
            )
        )  # fmt: skip
    return verdicts


def _estimate(values: Sequence[float], level: float = 1.0 - SIGNIFICANCE_LEVEL) -> Estimate | None:
    """Return the mean of values with its interval; None without values."""
    return estimate_mean(np.array(values), level) if values else None


class _Decision(NamedTuple):
    """What the rules say about one hypothesis."""

    verdict: str
    reason: str  # why, as a sentence
    observation: str = ""  # what was found in place of what a refuted claim says

    @property
    def finding(self) -> str:
        """The verdict, and what was found instead."""
        return f"{self.verdict}: {self.observation}" if self.observation else self.verdict


def _decide(hypothesis: StudyHypothesis, wide: Estimate, p_value: float) -> _Decision:
    """Return the verdict on one hypothesis with its reason.

    Args:
        hypothesis: The hypothesis.
        wide: Its effect, with the simultaneous interval.
        p_value: Adjusted for all hypotheses.
    """
    assert wide.low is not None  # there are two values or more
    assert wide.high is not None
    is_clear = p_value < SIGNIFICANCE_LEVEL
    mean, smallest = wide.mean, hypothesis.smallest
    interval = f"{format_number(wide.low)} to {format_number(wide.high)}"
    clear = f"The effect is {format_number(mean)} (adjusted p = {p_value:.3g})"
    if hypothesis.predict == "equal":
        if -smallest <= wide.low and wide.high <= smallest:
            reason = (
                f"The simultaneous interval, {interval}, lies within +-{format_number(smallest)}, "
                "the difference up to which the two count as equal."
            )
            return _Decision(SUPPORTED, reason)
        if is_clear and abs(mean) > smallest:
            reason = f"{clear}, more than the {format_number(smallest)} that count as equal."
            return _Decision(REFUTED, reason, "they differ")
        return _Decision(NOT_DECIDED, _describe_open(hypothesis, p_value, interval))
    sign = 1.0 if hypothesis.predict == "higher" else -1.0
    highest = sign * (wide.high if sign > 0 else wide.low)  # in the direction of the claim
    if is_clear and sign * mean < 0:
        return _Decision(REFUTED, f"{clear}, in the opposite direction.", "the opposite was found")
    if is_clear and sign * mean >= smallest:
        return _Decision(SUPPORTED, f"{clear}, in the direction of the claim.")
    if smallest > 0 and highest < smallest:
        reason = (
            f"The simultaneous interval, {interval}, excludes an effect of "
            f"{format_number(sign * smallest)}, the smallest that matters."
        )
        return _Decision(REFUTED, reason, "an effect that matters is excluded")
    if is_clear:
        reason = (
            f"{clear}, in the direction of the claim but below {format_number(sign * smallest)}, the "
            f"smallest that matters, which the simultaneous interval, {interval}, does not exclude."
        )
        return _Decision(NOT_DECIDED, reason)
    return _Decision(NOT_DECIDED, _describe_open(hypothesis, p_value, interval))


def _describe_open(hypothesis: StudyHypothesis, p_value: float, interval: str) -> str:
    """Return the sentence of a null result: what was not shown, and what is still possible.

    Args:
        hypothesis: The hypothesis.
        p_value: Adjusted for all hypotheses.
        interval: The simultaneous interval as text.
    """
    text = (
        f"Neither direction was shown (adjusted p = {p_value:.3g}); effects from {interval} are possible "
        "(simultaneous interval), larger ones are excluded."
    )
    if hypothesis.smallest:
        return text
    return f"{text} No smallest effect that matters was set, so that a small one cannot be told from none."


def count_needed_seeds(n_hypotheses: int) -> int:
    """Return the fewest seeds with which all hypotheses of a study can reach an adjusted p < 0.05.

    >>> count_needed_seeds(1), count_needed_seeds(5)
    (6, 8)
    """
    return min_pairs(SIGNIFICANCE_LEVEL / n_hypotheses)
