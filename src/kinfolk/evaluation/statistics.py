"""Statistics of episodes: means with confidence intervals, win rates, paired differences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import NamedTuple, TypeAlias

import numpy as np

from kinfolk.core.arrays import AnyArray
from kinfolk.evaluation.weakness import describe_weak_columns
from kinfolk.play.results import EpisodeColumns

CONFIDENCE_LEVEL = 0.95
# Takes `[episodes]` flags of full length and columns by name; returns columns of metrics by name.
MetricFunction: TypeAlias = Callable[[AnyArray, Mapping[str, AnyArray]], Mapping[str, AnyArray]]


class Estimate(NamedTuple):
    """The mean of `n` values and its confidence interval (95 %), None for a single value."""

    mean: float
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True, kw_only=True)
class EvaluationSummary:
    """Statistics over all episodes of an evaluation, by slot, group, metric or pair of slots.

    None stands for a value that applies to no episode.
    """

    episodes: int  # number of episodes
    ticks: Estimate  # length of an episode
    returns: dict[str, Estimate]  # by slot, summed over its agents
    lives: dict[str, Estimate]  # by slot, number of agents
    reward_per_tick: dict[str, Estimate]  # by slot, per agent and tick
    metrics: dict[str, Estimate | None]  # the world's own
    return_per_life: dict[str, Estimate | None]  # by slot, per agent
    group_returns: dict[str, Estimate]  # by group, summed over its agents
    win_rate: dict[str, Estimate | None]  # by slot: highest return per life; ties are shared
    differences: dict[str, Estimate | None]  # "a - b": return per life, paired by episode
    failures: int  # of policies
    invalid_actions: int  # that were replaced by noop
    notes: list[str]  # which of the intervals may cover less than 90 %, and why
    # By `SLOT/NAME`, what the slot's agents did, if there are several slots and the world says who did
    # what; not in runs of earlier versions.
    slot_metrics: dict[str, Estimate] = field(default_factory=dict)


def t_intervals(
    values: AnyArray, level: float = CONFIDENCE_LEVEL
) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Return the mean over the last axis and the ends of its confidence interval, by Student's t.

    For n independent values the interval is `mean +- t * s / sqrt(n)`, with the standard deviation
    `s` and the quantile `t` of n - 1 degrees of freedom. For normal values it is exact for every n.

    Args:
        values: `[..., n]` with n of at least 2.
        level: Confidence level, between 0 and 1.

    Returns:
        Mean, low and high, `[...]` each, float64.
    """
    from scipy.special import stdtrit  # scipy takes half a second to import, and is needed last

    numbers = np.asarray(values, dtype=np.float64)
    n = numbers.shape[-1]
    equal = numbers.min(axis=-1) == numbers.max(axis=-1)
    # Rounding must not give equal values a spread of 1e-17.
    mean = np.where(equal, numbers[..., 0], numbers.mean(axis=-1))
    spread = np.where(equal, 0.0, numbers.std(axis=-1, ddof=1))
    half = stdtrit(n - 1, 0.5 + 0.5 * level) * spread / np.sqrt(n)
    return mean, mean - half, mean + half


def estimate_mean(values: AnyArray, level: float = CONFIDENCE_LEVEL) -> Estimate:
    """Return the mean of independent values with its interval by Student's t.

    The values are what was drawn independently: episodes of one policy, or, where several runs
    are compared, one value per run (seed), because episodes of one run are not independent.

    Args:
        values: `[n]` with n of at least 1. Of paired data, the differences.
        level: Confidence level, between 0 and 1.

    Returns:
        The estimate; a single value has no interval. Equal values have one of width zero.
    """
    numbers = np.asarray(values, dtype=np.float64)
    if len(numbers) < 2:
        return Estimate(float(numbers.mean()), None, None, len(numbers))
    mean, low, high = t_intervals(numbers, level)
    return Estimate(float(mean), float(low), float(high), len(numbers))


