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

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from kinfolk.core.errors import SettingsError, format_suggestion, require
from kinfolk.evaluation.formatting import format_number
from kinfolk.evaluation.significance import (
    SIGNIFICANCE_LEVEL,
    holm,
    min_pairs,
    paired_permutation_test,
)
from kinfolk.evaluation.statistics import Estimate, estimate_mean
from kinfolk.jobs.studies.conditions import Condition
from kinfolk.jobs.studies.plan import StudyHypothesis

SUPPORTED, REFUTED, NOT_DECIDED = "supported", "refuted", "not decided"
_ROUNDING = 1e-12  # of the largest term
_MIN_VALUES = 2  # seeds below which there is no interval
Weights = dict[str, float]


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


class HypothesisEffect(NamedTuple):
    """The effect of a hypothesis, one number per seed that has all values."""

    values: tuple[float, ...]
    n_missing: int  # seeds without a value in at least one condition


def weigh_conditions(hypothesis: StudyHypothesis, conditions: Sequence[Condition]) -> Weights:
    """Return the weight of each condition in the effect of a hypothesis.

    Args:
        hypothesis: The hypothesis.
        conditions: Conditions of the stage of its metric.

    Raises:
        SettingsError: It names a factor or a level that the stage does not have, or a trend is over
            levels that are no numbers.

    >>> levels = [Condition(x, {"dose": x}, {}) for x in ("0", "1", "2")]
    >>> asked = {"name": "a", "claim": "b", "metric": "c", "predict": "higher", "refuted_by": "d"}
    >>> weigh_conditions(StudyHypothesis(**asked, factor="dose", levels=("2", "0")), levels)
    {'2': 1.0, '0': -1.0}
    """
    if hypothesis.contrast:
        terms = [(term.weight, {**hypothesis.when, **term.when}) for term in hypothesis.contrast]
    elif hypothesis.trend:
        terms = _weigh_trend(hypothesis, conditions)
    elif hypothesis.levels:
        factor = str(hypothesis.factor)
        first, second = ({**hypothesis.when, factor: level} for level in hypothesis.levels)
        terms = [(1.0, first), (-1.0, second)]
    else:
        terms = [(1.0, dict(hypothesis.when))]
    weights: Weights = {}
    for weight, levels in terms:
        names = _select_conditions(conditions, levels)
        for name in names:
            weights[name] = weights.get(name, 0.0) + weight / len(names)
    return weights


def _weigh_trend(
    hypothesis: StudyHypothesis, conditions: Sequence[Condition]
) -> list[tuple[float, dict[str, str]]]:
    """Return the weights by which a least-squares line changes from the lowest to the highest level.

    Raises:
        SettingsError: The levels of the factor are no numbers.
    """
    factor = str(hypothesis.factor)
    levels = list(dict.fromkeys(c.levels[factor] for c in conditions if factor in c.levels))
    try:
        x = np.array([float(level) for level in levels])
    except ValueError:
        raise SettingsError(
            f"trend = true needs levels of {factor} that are numbers, not {', '.join(levels)}."
        ) from None
    require(len(x) > 1, f"trend = true: no factor is named '{factor}'.")
    deviations = x - x.mean()
    weights = deviations / (deviations**2).sum() * (x.max() - x.min())
    when = hypothesis.when
    return [(float(w), {**when, factor: n}) for w, n in zip(weights, levels, strict=True)]


def _select_conditions(conditions: Sequence[Condition], levels: Mapping[str, str]) -> list[str]:
    """Return the names of the conditions with these levels.

    Raises:
        SettingsError: There is no such factor or level.
    """
    for factor, level in levels.items():
        factors = list(conditions[0].levels)
        require(
            factor in factors,
            f"no factor of the stage is named '{factor}'.{format_suggestion(factor, factors)}",
        )
        known = list(dict.fromkeys(condition.levels[factor] for condition in conditions))
        require(
            level in known,
            f"factor {factor} has no level '{level}'.{format_suggestion(level, known)}",
        )
    return [c.name for c in conditions if all(c.levels[f] == v for f, v in levels.items())]


def describe_comparison(hypothesis: StudyHypothesis) -> str:
    """Return what the effect of a hypothesis is, in words."""
    metric = hypothesis.metric.replace("_", " ")
    if hypothesis.effect is not None:
        return f"{metric}: {hypothesis.effect}"
    given = ", ".join(f"{factor} = {level}" for factor, level in hypothesis.when.items())
    where = f" where {given}" if given else ""
    if hypothesis.contrast:
        terms = []
        for term in hypothesis.contrast:
            levels = ", ".join(f"{factor} = {level}" for factor, level in term.when.items())
            terms.append(f"{term.weight:+g} x ({levels})")
        return f"{metric}: {' '.join(terms)}{where}"
    if hypothesis.trend:
        return f"{metric}: change along {hypothesis.factor}, lowest to highest level{where}"
    if hypothesis.levels:
        first, second = hypothesis.levels
        return f"{metric}: {hypothesis.factor} = {first} minus {second}{where}"
    against = f" minus {hypothesis.against:g}" if hypothesis.against else ""
    return f"mean of {metric}{against}{where}"


