"""Events of a training: updates, evaluations, its end and its timings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from kinfolk.core.events import Event, TimingEvent


@dataclass(frozen=True, kw_only=True)
class UpdateDone(Event):
    """An update; `step` counts rows of trained slots. Means are over the last episodes.

    `slots` has the returns of each slot and, if it learnt, the statistics of its losses.
    """

    kind: ClassVar[str] = "update_done"
    update: int
    episodes: int  # ended so far
    length: float | None
    score: float | None
    slots: dict[str, dict[str, float]]
    alive: dict[str, float]
    births: dict[str, float]
    counters: dict[str, float]


@dataclass(frozen=True, kw_only=True)
class EvaluationDone(Event):
    """An evaluation on held-out seeds: means with 95 % intervals, the same of baselines."""

    kind: ClassVar[str] = "evaluation_done"
    update: int
    score: float
    is_best: bool
    length: Any
    returns: dict[str, Any]
    return_per_life: dict[str, Any]
    metrics: dict[str, Any]
    baselines: dict[str, dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
class TrainingDone(Event):
    """The end of a training; `reason` is steps, reached or patience."""

    kind: ClassVar[str] = "training_done"
    updates: int
    episodes: int
    reason: str
    score: float | None
    length: float | None
    best: float | None
    best_step: int | None
    weights: dict[str, str]  # the hash of every slot's weights


@dataclass(frozen=True, kw_only=True)
class UpdateTimed(TimingEvent):
    """The time that an update took, by phase."""

    kind: ClassVar[str] = "update_timed"
    rows: int
    collect_seconds: float
    learn_seconds: float
