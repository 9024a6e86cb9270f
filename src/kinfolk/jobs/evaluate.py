"""Evaluate a team of policies: play episodes of one seed and report how each slot did."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Annotated, Any, ClassVar

from pydantic import model_validator

from kinfolk.core.errors import require
from kinfolk.core.events import Event, FileChunk, Snapshot, TimingEvent
from kinfolk.core.settings import Flag, setting, validate_settings
from kinfolk.engines.base import Engine
from kinfolk.evaluation.failures import count_failures, slot_uris
from kinfolk.evaluation.metrics import describe_missing
from kinfolk.evaluation.rollout import (
    Isolation,
    RolloutTiming,
    SlotTimings,
    evaluation_task,
    run_evaluation,
    run_matches,
)
from kinfolk.evaluation.statistics import EvaluationSummary, summarize_episodes
from kinfolk.isolation.failures import IsolationSettings
from kinfolk.isolation.worker_pool import closing_pools
from kinfolk.play.results import EpisodeColumns, EpisodeResult
from kinfolk.play.settings import EpisodeSettings
from kinfolk.play.slots import IsolationMode, PolicySlot, SlotMap
from kinfolk.play.task import RolloutTask
from kinfolk.policies.build import learns_between_episodes
from kinfolk.replay.record import as_file_chunks, record_episode, record_replay
from kinfolk.worlds import compute_world_metrics

_MATCH = 0  # all episodes of an evaluation are one match


class Evaluate(IsolationSettings, EpisodeSettings):
    """Settings of an evaluation, which determine its results completely."""

    episodes: int = setting(100, "Number of episodes to play.", ge=1)
    chunk_size: int = setting(10, "Episodes per task; changes no result.", ge=1)
    replays: Annotated[int, Flag("--replay")] = setting(
        0, "Number of first episodes that are recorded for the viewer.", ge=0
    )
    isolate: IsolationMode = setting(
        "none", "Processes for policies: none, one per slot, or one per agent."
    )

    @model_validator(mode="before")
    @classmethod
    def _isolate_sandboxed(cls, value: Any) -> Any:
        """Give every agent a process of its own with `sandbox`, unless `isolate` says otherwise."""
        if isinstance(value, Mapping) and value.get("sandbox") and "isolate" not in value:
            return {**value, "isolate": "agent"}
        return value

    @model_validator(mode="after")
    def _check_sandbox(self) -> Evaluate:
        """Check that no policy runs outside of the sandbox that was asked for."""
        for slot in self.slots:
            require(
                not self.sandbox or not self.is_trusted(slot),
                f"The sandbox restricts worker processes, and slot '{slot.id}' has none: "
                "isolate must be 'slot' or 'agent'.",
            )
        return self

    @model_validator(mode="after")
    def _check_environments(self) -> Evaluate:
        """Check that every slot map of a single environment is that of an episode."""
        self.check_environments(self.episodes, "episodes of the evaluation")
        return self

    def is_trusted(self, slot: PolicySlot) -> bool:
        """Return whether a slot's policy may run in the evaluation's own processes."""
        return (slot.isolate or self.isolate) == "none"

    @property
    def isolation_settings(self) -> IsolationSettings:
        """Limits of the worker processes in which isolated policies run."""
        fields = {name: getattr(self, name) for name in IsolationSettings.model_fields}
        return validate_settings(IsolationSettings, fields)


@dataclass(frozen=True, kw_only=True)
class EpisodePlayed(Event, EpisodeResult):
    """An episode has ended; `step` is its number."""

    kind: ClassVar[str] = "episode_played"

    def to_dict(self) -> dict[str, Any]:
        """Return the event as plain values; `step` is the number of the episode."""
        plain = super().to_dict()
        del plain["episode"]
        return plain | {"failures": [asdict(failure) for failure in self.failures]}


@dataclass(frozen=True, kw_only=True)
class RolloutTimed(TimingEvent, RolloutTiming):
    """The time that a task of some episodes took; `step` is its first episode."""

    kind: ClassVar[str] = "rollout_timed"

    @staticmethod
    def of_policies(step: int, timing: RolloutTiming, names: Mapping[str, str]) -> RolloutTimed:
        """Return the event of a task of which several have slots of the same names.

        Args:
            step: Position in the job.
            timing: Timing of the task.
            names: Names of slots to use instead.
        """
        slots = {names.get(slot, slot): value for slot, value in timing.slots.items()}
        return RolloutTimed(step=step, **{**vars(timing), "slots": slots})

    def to_dict(self) -> dict[str, Any]:
        """Return the event as plain values."""
        slots = {name: asdict(timing) for name, timing in self.slots.items()}
        return super().to_dict() | {"slots": slots}


@dataclass(frozen=True, kw_only=True)
class Evaluated(Event, EvaluationSummary):
    """All episodes are played: means over episodes, each with a 95 % confidence interval.

    `failed_slots` are the slots whose policies failed, each with a `SlotFailures`.
    """

    kind: ClassVar[str] = "evaluated"
    failed_slots: dict[
        str, dict[str, Any]
    ]  # how often their policies failed, and the first failure


def evaluation_tasks(
    settings: Evaluate, first: int = 0, in_order: bool = False
) -> Iterator[RolloutTask[SlotTimings]]:
    """Yield the tasks of an evaluation; policies are resolved before the first task.

    Args:
        settings: Settings of the evaluation.
        first: First episode to play.
        in_order: Whether one task plays all episodes, one after another.
    """
    policies = {slot.id: slot.resolve_policy(settings.is_trusted(slot)) for slot in settings.slots}
    isolate = {slot.id: slot.isolate for slot in settings.slots if slot.isolate is not None}
    isolation = Isolation(settings.isolate, settings.isolation_settings, isolate, in_order=in_order)
    world, seed, slot_map = settings.world_ref, settings.seed, settings.slot_map_for(settings.world)
    world_slot_maps = settings.environment_slot_maps
    size = settings.episodes if in_order else settings.chunk_size
    for start in range(first, settings.episodes, size):
        chunk = range(start, min(start + size, settings.episodes))
        inherit = settings.inherit_slot
        yield evaluation_task(
            world, policies, seed, chunk, slot_map, isolation, inherit, world_slot_maps
        )


def record_replay_of(
    settings: Evaluate, episode: int, name: str, slot_map: SlotMap | None = None
) -> Iterator[FileChunk]:
    """Play one episode of an evaluation and yield its replay, which names the policies that play.

    Args:
        settings: Settings of the evaluation.
        episode: Number of the episode.
        name: Name of the replay.
        slot_map: Slot of each group or row instead of that of the settings.
    """
    task = next(evaluation_tasks(settings))
    if slot_map is not None:
        task = replace(task, slot_map=slot_map, world_slot_maps={})
    players = slot_uris(settings.model_dump())
    yield from as_file_chunks(name, record_replay(task, episode, players=players))


def find_learning_slots(settings: Evaluate, engine: Engine) -> list[str]:
    """Return the slots whose policies learn between episodes.

    Raises:
        SettingsError: The episodes cannot be played in order, each of them once, in one process.
    """
    learning = []
    for slot in settings.slots:
        resolved = slot.resolve_policy(settings.is_trusted(slot))
        is_known = settings.is_trusted(slot) or resolved.class_path.startswith("kinfolk.")
        if is_known and learns_between_episodes(resolved, lambda: settings.world_ref.spec):
            learning.append(slot.id)
            policy = f"The policy of slot '{slot.id}' learns between episodes"
            require(
                engine.jobs == 1,
                f"{policy}, which have to be played in order: use jobs=1, not {engine.jobs}.",
            )
            require(
                settings.is_trusted(slot),
                f"{policy}, which it does in the process that plays: isolate must be 'none'.",
            )
            require(
                settings.replays == 0,
                f"{policy}, and a replay would play an episode twice: replays must be 0.",
            )
    return learning


def evaluate(
    settings: Evaluate, engine: Engine, resume: Snapshot | None = None
) -> Iterator[Event | Snapshot | FileChunk]:
    """Yield every episode in order, a snapshot after each chunk, and the summary at the end.

    Replays come first, so that there is something to watch while the rest is played.

    Args:
        settings: The world, the policies and the number of episodes.
        engine: Engine that runs the tasks.
        resume: Last snapshot of a stopped run to continue from; None starts anew.
    """
    if resume is None:
        played, n_replays = EpisodeColumns.from_results(()), settings.replays
    else:
        require(
            not resume.arrays or "slot_counters" in resume.arrays,
            "The evaluation was begun by an earlier version of kinfolk, which did not count what each "
            "slot did. Start it again.",
        )
        played, n_replays = EpisodeColumns(resume.arrays, resume.notes), 0
    learning = find_learning_slots(settings, engine)
    with closing_pools():
        for episode in range(min(n_replays, settings.episodes)):
            yield from record_episode(next(evaluation_tasks(settings)), episode)
        all_tasks = evaluation_tasks(settings, len(played), in_order=bool(learning))
        tasks = ((_MATCH, task) for task in all_tasks)
        for result in run_matches(engine, tasks, run_evaluation):
            for episode_result in result.episodes:
                yield EpisodePlayed(step=episode_result.episode, **vars(episode_result))
            yield RolloutTimed(step=len(played), **vars(result.observed))
            # Kept as columns: a thousand episodes as objects would take a hundred times the room.
            played = played.concatenate(result.episodes)
            yield Snapshot(step=len(played), arrays=played.arrays, notes=played.notes)
    metrics = partial(compute_world_metrics, settings.world)
    summary = summarize_episodes(played, settings.slot_ids, metrics)
    counts = {name: 0 if e is None else e.n for name, e in summary.metrics.items()}
    missing = describe_missing(settings.world, counts, len(played))
    learned = [
        f"Slot '{slot}' learned from every episode, so these are means over policies that differ, and "
        "the intervals, which take episodes for independent, are too narrow."
        for slot in learning
    ]
    summary = replace(summary, notes=[*missing, *summary.notes, *learned])
    failed = count_failures({}, played)
    yield Evaluated(step=settings.episodes, **vars(summary), failed_slots=failed)
