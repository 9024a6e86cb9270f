"""Scores of a generation, and running statistics that its matches have collected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Floats
from kinfolk.nets.running_stats import RunningStats, merge_running_stats


@dataclass(frozen=True)
class PopulationScores:
    """Fitness and measures of a generation; arrays have the member as first axis."""

    fitness: Mapping[str, Floats]  # by population
    steps: int  # ticks of worlds, over all matches
    measures: Mapping[str, AnyArray] = field(default_factory=dict)  # of the first population, means


def concat_stats(parts: Sequence[RunningStats | None]) -> RunningStats | None:
    """Concatenate the running statistics of chunks; None if the nets have none."""
    stats = [part for part in parts if part is not None]
    return RunningStats(*map(np.concatenate, zip(*stats, strict=True))) if stats else None


def merge_stats_into(nets: Any, copies: Sequence[RunningStats | None]) -> None:
    """Merge running statistics of several copies of each net into those of the nets.

    Args:
        nets: Nets whose statistics are updated.
        copies: Statistics to merge, `[members, copies, capacity]` each; None is skipped.
    """
    stats = [copy for copy in copies if copy is not None]
    if stats:
        base = RunningStats(*(nets.to_arrays()[name] for name in RunningStats._fields))
        merged = (np.concatenate(part, axis=1) for part in zip(*stats, strict=True))
        nets.set_running_stats(merge_running_stats(base, RunningStats(*merged)))
