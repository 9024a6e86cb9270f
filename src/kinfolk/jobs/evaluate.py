"""Evaluate a line-up: play episodes of one seed and say how each slot did."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, ClassVar

from kinfolk.core.events import Event, FileChunk, Snapshot, TimingEvent
from kinfolk.core.settings import Flag, setting, validate_settings
from kinfolk.engines.base import Engine
from kinfolk.evaluation.record import record_episode
from kinfolk.evaluation.results import (
    EpisodeReport,
    concatenate_results,
    count_failures,
    from_arrays,
    to_arrays,
)
from kinfolk.evaluation.rollout import RolloutTask, run_task
from kinfolk.evaluation.statistics import Estimate, EvaluationSummary, summarize_episodes
from kinfolk.isolation.settings import IsolationSettings
from kinfolk.isolation.worker_pool import closing_pools
from kinfolk.play.episode_settings import EpisodeSettings
from kinfolk.play.slots import IsolationMode, PolicySlot
from kinfolk.worlds import compute_world_metrics


class Evaluate(IsolationSettings, EpisodeSettings):
    """What to play. The results follow from these and nothing else."""

    episodes: int = setting(100, "Number of episodes to play.", ge=1)
    chunk_size: int = setting(10, "Episodes per task; changes no result.", ge=1)
    replays: Annotated[int, Flag("--replay")] = setting(
        0, "Number of first episodes that are recorded for the viewer.", ge=0
    )
    isolate: IsolationMode = setting(
        "none", "Processes for policies: none, one per slot, or one per agent."
    )

    def is_trusted(self, slot: PolicySlot) -> bool:
        """Whether a slot's policy may run in the processes of the evaluation itself."""
        return (slot.isolate or self.isolate) == "none"

    @property
    def isolation_settings(self) -> IsolationSettings:
        """How policies are kept."""
        return validate_settings(
            IsolationSettings,
            {name: getattr(self, name) for name in IsolationSettings.model_fields},
        )


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
    invalid_actions: dict[str, dict[str, int]]


@dataclass(frozen=True, kw_only=True)
class RolloutTimed(TimingEvent):
    """What a task of some episodes took; `step` is the first of them."""

    kind: ClassVar[str] = "rollout_timed"
    episodes: int
    ticks: int
    seconds: float
    slots: dict[str, dict[str, float]]
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Evaluated(Event):
    """All episodes are played: means over episodes, each with a 95 % confidence interval.

    `measures` are the world's own, over those episodes to which each applies; None where there
    are none. `failed_slots` are the slots whose policies failed, each with a `SlotFailures`.
    """

    kind: ClassVar[str] = "evaluated"
    episodes: int
    ticks: Estimate
    returns: dict[str, Estimate]
    lives: dict[str, Estimate]
    reward_per_tick: dict[str, Estimate]
    metrics: dict[str, Estimate | None]
    return_per_life: dict[str, Estimate | None]
    group_returns: dict[str, Estimate]
    win_rate: dict[str, Estimate | None]
    differences: dict[str, Estimate | None]
    failures: int
    invalid_actions: int
    failed_slots: dict[str, dict[str, Any]]


def rollout_tasks(settings: Evaluate, first: int) -> Iterator[RolloutTask]:
    """The tasks, from episode `first` on. Policies are resolved here, once."""
    policies = {slot.id: slot.resolve_policy(settings.is_trusted(slot)) for slot in settings.slots}
    isolate = {slot.id: slot.isolate for slot in settings.slots if slot.isolate is not None}
    for start in range(first, settings.episodes, settings.chunk_size):
        yield RolloutTask(
            settings.world,
            settings.world_settings,
            policies,
            settings.seed,
            start,
            min(start + settings.chunk_size, settings.episodes),
            settings.preset,
            settings.slot_map_for(settings.world),
            settings.isolate,
            settings.isolation_settings,
            isolate,
            settings.inherit_slot,
        )


def evaluate(
    settings: Evaluate, engine: Engine, resume: Snapshot | None = None
) -> Iterator[Event | Snapshot | FileChunk]:
    """Yield every episode in order, a snapshot after each chunk, and the summary at the end.

    Replays come first, so that there is something to watch while the rest is played.
    """
    played = None if resume is None else (resume.arrays, resume.notes)
    with closing_pools():
        for episode in range(min(settings.replays, settings.episodes) if resume is None else 0):
            yield from record_episode(next(rollout_tasks(settings, 0)), episode)
        for found in engine.map(run_task, rollout_tasks(settings, resume.step if resume else 0)):
            for report in found.reports:
                facts = report.to_dict()
                yield EpisodePlayed(step=facts.pop("episode"), **facts)
            timing = asdict(found.timing)
            yield RolloutTimed(step=timing.pop("first"), **timing)
            # Kept as arrays: a thousand episodes as objects would take a hundred times the room.
            arrays, notes = played = concatenate_results(played, to_arrays(found.reports))
            yield Snapshot(step=len(arrays["episode"]), arrays=arrays, notes=notes)
    assert played is not None  # there is at least one episode
    reports = from_arrays(*played)
    failed = count_failures({}, reports)
    yield Evaluated(
        step=settings.episodes,
        **summarize_evaluation(settings, reports)._asdict(),
        failed_slots=failed,
    )


def summarize_evaluation(settings: Evaluate, reports: list[EpisodeReport]) -> EvaluationSummary:
    """What the episodes say together."""
    return summarize_episodes(
        reports, settings.slot_ids, lambda *columns: compute_world_metrics(settings.world, *columns)
    )
