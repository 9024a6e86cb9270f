"""Metrics of savanna episodes, under the names of PredPreyGrass."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kinfolk.core.arrays import AnyArray

ALL_EPISODES, FULL_LENGTH_EPISODES = "all_episodes", "full_length_episodes"


def compute_metrics(full_length: AnyArray, values: Mapping[str, AnyArray]) -> dict[str, AnyArray]:
    """Compute metrics of captures and populations, NaN where a metric does not apply.

    Captures are counted per kill and, as in PredPreyGrass, per event of a predator.
    Fractions and total populations are given twice: for the episodes that reached the time limit
    only, as in PredPreyGrass, and for all episodes, so that there is a value if none reaches it.

    Args:
        full_length: `[episodes]`, True where the time limit was reached.
        values: `[episodes]` each: counters, and `group_lives/GROUP` and `mean_alive/GROUP`.

    Returns:
        `[episodes]` for each metric; the mean of a boolean one is a fraction of episodes.
    """
    successes, failures = values["team_capture_successes"], values["team_capture_failures"]
    coop_successes = values["team_capture_coop_successes"]
    meals = values["team_capture_helper_total"]
    coop_meals = values["team_capture_coop_helper_total"]
    unknown = np.full(len(full_length), np.nan)  # runs stored before this was counted
    failed_attacks = values.get("team_capture_failed_helper_total", unknown)
    split_metrics = {
        "capture_success_rate": _divide(successes, successes + failures),
        "cooperative_kill_fraction": _divide(coop_successes, successes),
        # By the definitions of the authors' comparison of PPO and APPO: an attempt is an eating or
        # failed eating event of a predator, and a co-operative event an eating event of a predator
        # with `team_capture` true. A kill of three predators is three events.
        "predator_event_success_rate": _divide(meals, meals + failed_attacks),
        "cooperative_meal_fraction": _divide(coop_meals, meals),
    }
    for species in ("predator", "prey"):
        split_metrics[f"total_{species}"] = _sum_over_types(values, "group_lives/", species)
    metrics: dict[str, AnyArray] = {FULL_LENGTH_EPISODES: full_length.astype(np.bool_)}
    for name, value in split_metrics.items():
        metrics[f"{name}_{FULL_LENGTH_EPISODES}"] = np.where(full_length, value, np.nan)
        metrics[f"{name}_{ALL_EPISODES}"] = value
    for species in ("predator", "prey"):
        metrics[f"mean_{species}_alive"] = _sum_over_types(values, "mean_alive/", species)
    return metrics


def _sum_over_types(values: Mapping[str, AnyArray], prefix: str, species: str) -> AnyArray:
    """Return the sum over the types of a species of the values named `prefix..._species`.

    Args:
        values: `[episodes]` each, by name.
        prefix: Start of the names.
        species: `predator` or `prey`.
    """
    names = [n for n in values if n.startswith(prefix) and n.endswith(f"_{species}")]
    total: AnyArray = np.sum([values[name] for name in names], axis=0)
    return total


def _divide(part: AnyArray, whole: AnyArray) -> AnyArray:
    """Return `part / whole`, `[episodes]`; NaN where `whole` is 0."""
    return np.where(whole > 0, part / np.maximum(whole, 1), np.nan)
