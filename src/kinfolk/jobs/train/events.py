"""What a training tells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from kinfolk.core.events import Event, TimingEvent


@dataclass(frozen=True, kw_only=True)
class UpdateDone(Event):
    """An update; `step` counts rows of trained slots. Means are over the last `window` episodes.

    `slots` says of each slot what it earned and, if it learnt, how that went.
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
    """Games on unseen seeds: means, each with a 95 % interval; `baselines` on the same episodes."""

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
    """The end; `reason` is steps, reached or patience."""

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
    """What an update took."""

    kind: ClassVar[str] = "update_timed"
    rows: int
    collect_seconds: float
    learn_seconds: float
