"""What users of the savanna measure over episodes, under the names they publish."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kinfolk.core.arrays import AnyArray


def measures(full_length: AnyArray, values: Mapping[str, AnyArray]) -> dict[str, AnyArray]:
    """Captures and populations, an entry per episode; NaN where a measure does not apply.

    Shares and populations ever alive are of full-length episodes only, as published: a short one
    tells how it died, not how it lived.
    """
    successes, failures = values["team_capture_successes"], values["team_capture_failures"]
    by_several = values["team_capture_coop_successes"]
    fed, fed_together = (
        values["team_capture_helper_total"],
        values["team_capture_coop_helper_total"],
    )
    found = {
        "full-length episodes": full_length.astype(np.float64),
        "capture attempts that succeed": _of_full(full_length, successes, successes + failures),
        "kills by more than one": _of_full(full_length, by_several, successes),
        # Of the times a predator ate, those in which it had helpers. Taken for the published
        # "co-operative share of successful events": counted by kill, the published actors give
        # about half of the published figure. Its authors' own formula was not found.
        "co-operative share of meals": _of_full(full_length, fed_together, fed),
    }
    for species in ("predator", "prey"):
        ever = _summed(values, "group_lives/", species)
        found[f"{species} ever alive"] = np.where(full_length, ever, np.nan)
        found[f"{species} alive on average"] = _summed(values, "mean_alive/", species)
    return found


def _summed(values: Mapping[str, AnyArray], prefix: str, species: str) -> AnyArray:
    """Both types of a species together."""
    names = [n for n in values if n.startswith(prefix) and n.endswith(f"_{species}")]
    total: AnyArray = np.sum([values[name] for name in names], axis=0)
    return total


def _of_full(full_length: AnyArray, part: AnyArray, whole: AnyArray) -> AnyArray:
    known = full_length & (whole > 0)
    return np.where(known, part / np.maximum(whole, 1), np.nan)