def estimate_proportion(values: AnyArray, level: float = CONFIDENCE_LEVEL) -> Estimate:
    """Return a proportion, such as a win rate, with its interval by Wilson (1927).

    Student's t would give ten wins of ten an interval without width. Wilson's interval covers the
    true proportion with `level` on average, and less near 0 and 1; see `weakness.py`.

    Args:
        values: `[n]` between 0 and 1: 1 for a win, 0 for none, a half for a tie of two.
        level: Confidence level, between 0 and 1.

    Returns:
        The estimate; a single value has no interval.
    """
    numbers = np.asarray(values, dtype=np.float64)
    n, mean = len(numbers), float(numbers.mean())
    if n < 2:
        return Estimate(mean, None, None, n)
    from scipy.special import ndtri

    z = float(ndtri(0.5 + 0.5 * level))
    center = (mean + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * float(np.sqrt(mean * (1 - mean) / n + z * z / (4 * n * n)))
    low = 0.0 if mean <= 0 else max(0.0, center - half)  # exactly, whatever rounding does
    high = 1.0 if mean >= 1 else min(1.0, center + half)
    return Estimate(mean, low, high, n)


def summarize_episodes(
    reports: EpisodeColumns, slots: Sequence[str], metric_function: MetricFunction
) -> EvaluationSummary:
    """Compute means over episodes, leaving out those to which a value does not apply (NaN).

    Args:
        reports: The episodes, at least one.
        slots: Names of the slots, in order.
        metric_function: The world's own metrics: `(full_length, columns)` to columns by name. A column
            of booleans is a share of episodes, others are means.

    Returns:
        The summary; None for a value that applies to no episode.
    """
    returns = {slot: reports.column("returns", slot) for slot in slots}
    ticks_lived = {slot: reports.column("ticks_lived", slot) for slot in slots}
    lives = {slot: reports.column("lives", slot) for slot in slots}
    per_life = {s: returns[s] / np.where(lives[s] > 0, lives[s], np.nan) for s in slots}
    per_tick = {s: returns[s] / np.maximum(ticks_lived[s], 1.0) for s in slots}
    pairs = {f"{a} - {b}": per_life[a] - per_life[b] for a, b in combinations(slots, 2)}
    wins = win_shares(per_life) if len(slots) > 1 else {}
    metrics = compute_metric_columns(reports, metric_function)
    groups, notes = reports.notes["group_returns"], reports.notes
    counted = {name: reports.column("slot_counters", name) for name in notes["slot_counters"]}
    invalid = [counts for table in notes["invalid_actions"].values() for counts in table.values()]
    return EvaluationSummary(
        episodes=len(reports),
        ticks=estimate_mean(reports.arrays["ticks"]),
        returns=_estimate_columns(returns),
        lives=_estimate_columns(lives),
        reward_per_tick=_estimate_columns(per_tick),
        metrics=_estimate_finite(metrics),
        return_per_life=_estimate_finite(per_life),
        group_returns=_estimate_columns({g: reports.column("group_returns", g) for g in groups}),
        win_rate=_estimate_finite(wins, estimate_proportion),
        differences=_estimate_finite(pairs),
        failures=sum(len(failures) for failures in notes["failures"].values()),
        invalid_actions=sum(sum(counts.values()) for counts in invalid),
        notes=describe_weak_columns(
            {**{f"return of {s}": v for s, v in returns.items()}, **metrics}
        ),
        slot_metrics=_estimate_columns(counted),
    )


def win_shares(values: Mapping[str, AnyArray]) -> dict[str, AnyArray]:
    """Return the share of each name in the win of every episode; ties are shared equally.

    Args:
        values: By name, `[episodes]` scores; NaN where a name has none.

    Returns:
        By name, `[episodes]` between 0 and 1; NaN in episodes without any score.

    >>> win_shares({"a": np.array([1.0, 2.0, 3.0]), "b": np.array([0.0, 2.0, 4.0])})["a"].tolist()
    [1.0, 0.5, 0.0]
    """
    table = np.array(list(values.values()))
    known = np.isfinite(table).any(axis=0)
    best = np.where(known, np.max(np.where(np.isfinite(table), table, -np.inf), axis=0), np.nan)
    won = table == best
    shares = np.where(known, won / np.maximum(won.sum(axis=0), 1), np.nan)
    return dict(zip(values, shares, strict=True))


def _estimate_columns(columns: Mapping[str, AnyArray]) -> dict[str, Estimate]:
    """Return an estimate of the mean of each column, all of whose values are finite."""
    return {name: estimate_mean(values) for name, values in columns.items()}


def estimate_finite(
    values: AnyArray, of_floats: Callable[[AnyArray], Estimate] = estimate_mean
) -> Estimate | None:
    """Return an estimate of the finite values of a column; None if it has none.

    Args:
        values: `[n]`; NaN where a metric does not apply. Booleans are a proportion.
        of_floats: Estimates values of other types.
    """
    finite = values[np.isfinite(values)]
    estimate = estimate_proportion if values.dtype == np.bool_ else of_floats
    return estimate(finite) if len(finite) else None


def _estimate_finite(
    columns: Mapping[str, AnyArray], of_floats: Callable[[AnyArray], Estimate] = estimate_mean
) -> dict[str, Estimate | None]:
    """Return an estimate of the finite values of each column; None where there are none."""
    return {name: estimate_finite(values, of_floats) for name, values in columns.items()}


def compute_metric_columns(
    played: EpisodeColumns, metric_function: MetricFunction
) -> Mapping[str, AnyArray]:
    """Return the world's own metrics of every episode, by name: NaN where one does not apply.

    Args:
        played: The episodes, at least one.
        metric_function: Takes the flags of full length, and columns of lengths, groups and counters
            by name.
    """
    columns = {name: played.arrays[name] for name in ("ticks", "max_ticks")}
    for table in ("group_lives", "mean_alive", "counters"):
        prefix = "" if table == "counters" else f"{table}/"
        columns |= {f"{prefix}{name}": played.column(table, name) for name in played.notes[table]}
    return metric_function(played.arrays["full_length"], columns)
