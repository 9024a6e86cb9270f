"""What users of the savanna measure over episodes, under the names they publish."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kinfolk.core.arrays import AnyArray

ALL_EPISODES, FULL_LENGTH_EPISODES = "all_episodes", "full_length_episodes"


def compute_metrics(full_length: AnyArray, values: Mapping[str, AnyArray]) -> dict[str, AnyArray]:
    """Compute captures and populations, an entry per episode; NaN where one does not apply.

    Shares and populations ever alive are given twice: of the episodes that reached the time limit
    only, as published (a short episode tells how it died, not how it lived), and of all episodes,
    so that there is something to see when none reaches it.

    Args:
        full_length: `[episodes]`, True where the time limit was reached.
        values: `[episodes]` each: counters, and `group_lives/GROUP` and `mean_alive/GROUP`.

    Returns:
        `[episodes]` for each metric; booleans are shares of episodes.
    """
    successes, failures = values["team_capture_successes"], values["team_capture_failures"]
    by_several = values["team_capture_coop_successes"]
    fed, fed_together = (
        values["team_capture_helper_total"],
        values["team_capture_coop_helper_total"],
    )
    given_twice = {
        "capture_success_rate": _fraction(successes, successes + failures),
        "cooperative_kill_fraction": _fraction(by_several, successes),
        # Of the times a predator ate, those in which it had helpers. Taken for the published
        # "co-operative share of successful events": counted by kill, the published actors give
        # about half of the published figure. Its authors' own formula was not found.
        "cooperative_meal_fraction": _fraction(fed_together, fed),
    }
    for species in ("predator", "prey"):
        given_twice[f"total_{species}"] = _sum_over_types(values, "group_lives/", species)
    found: dict[str, AnyArray] = {FULL_LENGTH_EPISODES: full_length.astype(np.bool_)}
    for name, value in given_twice.items():
        found[f"{name}_{FULL_LENGTH_EPISODES}"] = np.where(full_length, value, np.nan)
        found[f"{name}_{ALL_EPISODES}"] = value
    for species in ("predator", "prey"):
        found[f"mean_{species}_alive"] = _sum_over_types(values, "mean_alive/", species)
    return found


def _sum_over_types(values: Mapping[str, AnyArray], prefix: str, species: str) -> AnyArray:
    """Both types of a species together."""
    names = [n for n in values if n.startswith(prefix) and n.endswith(f"_{species}")]
    total: AnyArray = np.sum([values[name] for name in names], axis=0)
    return total


def _fraction(part: AnyArray, whole: AnyArray) -> AnyArray:
    return np.where(whole > 0, part / np.maximum(whole, 1), np.nan)
