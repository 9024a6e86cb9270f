"""Evaluate a line-up: play episodes of one seed and say how each slot did."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from kinfolk.core.arrays import AnyArray
from kinfolk.core.events import Event, Snapshot
from kinfolk.core.settings import Settings
from kinfolk.engines.base import Engine
from kinfolk.evaluation.match import Match, play_match
from kinfolk.evaluation.summary import estimate
from kinfolk.policies.resolve import resolve


class Evaluate(Settings):
    """What to play. The results follow from these and nothing else."""

    world: str = "probe"
    world_settings: dict[str, Any] = Field(default={})
    slots: dict[str, str] = Field(default={"all": "kin://random"}, min_length=1)
    slot_map: dict[str, str] = Field(default={})
    episodes: int = Field(default=100, ge=1)
    seed: int = Field(default=0, ge=0)
    # How many episodes make a task. Not the number of workers, so that it changes nothing.
    chunk: int = Field(default=25, ge=1)
    isolate: Literal["none", "slot"] = "none"
    step_timeout: float = Field(default=1.0, gt=0)


@dataclass(frozen=True, kw_only=True)
class EpisodePlayed(Event):
    """An episode has ended; `step` is its number."""

    kind: ClassVar[str] = "episode_played"
    ticks: int
    returns: dict[str, float]
    lives: dict[str, int]
    ticks_lived: dict[str, int]
    counters: dict[str, float]


@dataclass(frozen=True, kw_only=True)
class Evaluated(Event):
    """All episodes are played: means over episodes, each with a 95 % interval."""

    kind: ClassVar[str] = "evaluated"
    episodes: int
    ticks: tuple[float, float, float]
    returns: dict[str, tuple[float, float, float]]
    lives: dict[str, tuple[float, float, float]]
    reward_per_tick: dict[str, tuple[float, float, float]]


def evaluate(
    settings: Evaluate, engine: Engine, resume: Snapshot | None = None
) -> Iterator[Event | Snapshot]:
    """Yield every episode in order, a snapshot after each chunk, and the summary at the end."""
    policies = {name: resolve(uri) for name, uri in settings.slots.items()}
    played: dict[str, list[Any]] = {"ticks": [], "returns": [], "lives": [], "ticks_lived": []}
    if resume is not None:
        played = {name: resume.arrays[name].tolist() for name in played}
    first = len(played["ticks"])
    starts = range(first, settings.episodes, settings.chunk)
    matches = (
        Match(
            settings.world,
            settings.world_settings,
            policies,
            settings.seed,
            start,
            min(start + settings.chunk, settings.episodes),
            settings.slot_map,
            settings.isolate,
            settings.step_timeout,
        )
        for start in starts
    )
    for results in engine.map(play_match, matches):
        for result in results:
            yield EpisodePlayed(
                step=result.episode,
                ticks=result.ticks,
                returns=result.returns,
                lives=result.lives,
                ticks_lived=result.ticks_lived,
                counters=result.counters,
            )
            played["ticks"].append(result.ticks)
            for name in ("returns", "lives", "ticks_lived"):
                played[name].append(list(getattr(result, name).values()))
        arrays = {name: np.array(values) for name, values in played.items()}
        yield Snapshot(step=len(played["ticks"]), arrays=arrays, notes={})
    yield _summary(settings, {name: np.array(values) for name, values in played.items()})


def _summary(settings: Evaluate, played: dict[str, AnyArray]) -> Evaluated:
    rate = played["returns"] / np.maximum(played["ticks_lived"], 1)

    def by_slot(values: AnyArray) -> dict[str, tuple[float, float, float]]:
        return {name: estimate(values[:, i]) for i, name in enumerate(settings.slots)}

    return Evaluated(
        step=settings.episodes,
        episodes=settings.episodes,
        ticks=estimate(played["ticks"]),
        returns=by_slot(played["returns"]),
        lives=by_slot(played["lives"]),
        reward_per_tick=by_slot(rate),
    )
