"""What results say: means with bootstrap intervals, wins, and differences between slots."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple, TypeAlias

import numpy as np

from kinfolk.core.arrays import AnyArray
from kinfolk.evaluation.results import EpisodeReport, column

CONFIDENCE = 0.95
_RESAMPLES = 2000
Measures: TypeAlias = Callable[[AnyArray, Mapping[str, AnyArray]], Mapping[str, AnyArray]]


class Estimate(NamedTuple):
    """A mean and the interval that holds it with 95 % confidence."""

    mean: float
    low: float
    high: float


class Summary(NamedTuple):
    """Over all episodes. Names are those of slots, groups, measures or pairs of slots."""

    episodes: int
    ticks: Estimate
    returns: dict[str, Estimate]
    lives: dict[str, Estimate]
    reward_per_tick: dict[str, Estimate]
    measures: dict[str, Estimate]
    return_per_life: dict[str, Estimate]
    group_returns: dict[str, Estimate]
    win_rate: dict[str, Estimate]  # episodes in which a slot earned most per life; ties are halves
    differences: dict[str, Estimate]  # "a - b": how much more a earned per life, paired by episode
    failures: int
    faults: int


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


def summarise(played: Sequence[EpisodeReport], slots: Sequence[str], measures: Measures) -> Summary:
    """Means over episodes; where a value does not apply to an episode (NaN), it is left out."""
    returns = {slot: column(played, "returns", slot) for slot in slots}
    lived = {slot: column(played, "ticks_lived", slot) for slot in slots}
    lives = {slot: column(played, "lives", slot) for slot in slots}
    per_life = {s: returns[s] / np.where(lives[s] > 0, lives[s], np.nan) for s in slots}
    groups = list(played[0].group_returns)
    return Summary(
        episodes=len(played),
        ticks=estimate(np.array([result.ticks for result in played])),
        returns=_estimates(returns),
        lives=_estimates(lives),
        reward_per_tick=_estimates({s: returns[s] / np.maximum(lived[s], 1.0) for s in slots}),
        measures=_estimates(measures(*_as_columns(played))),
        return_per_life=_estimates(per_life),
        group_returns=_estimates({g: column(played, "group_returns", g) for g in groups}),
        win_rate=_estimates(wins(per_life)) if len(slots) > 1 else {},
        differences=_estimates(
            {f"{a} - {b}": per_life[a] - per_life[b] for a, b in combinations(slots, 2)}
        ),
        failures=sum(len(result.failures) for result in played),
        faults=sum(sum(f.values()) for result in played for f in result.faults.values()),
    )


def wins(values: Mapping[str, AnyArray]) -> dict[str, AnyArray]:
    """For each name, its share of the win of every episode; NaN where nobody has a value.

    >>> wins({"a": np.array([1.0, 2.0, 3.0]), "b": np.array([0.0, 2.0, 4.0])})["a"].tolist()
    [1.0, 0.5, 0.0]
    """
    table = np.array(list(values.values()))
    known = np.isfinite(table).any(axis=0)
    best = np.where(known, np.max(np.where(np.isfinite(table), table, -np.inf), axis=0), np.nan)
    won = table == best
    shares = np.where(known, won / np.maximum(won.sum(axis=0), 1), np.nan)
    return dict(zip(values, shares, strict=True))


def _estimates(columns: Mapping[str, AnyArray]) -> dict[str, Estimate]:
    known = {name: values[np.isfinite(values)] for name, values in columns.items()}
    return {name: estimate(values) for name, values in known.items() if len(values)}


def _as_columns(played: Sequence[EpisodeReport]) -> tuple[AnyArray, dict[str, AnyArray]]:
    """Who came to full length, and every group and counter value by name, an entry per episode."""
    found: dict[str, AnyArray] = {}
    for table in ("group_lives", "mean_alive", "counters"):
        prefix = "" if table == "counters" else f"{table}/"
        found |= {
            f"{prefix}{name}": column(played, table, name) for name in getattr(played[0], table)
        }
    return np.array([result.full_length for result in played]), found
