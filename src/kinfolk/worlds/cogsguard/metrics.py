"""Metrics that summarise CogsGuard episodes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kinfolk.core.arrays import AnyArray
from kinfolk.worlds.cogsguard.codes import ELEMENTS

_PREFIX = "junction_ticks_team_"


def compute_metrics(full_length: AnyArray, values: Mapping[str, AnyArray]) -> dict[str, AnyArray]:
    """Compute metrics of junctions, hearts and elements, by team if there are several.

    Args:
        full_length: `[episodes]`, True where the time limit was reached.
        values: `[episodes]` each: the world's counters.

    Returns:
        `[episodes]` for each metric, NaN for episodes that did not reach the time limit.
    """
    teams = sorted(name[len(_PREFIX) :] for name in values if name.startswith(_PREFIX))
    metrics: dict[str, AnyArray] = {}
    for team in teams:
        suffix = "" if len(teams) == 1 else f"_team_{team}"
        metrics[f"junction_ticks_held{suffix}"] = values[f"{_PREFIX}{team}"]
        for name, metric in (
            ("aligned", "junctions_aligned"),
            ("scrambled", "junctions_scrambled"),
            ("hearts_made", "hearts_made"),
            ("hearts_spent", "hearts_spent"),
            ("deposited", "elements_deposited"),
        ):
            metrics[f"{metric}{suffix}"] = values[f"{name}_team_{team}"]
        mined = [values[f"{element}_mined_team_{team}"] for element in ELEMENTS]
        metrics[f"elements_mined{suffix}"] = np.sum(mined, axis=0)
    metrics["junction_ticks_held_clips"] = values["junction_ticks_clips"]
    return {name: _mask_short_episodes(full_length, value) for name, value in metrics.items()}


def _mask_short_episodes(full_length: AnyArray, value: AnyArray) -> AnyArray:
    return np.where(full_length, value.astype(np.float64), np.nan)
