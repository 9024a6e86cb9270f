"""Metrics by name: those of every world, a world's counters, and the metrics it defines."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from kinfolk.core.arrays import AnyArray
from kinfolk.core.errors import UnknownNameError, format_suggestion
from kinfolk.evaluation.statistics import compute_metric_columns
from kinfolk.play.results import EpisodeColumns
from kinfolk.play.task import WorldRef
from kinfolk.worlds import WORLDS, compute_world_metrics

# Of every world: unit and definition.
_COMMON = {
    "return": ("reward", "sum of the rewards of all agents of the slots, per episode"),
    "return_per_life": ("reward", "the return divided by the number of lives"),
    "reward_per_tick": ("reward", "the return divided by the ticks that agents lived"),
    "ticks": ("ticks", "length of an episode"),
}
METRICS = tuple(_COMMON)


class MetricInfo(NamedTuple):
    """What a metric of episodes is."""

    name: str
    unit: str  # "" if the world does not say
    definition: str  # likewise


def describe_metrics(world: WorldRef) -> list[MetricInfo]:
    """Return name, unit and definition of all metrics that episodes of a world have.

    A world defines its own as `metric_definitions`: by regular expression of the name, unit and
    definition, in which `{0}` stands for the first group.
    """
    definitions = {**getattr(WORLDS.load(world.name), "metric_definitions", {}), **_COMMON}
    described = []
    for name in list_metrics(world):
        matches = ((re.fullmatch(pattern, name), entry) for pattern, entry in definitions.items())
        match, entry = next(((m, e) for m, e in matches if m), (None, ("", "")))
        words = [group.replace("_", " ").strip() for group in match.groups()] if match else []
        described.append(MetricInfo(name, entry[0], entry[1].format(*words)))
    return described


def list_metrics(world: WorldRef) -> list[str]:
    """Return the names of all metrics that episodes of a world have."""
    built = world.build()
    counters, zeros = list(built.counters()), np.zeros(1)
    values = dict.fromkeys(["ticks", "max_ticks", *counters], zeros)
    for group in built.spec.groups:
        values |= {f"group_lives/{group.name}": zeros, f"mean_alive/{group.name}": zeros}
    world_metrics = compute_world_metrics(world.name, np.zeros(1, dtype=np.bool_), values)
    return list(dict.fromkeys([*METRICS, *counters, *world_metrics]))


def describe_missing(world: str, metrics: Mapping[str, int], n_episodes: int) -> list[str]:
    """Describe which metrics rest on fewer episodes than were played, where the world says why.

    A world says why as `missing_values`: by regular expression of the name, the reason.

    Args:
        world: Name of the world.
        metrics: By name, the number of episodes to which the metric applies.
        n_episodes: Number of episodes played.
    """
    reasons: Mapping[str, str] = getattr(WORLDS.load(world), "missing_values", {})
    notes = []
    for name, n in metrics.items():
        for pattern, reason in reasons.items():
            if n < n_episodes and re.fullmatch(pattern, name):
                notes.append(f"{name} rests on {n} of {n_episodes} episodes: {reason}.")
    return notes


def check_metric(metric: str, world: WorldRef) -> None:
    """Check that a world has a metric, before anything is played.

    Raises:
        UnknownNameError: It has none of this name.
    """
    if metric in METRICS:
        return
    known = list_metrics(world)
    if metric not in known:
        hint = format_suggestion(metric, known, f"`kinfolk metrics {world.name}` lists them")
        raise UnknownNameError(f"There is no metric '{metric}'.{hint}")


def metric_values(
    metric: str, world: str, played: EpisodeColumns, slots: Sequence[str]
) -> AnyArray:
    """Return a metric of every episode; NaN where it does not apply.

    Args:
        metric: One of `list_metrics`.
        world: Name of the world.
        played: The episodes, at least one.
        slots: Ids of the slots whose returns are added up.

    Returns:
        `[episodes]` floats, or booleans for a metric that is a proportion of episodes.
    """
    if metric == "ticks":
        return np.array(played.arrays["ticks"], dtype=np.float64)
    if metric in METRICS:
        earned = _sum_columns(played, "returns", slots)
        tables = {"return_per_life": "lives", "reward_per_tick": "ticks_lived"}
        table = tables.get(metric)
        divisor = 1.0 if table is None else np.maximum(1.0, _sum_columns(played, table, slots))
        return np.asarray(earned / divisor)
    if metric in played.notes["counters"]:
        return played.column("counters", metric)
    return compute_metric_columns(played, partial(compute_world_metrics, world))[metric]


def _sum_columns(played: EpisodeColumns, table: str, slots: Sequence[str]) -> AnyArray:
    """Return `[episodes]` sums of a table's columns, added in the order of the slots."""
    total: AnyArray = np.zeros(len(played))
    for slot in slots:
        total = total + played.column(table, slot)
    return total
