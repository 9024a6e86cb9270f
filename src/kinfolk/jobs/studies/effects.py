"""The effect of a hypothesis: one number per seed, from the metric in the conditions that it compares."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from kinfolk.core.errors import SettingsError, format_suggestion, require
from kinfolk.jobs.studies.conditions import Condition
from kinfolk.jobs.studies.plan import StudyHypothesis

_ROUNDING = 1e-12  # of the largest term
Weights = dict[str, float]


class HypothesisEffect(NamedTuple):
    """The effect of a hypothesis, one number per seed that has all values."""

    values: tuple[float, ...]
    n_missing: int  # seeds without a value in at least one condition
    averaged: tuple[str, ...] = ()  # factors over which it is averaged
    parts: tuple[tuple[str, tuple[float, ...]], ...] = ()  # the values at each level of these


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


def list_averaged_factors(
    hypothesis: StudyHypothesis, conditions: Sequence[Condition]
) -> list[str]:
    """Return the factors over whose levels the effect of a hypothesis is averaged.

    Args:
        hypothesis: The hypothesis.
        conditions: Conditions of the stage of its metric.
    """
    named = {*hypothesis.when, hypothesis.factor}
    named |= {factor for term in hypothesis.contrast for factor in term.when}
    return [factor for factor in conditions[0].levels if factor not in named]


def describe_comparison(hypothesis: StudyHypothesis, averaged: Sequence[str] = ()) -> str:
    """Return what the effect of a hypothesis is, in words.

    Args:
        hypothesis: The hypothesis.
        averaged: Factors over which it is averaged.
    """
    over = f", averaged over {' and '.join(averaged)}" if averaged else ""
    return _describe_effect(hypothesis) + over


def _describe_effect(hypothesis: StudyHypothesis) -> str:
    """Return what the effect of a hypothesis is, without what it is averaged over."""
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
        return f"{metric}: slope of a line through all levels of {hypothesis.factor}, times their range{where}"
    if hypothesis.levels:
        first, second = hypothesis.levels
        return f"{metric}: {hypothesis.factor} = {first} minus {second}{where}"
    against = f" minus {hypothesis.against:g}" if hypothesis.against else ""
    return f"mean of {metric}{against}{where}"


def measure_effect(
    hypothesis: StudyHypothesis,
    conditions: Sequence[Condition],
    values: Mapping[str, Sequence[float | None]],
) -> HypothesisEffect:
    """Return the effect of a hypothesis for each seed, and at each level over which it is averaged.

    Args:
        hypothesis: The hypothesis.
        conditions: Conditions of the stage of its metric.
        values: Of the metric by condition, one per seed; None where it does not apply.
    """
    effect = compute_effect(hypothesis, weigh_conditions(hypothesis, conditions), values)
    averaged = list_averaged_factors(hypothesis, conditions)
    parts = []
    for factor in averaged:
        for level in dict.fromkeys(condition.levels[factor] for condition in conditions):
            within = hypothesis.model_copy(update={"when": {**hypothesis.when, factor: level}})
            weights = weigh_conditions(within, conditions)
            parts.append((f"{factor} = {level}", compute_effect(within, weights, values).values))
    return effect._replace(averaged=tuple(averaged), parts=tuple(parts))


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
