"""What users of CogsGuard measure over episodes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kinfolk.core.arrays import AnyArray
from kinfolk.worlds.cogsguard.codes import ELEMENTS

_PREFIX = "junction_ticks_team_"


def measures(full_length: AnyArray, values: Mapping[str, AnyArray]) -> dict[str, AnyArray]:
    """Junctions, hearts and elements, an entry per episode; NaN for games that were cut short."""
    teams = sorted(name[len(_PREFIX) :] for name in values if name.startswith(_PREFIX))
    found: dict[str, AnyArray] = {}
    for team in teams:
        who = "" if len(teams) == 1 else f" by team {team}"
        found[f"junction-ticks held{who}"] = values[f"{_PREFIX}{team}"]
        for name, text in (
            ("aligned", "junctions aligned"),
            ("scrambled", "junctions scrambled"),
            ("hearts_made", "hearts made"),
            ("hearts_spent", "hearts spent"),
            ("deposited", "elements deposited"),
        ):
            found[f"{text}{who}"] = values[f"{name}_team_{team}"]
        mined = [values[f"{element}_mined_team_{team}"] for element in ELEMENTS]
        found[f"elements mined{who}"] = np.sum(mined, axis=0)
    found["junction-ticks held by the clips"] = values["junction_ticks_clips"]
    return {name: _of_full(full_length, value) for name, value in found.items()}


def _of_full(full_length: AnyArray, value: AnyArray) -> AnyArray:
    return np.where(full_length, value.astype(np.float64), np.nan)