def compute_effect(
    hypothesis: StudyHypothesis, weights: Weights, values: Mapping[str, Sequence[float | None]]
) -> HypothesisEffect:
    """Return the effect of a hypothesis for each seed.

    Args:
        hypothesis: The hypothesis.
        weights: Weight of each condition.
        values: Of the metric by condition, one per seed; None where it does not apply.
    """
    n_seeds = len(next(iter(values.values())))
    effects = []
    for seed in range(n_seeds):
        terms = [(weight, values[name][seed]) for name, weight in weights.items() if weight]
        present = [weight * value for weight, value in terms if value is not None]
        if len(present) == len(terms):
            effects.append(_add_exactly([*present, -hypothesis.against]))
    return HypothesisEffect(tuple(effects), n_seeds - len(effects))


def _add_exactly(terms: Sequence[float]) -> float:
    """Return a sum, 0 if it is only what rounding leaves: equal conditions must have no effect."""
    total = math.fsum(terms)
    return 0.0 if abs(total) <= _ROUNDING * max(map(abs, terms)) else total


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
        estimate = estimate_mean(values) if len(values) else None
        if quick:
            verdict, reason = NOT_DECIDED, "A quick run decides nothing."
        elif len(values) < _MIN_VALUES:
            verdict = NOT_DECIDED
            reason = f"Only {len(values)} seeds have a value in all conditions."
        else:
            verdict, reason = _decide(hypothesis, values, p_adjusted, len(hypotheses))
            if effect.n_missing:
                reason += f" {effect.n_missing} seeds had no value and were left out."
        words = (hypothesis.name, hypothesis.claim, hypothesis.metric)
        comparison = describe_comparison(hypothesis)
        verdicts.append(
            HypothesisVerdict(*words, comparison, estimate, p, p_adjusted, verdict, reason)
        )
    return verdicts


def _decide(
    hypothesis: StudyHypothesis, values: np.ndarray, p_value: float, n_hypotheses: int
) -> tuple[str, str]:
    """Return the verdict on one hypothesis, and the reason as a sentence.

    Args:
        hypothesis: The hypothesis.
        values: Its effect for each seed, two or more.
        p_value: Adjusted for all hypotheses.
        n_hypotheses: Number of hypotheses of the study, for the simultaneous interval.
    """
    wide = estimate_mean(values, 1.0 - SIGNIFICANCE_LEVEL / n_hypotheses)
    assert wide.low is not None  # there are two values or more
    assert wide.high is not None
    is_clear = p_value < SIGNIFICANCE_LEVEL
    mean, smallest = wide.mean, hypothesis.smallest
    interval = f"{format_number(wide.low)} to {format_number(wide.high)}"
    clear = f"The effect is {format_number(mean)} (adjusted p = {p_value:.3g})"
    if hypothesis.predict == "equal":
        if -smallest <= wide.low and wide.high <= smallest:
            return SUPPORTED, (
                f"The simultaneous interval, {interval}, lies within +-{format_number(smallest)}, "
                "the difference up to which the two count as equal."
            )
        if is_clear and abs(mean) > smallest:
            return REFUTED, f"{clear}, more than the {format_number(smallest)} that count as equal."
        return NOT_DECIDED, _describe_open(p_value, interval)
    sign = 1.0 if hypothesis.predict == "higher" else -1.0
    highest = sign * (wide.high if sign > 0 else wide.low)  # in the direction of the claim
    if is_clear and sign * mean < 0:
        return REFUTED, f"{clear}, in the opposite direction."
    if is_clear and sign * mean >= smallest:
        return SUPPORTED, f"{clear}, in the direction of the claim."
    if smallest > 0 and highest < smallest:
        return REFUTED, (
            f"The simultaneous interval, {interval}, excludes an effect of "
            f"{format_number(sign * smallest)}, the smallest that matters."
        )
    if is_clear:
        return NOT_DECIDED, (
            f"{clear}, in the direction of the claim but below {format_number(sign * smallest)}, the "
            f"smallest that matters, which the simultaneous interval, {interval}, does not exclude."
        )
    return NOT_DECIDED, _describe_open(p_value, interval)


def _describe_open(p_value: float, interval: str) -> str:
    """Return the sentence of a null result: what was not shown, and what is still possible."""
    return (
        f"No difference was shown (adjusted p = {p_value:.3g}), and none was excluded: the "
        f"simultaneous interval is {interval}."
    )


def count_needed_seeds(n_hypotheses: int) -> int:
    """Return the fewest seeds with which all hypotheses of a study can reach an adjusted p < 0.05.

    >>> count_needed_seeds(1), count_needed_seeds(5)
    (6, 8)
    """
    return min_pairs(SIGNIFICANCE_LEVEL / n_hypotheses)
