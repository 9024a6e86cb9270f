"""Evaluate a line-up: play episodes of one seed and say how each slot did."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

from pydantic import Field

from kinfolk.core.events import Artefact, Event, Measured, Snapshot
from kinfolk.core.settings import read
from kinfolk.engines.base import Engine
from kinfolk.evaluation.care import Care
from kinfolk.evaluation.failed_slots import tally_failures
from kinfolk.evaluation.match import Match, play_timed
from kinfolk.evaluation.pool import no_guests_left
from kinfolk.evaluation.recorded import record_episode
from kinfolk.evaluation.results import EpisodeReport, from_arrays, joined, to_arrays
from kinfolk.evaluation.summary import Estimate, Summary, summarise
from kinfolk.play.lineup import Lineup
from kinfolk.play.slots import Isolate, PolicySlot
from kinfolk.worlds import measures_of


class Evaluate(Lineup, Care):
    """What to play. The results follow from these and nothing else."""

    world: str = "probe"
    preset: str | None = None
    world_settings: dict[str, Any] = Field(default={})
    episodes: int = Field(default=100, ge=1)
    seed: int = Field(default=0, ge=0)
    # How many episodes make a task. Not the number of workers, so that it changes nothing.
    chunk: int = Field(default=10, ge=1)
    replays: int = Field(default=0, ge=0)  # so many of the first episodes are recorded
    isolate: Isolate = "none"

    def is_trusted(self, slot: PolicySlot) -> bool:
        """Whether a slot's policy may run in the processes of the evaluation itself."""
        return (slot.isolate or self.isolate) == "none"

    @property
    def care(self) -> Care:
        """How policies are kept."""
        return read(Care, {name: getattr(self, name) for name in Care.model_fields})


@dataclass(frozen=True, kw_only=True)
class EpisodePlayed(Event):
    """An episode has ended; `step` is its number, the rest is its `EpisodeReport`."""

    kind: ClassVar[str] = "episode_played"
    ticks: int
    full_length: bool
    returns: dict[str, float]
    lives: dict[str, int]
    ticks_lived: dict[str, int]
    group_lives: dict[str, int]
    mean_alive: dict[str, float]
    counters: dict[str, float]
    seed: int
    group_returns: dict[str, float]
    agents: dict[str, list[Any]]
    failures: tuple[dict[str, Any], ...]
    never_acted: tuple[str, ...]
    faults: dict[str, dict[str, int]]


@dataclass(frozen=True, kw_only=True)
class MatchTimed(Measured):
    """What a task of some episodes took; `step` is the first of them."""

    kind: ClassVar[str] = "match_timed"
    episodes: int
    ticks: int
    seconds: float
    slots: dict[str, dict[str, float]]
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Evaluated(Event):
    """All episodes are played: means over episodes, each with a 95 % interval.

    `measures` are the world's own, over those episodes to which each applies; `failed_slots` are
    the slots whose policies failed, each with a `SlotFailures`.
    """

    kind: ClassVar[str] = "evaluated"
    episodes: int
    ticks: Estimate
    returns: dict[str, Estimate]
    lives: dict[str, Estimate]
    reward_per_tick: dict[str, Estimate]
    measures: dict[str, Estimate]
    return_per_life: dict[str, Estimate]
    group_returns: dict[str, Estimate]
    win_rate: dict[str, Estimate]
    differences: dict[str, Estimate]
    failures: int
    faults: int
    failed_slots: dict[str, dict[str, Any]]


def matches(settings: Evaluate, first: int) -> Iterator[Match]:
    """The tasks, from episode `first` on. Policies are resolved here, once."""
    policies = {slot.id: slot.resolved(settings.is_trusted(slot)) for slot in settings.slots}
    isolate = {slot.id: slot.isolate for slot in settings.slots if slot.isolate is not None}
    for start in range(first, settings.episodes, settings.chunk):
        yield Match(
            settings.world,
            settings.world_settings,
            policies,
            settings.seed,
            start,
            min(start + settings.chunk, settings.episodes),
            settings.preset,
            settings.map_for(settings.world),
            settings.isolate,
            settings.care,
            isolate,
            settings.inherit_slot,
        )


def evaluate(
    settings: Evaluate, engine: Engine, resume: Snapshot | None = None
) -> Iterator[Event | Snapshot | Artefact]:
    """Yield every episode in order, a snapshot after each chunk, and the summary at the end.

    Replays come first, so that there is something to watch while the rest is played.
    """
    played = None if resume is None else (resume.arrays, resume.notes)
    with no_guests_left():
        for episode in range(min(settings.replays, settings.episodes) if resume is None else 0):
            yield from record_episode(next(matches(settings, 0)), episode)
        for found in engine.map(play_timed, matches(settings, resume.step if resume else 0)):
            for report in found.reports:
                facts = report.facts()
                yield EpisodePlayed(step=facts.pop("episode"), **facts)
            timing = asdict(found.timing)
            yield MatchTimed(step=timing.pop("first"), **timing)
            # Kept as arrays: a thousand episodes as objects would take a hundred times the room.
            arrays, notes = played = joined(played, to_arrays(found.reports))
            yield Snapshot(step=len(arrays["episode"]), arrays=arrays, notes=notes)
    assert played is not None  # there is at least one episode
    reports = from_arrays(*played)
    failed = tally_failures({}, reports)
    yield Evaluated(
        step=settings.episodes, **summary_of(settings, reports)._asdict(), failed_slots=failed
    )


def summary_of(settings: Evaluate, played: list[EpisodeReport]) -> Summary:
    """What the episodes say together."""
    return summarise(
        played, settings.slot_ids, lambda *columns: measures_of(settings.world, *columns)
    )
