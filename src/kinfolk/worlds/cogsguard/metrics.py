"""What users of CogsGuard measure over episodes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kinfolk.core.arrays import AnyArray
from kinfolk.worlds.cogsguard.codes import ELEMENTS

_PREFIX = "junction_ticks_team_"


def compute_metrics(full_length: AnyArray, values: Mapping[str, AnyArray]) -> dict[str, AnyArray]:
    """Junctions, hearts and elements, an entry per episode; NaN for games that were cut short."""
    teams = sorted(name[len(_PREFIX) :] for name in values if name.startswith(_PREFIX))
    found: dict[str, AnyArray] = {}
    for team in teams:
        who = "" if len(teams) == 1 else f"_team_{team}"
        found[f"junction_ticks_held{who}"] = values[f"{_PREFIX}{team}"]
        for name, text in (
            ("aligned", "junctions_aligned"),
            ("scrambled", "junctions_scrambled"),
            ("hearts_made", "hearts_made"),
            ("hearts_spent", "hearts_spent"),
            ("deposited", "elements_deposited"),
        ):
            found[f"{text}{who}"] = values[f"{name}_team_{team}"]
        mined = [values[f"{element}_mined_team_{team}"] for element in ELEMENTS]
        found[f"elements_mined{who}"] = np.sum(mined, axis=0)
    found["junction_ticks_held_clips"] = values["junction_ticks_clips"]
    return {name: _mask_short_episodes(full_length, value) for name, value in found.items()}


def _mask_short_episodes(full_length: AnyArray, value: AnyArray) -> AnyArray:
    return np.where(full_length, value.astype(np.float64), np.nan)
