"""What a training tells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from kinfolk.core.events import Event, Measured


@dataclass(frozen=True, kw_only=True)
class Updated(Event):
    """An update; `step` counts rows of trained slots. Means are over the last `window` episodes.

    `slots` says of each slot what it earned and, if it learnt, how that went.
    """

    kind: ClassVar[str] = "updated"
    update: int
    episodes: int  # ended so far
    length: float | None
    score: float | None
    slots: dict[str, dict[str, float]]
    alive: dict[str, float]
    births: dict[str, float]
    counters: dict[str, float]


@dataclass(frozen=True, kw_only=True)
class Judged(Event):
    """Games on unseen seeds: means, each with a 95 % interval; `baselines` on the same episodes."""

    kind: ClassVar[str] = "judged"
    update: int
    score: float
    best: bool
    length: Any
    returns: dict[str, Any]
    return_per_life: dict[str, Any]
    measures: dict[str, Any]
    baselines: dict[str, dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Trained(Event):
    """The end; `reason` is steps, reached or patience."""

    kind: ClassVar[str] = "trained"
    updates: int
    episodes: int
    reason: str
    score: float | None
    length: float | None
    best: float | None
    best_step: int | None
    weights: dict[str, str]  # the hash of every slot's weights


@dataclass(frozen=True, kw_only=True)
class UpdateTimed(Measured):
    """What an update took."""

    kind: ClassVar[str] = "update_timed"
    rows: int
    gather_seconds: float
    learn_seconds: float
