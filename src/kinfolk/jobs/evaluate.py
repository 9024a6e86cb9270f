"""Evaluate a line-up: play episodes of one seed and say how each slot did."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from kinfolk.core.arrays import AnyArray
from kinfolk.core.events import Artefact, Event, Snapshot
from kinfolk.core.settings import Settings
from kinfolk.engines.base import Engine
from kinfolk.evaluation.match import Match, play_match
from kinfolk.evaluation.recorded import record_episode
from kinfolk.evaluation.results import column, from_arrays, to_arrays
from kinfolk.evaluation.summary import Estimate, estimate
from kinfolk.play.episode import EpisodeResult
from kinfolk.policies.resolve import resolve
from kinfolk.worlds import measures_of


class Evaluate(Settings):
    """What to play. The results follow from these and nothing else."""

    world: str = "probe"
    preset: str | None = None
    world_settings: dict[str, Any] = Field(default={})
    slots: dict[str, str] = Field(default={"all": "kin://random"}, min_length=1)
    slot_map: dict[str, str] = Field(default={})
    episodes: int = Field(default=100, ge=1)
    seed: int = Field(default=0, ge=0)
    # How many episodes make a task. Not the number of workers, so that it changes nothing.
    chunk: int = Field(default=10, ge=1)
    replays: int = Field(default=0, ge=0)  # so many of the first episodes are recorded
    isolate: Literal["none", "slot"] = "none"
    step_timeout: float = Field(default=1.0, gt=0)


@dataclass(frozen=True, kw_only=True)
class EpisodePlayed(Event):
    """An episode has ended; `step` is its number, the rest is its `EpisodeResult`."""

    kind: ClassVar[str] = "episode_played"
    ticks: int
    full_length: bool
    returns: dict[str, float]
    lives: dict[str, int]
    ticks_lived: dict[str, int]
    group_lives: dict[str, int]
    mean_alive: dict[str, float]
    counters: dict[str, float]


@dataclass(frozen=True, kw_only=True)
class Evaluated(Event):
    """All episodes are played: means over episodes, each with a 95 % interval.

    `measures` are the world's own, over those episodes to which each applies.
    """

    kind: ClassVar[str] = "evaluated"
    episodes: int
    ticks: Estimate
    returns: dict[str, Estimate]
    lives: dict[str, Estimate]
    reward_per_tick: dict[str, Estimate]
    measures: dict[str, Estimate]


def matches(settings: Evaluate, first: int) -> Iterator[Match]:
    """The tasks, from episode `first` on. Policies are resolved here, once."""
    policies = {name: resolve(uri) for name, uri in settings.slots.items()}
    for start in range(first, settings.episodes, settings.chunk):
        yield Match(
            settings.world,
            settings.world_settings,
            policies,
            settings.seed,
            start,
            min(start + settings.chunk, settings.episodes),
            settings.preset,
            settings.slot_map,
            settings.isolate,
            settings.step_timeout,
        )


def evaluate(
    settings: Evaluate, engine: Engine, resume: Snapshot | None = None
) -> Iterator[Event | Snapshot | Artefact]:
    """Yield every episode in order, a snapshot after each chunk, and the summary at the end.

    Replays come first, so that there is something to watch while the rest is played.
    """
    played: list[EpisodeResult] = []
    if resume is not None:
        played = from_arrays(resume.arrays, resume.notes)
    else:
        for episode in range(min(settings.replays, settings.episodes)):
            yield from record_episode(next(matches(settings, 0)), episode)
    for results in engine.map(play_match, matches(settings, len(played))):
        for result in results:
            facts = asdict(result)
            yield EpisodePlayed(step=facts.pop("episode"), **facts)
        played += results
        arrays, names = to_arrays(played)
        yield Snapshot(step=len(played), arrays=arrays, notes=names)
    yield _summary(settings, played)


def _summary(settings: Evaluate, played: list[EpisodeResult]) -> Evaluated:
    returns = {slot: column(played, "returns", slot) for slot in settings.slots}
    lived = {slot: column(played, "ticks_lived", slot) for slot in settings.slots}
    lives = {slot: column(played, "lives", slot) for slot in settings.slots}
    rates = {slot: returns[slot] / np.maximum(lived[slot], 1.0) for slot in settings.slots}

    def estimates(columns: Mapping[str, AnyArray]) -> dict[str, Estimate]:
        known = {name: values[np.isfinite(values)] for name, values in columns.items()}
        return {name: estimate(values) for name, values in known.items() if len(values)}

    return Evaluated(
        step=settings.episodes,
        episodes=settings.episodes,
        ticks=estimate(np.array([result.ticks for result in played])),
        returns=estimates(returns),
        lives=estimates(lives),
        reward_per_tick=estimates(rates),
        measures=estimates(measures_of(settings.world, *_as_columns(played))),
    )


def _as_columns(played: list[EpisodeResult]) -> tuple[AnyArray, dict[str, AnyArray]]:
    """Who came to full length, and every group and counter value by name, an entry per episode."""
    found: dict[str, AnyArray] = {}
    for table in ("group_lives", "mean_alive", "counters"):
        prefix = "" if table == "counters" else f"{table}/"
        found |= {
            f"{prefix}{name}": column(played, table, name) for name in getattr(played[0], table)
        }
    return np.array([result.full_length for result in played]), found
