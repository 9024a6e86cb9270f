"""What users of the savanna measure over episodes, under the names they publish."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kinfolk.core.arrays import AnyArray

ALL, FULL = "all episodes", "full-length episodes"


def measures(full_length: AnyArray, values: Mapping[str, AnyArray]) -> dict[str, AnyArray]:
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
        "capture attempts that succeed": _share(successes, successes + failures),
        "kills by more than one": _share(by_several, successes),
        # Of the times a predator ate, those in which it had helpers. Taken for the published
        # "co-operative share of successful events": counted by kill, the published actors give
        # about half of the published figure. Its authors' own formula was not found.
        "co-operative share of meals": _share(fed_together, fed),
    }
    for species in ("predator", "prey"):
        given_twice[f"{species} ever alive"] = _summed(values, "group_lives/", species)
    found: dict[str, AnyArray] = {FULL: full_length.astype(np.bool_)}
    for name, value in given_twice.items():
        found[f"{name}, {FULL}"] = np.where(full_length, value, np.nan)
        found[f"{name}, {ALL}"] = value
    for species in ("predator", "prey"):
        found[f"{species} alive on average"] = _summed(values, "mean_alive/", species)
    return found


def _summed(values: Mapping[str, AnyArray], prefix: str, species: str) -> AnyArray:
    """Both types of a species together."""
    names = [n for n in values if n.startswith(prefix) and n.endswith(f"_{species}")]
    total: AnyArray = np.sum([values[name] for name in names], axis=0)
    return total


def _share(part: AnyArray, whole: AnyArray) -> AnyArray:
    return np.where(whole > 0, part / np.maximum(whole, 1), np.nan)
