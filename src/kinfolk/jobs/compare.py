"""Compare policies: each plays the same episodes in the same slots; does one score higher?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from kinfolk.core.errors import require
from kinfolk.core.events import Event, FileChunk, Snapshot
from kinfolk.core.settings import Flag, setting
from kinfolk.engines.base import Engine
from kinfolk.evaluation.comparison import (
    CANDIDATE_SLOT,
    MIN_EPISODES,
    PairedComparison,
    adjust_comparisons,
    compare_paired,
    describe_disagreement,
    describe_low_power,
    label_policies,
    parse_team,
)
from kinfolk.evaluation.failures import count_failures
from kinfolk.evaluation.metrics import (
    METRICS,
    check_metric,
    describe_missing,
    metric_values,
)
from kinfolk.evaluation.rollout import run_evaluation, run_matches
from kinfolk.evaluation.statistics import (
    Estimate,
    estimate_finite,
    estimate_mean,
    estimate_proportion,
)
from kinfolk.evaluation.weakness import describe_weak_columns
from kinfolk.isolation.worker_pool import closing_pools
from kinfolk.jobs.evaluate import Evaluate, RolloutTimed, evaluation_tasks, record_replay_of
from kinfolk.play.slots import PolicySlot, parse_slot
from kinfolk.replay.record import replay_name


class Compare(Evaluate):
    """Settings of a comparison, whose candidates take turns in the slot `candidate`.

    A candidate may be a team of slots too: `miner=kin://a;scout=kin://b`. Other `slots` and the map
    are the same for all of them. In a world with one group a candidate plays all agents unless a
    map says otherwise; a world with several groups needs a map. `metric` may also be a counter or
    a metric of the world.
    """

    policies: Annotated[tuple[str, ...], Flag(completes="policy")] = Field(
        min_length=2,
        description="Two or more candidates: a policy URI each, or a team of slots as 'a=URI;b=URI'.",
    )
    metric: str = setting(
        "return",
        f"Metric that is compared: {', '.join(METRICS)}, a counter or world metric.",
    )


@dataclass(frozen=True, kw_only=True)
class CandidatePlayed(Event):
    """A candidate has played an episode; `step` is its number."""

    kind: ClassVar[str] = "candidate_played"
    policy: int  # index of the candidate
    value: float | None  # of the metric; None if it does not apply to the episode
    failures: list[dict[str, Any]]  # fields of `Failure`, of all slots


@dataclass(frozen=True, kw_only=True)
class ComparisonDone(Event):
    """All candidates have played: their means, and a paired test of every two of them.

    Keys of `pairs` are two candidates' numbers, such as "0 1". `notes` are messages about pairs
    with too few unequal episodes to show a difference, where interval and p-value disagree, and
    intervals that may cover less than 90 %; `episodes_needed` is the fewest episodes that can show a difference.
    """

    kind: ClassVar[str] = "compared"
    policies: list[str]  # URIs of the candidates
    metric: str  # what was compared
    means: list[Estimate | None]  # None where the metric applies to no episode
    failures: list[int]  # of each candidate
    pairs: dict[str, PairedComparison]  # by two numbers, such as "0 1"
    failed_slots: list[dict[str, Any]]  # of each candidate, as an evaluation has them
    episodes_needed: int  # fewest that can show a difference
    notes: list[str]  # what to distrust: too few episodes, weak intervals


def unmapped_groups(settings: Compare) -> list[str]:
    """Return the groups that no slot map assigns; none in a world with a single group."""
    slot_map = settings.slot_map_for(settings.world)
    if slot_map is not None and not isinstance(slot_map, Mapping):
        return []  # it lists a slot for each agent
    groups = [group.name for group in settings.world_ref.spec.groups]
    mapped = slot_map or {}
    if len(groups) == 1 or not set(mapped) <= set(groups):
        return []  # an unknown group is reported by the code that reads the map
    return [name for name in groups if name not in mapped]


def candidate_settings(settings: Compare) -> list[Evaluate]:
    """Return the evaluation settings of each candidate, equal but for its slots.

    Raises:
        SettingsError: The world has several groups, and the slot map leaves out at least one.
        UnknownNameError: The world has no such metric.
    """
    groups = unmapped_groups(settings)
    require(
        not groups or settings.slot_map_for(settings.world) is None,
        f"World {settings.world} has groups that the map leaves out: {', '.join(groups)}. Every "
        f"candidate would play them too. Say who plays each, such as '{CANDIDATE_SLOT}' or another slot.",
    )
    require(
        not groups,
        f"World {settings.world} has the groups {', '.join(groups)}, and without a map every "
        f"candidate would play all of them. Say who plays whom, such as "
        f"slots={{'others': 'kin://random'}}, agent_slot_map={example_map(groups)}.",
    )
    check_metric(settings.metric, settings.world_ref)
    common = {name: getattr(settings, name) for name in Evaluate.model_fields}
    others = _other_slots(settings)
    candidates = []
    for text in settings.policies:
        team = [parse_slot(name, uri) for name, uri in parse_team(text).items()]
        candidates.append(Evaluate(**{**common, "slots": (*team, *others), "replays": 0}))
    return candidates


def _other_slots(settings: Compare) -> list[PolicySlot]:
    """Return the slots beside the candidate's; the default slot only if the map names it.

    Whether slots were given cannot be told from the settings of a stored run, which have all fields.
    """
    slot_map = settings.slot_map_for(settings.world) or ()
    named = list(slot_map.values() if isinstance(slot_map, Mapping) else slot_map)
    are_default = settings.slots == Compare.model_fields["slots"].get_default()
    others = [slot for slot in settings.slots if slot.id != CANDIDATE_SLOT]
    return [slot for slot in others if not are_default or slot.id in named]


def given_slots(settings: Compare) -> dict[str, str]:
    """Return the URIs of the slots beside the candidate's, those that no map names first."""
    slot_map = settings.slot_map_for(settings.world)
    mapped = set(slot_map.values()) if isinstance(slot_map, Mapping) else set()
    others = sorted(_other_slots(settings), key=lambda slot: slot.id in mapped)
    return {slot.id: slot.policy_uri or f"class:{slot.class_path}" for slot in others}


def example_map(
    groups: Sequence[str], candidate: str = CANDIDATE_SLOT, other: str = "others"
) -> dict[str, str]:
    """Return a slot map in which the candidate plays the first group, for error messages.

    >>> example_map(["predator", "prey"])
    {'predator': 'candidate', 'prey': 'others'}

    Args:
        groups: Groups of the world.
        candidate: Slot of the candidate.
        other: Slot that plays all other groups.
    """
    return {group: other if number else candidate for number, group in enumerate(groups)}


def _record_replays(settings: Compare, candidates: Sequence[Evaluate]) -> Iterator[FileChunk]:
    """Record the first episodes of each candidate, as `game-00000-0-NAME` and so on."""
    labels = label_policies(settings.policies)
    for episode in range(min(settings.replays, settings.episodes)):
        for candidate, label in zip(candidates, labels, strict=True):
            yield from record_replay_of(candidate, episode, f"{replay_name(episode)}-{label}")


def compare_policies(
    settings: Compare, engine: Engine, resume: Snapshot | None = None
) -> Iterator[Event | Snapshot | FileChunk]:
    """Yield every candidate's episodes, a snapshot after each chunk, and the comparison.

    Replays come first: the same episodes of each candidate.

    Args:
        settings: The candidates, their world and the metric.
        engine: Engine that runs the tasks.
        resume: Last snapshot of a stopped run to continue from; None starts anew.
    """
    teams = [list(parse_team(text)) for text in settings.policies]
    values, failures = np.zeros((0, len(teams))), np.zeros(len(teams), dtype=np.int64)
    is_proportion = False
    failed_slots: list[dict[str, Any]] = [{} for _ in teams]
    if resume is not None:
        values, failures = resume.arrays["values"], resume.arrays["failures"].copy()
        failed_slots = list(resume.notes["failed_slots"])
        is_proportion = bool(resume.notes["is_proportion"])
    candidates = candidate_settings(settings)
    tasks = [evaluation_tasks(candidate, len(values)) for candidate in candidates]
    with closing_pools():
        if resume is None:
            yield from _record_replays(settings, candidates)
        chunks = list(zip(*tasks, strict=True))  # a task of each candidate
        numbered = (task for chunk in chunks for task in enumerate(chunk))
        results = run_matches(engine, numbered, run_evaluation)
        for _ in chunks:
            chunk_values = []
            for policy, team in enumerate(teams):
                result = next(results)
                played = result.episodes
                of_team = metric_values(settings.metric, settings.world, played, team)
                is_proportion = of_team.dtype == np.bool_
                chunk_values.append(of_team.astype(np.float64))
                failed_slots[policy] = count_failures(failed_slots[policy], played)
                for report, value in zip(played, chunk_values[policy].tolist(), strict=True):
                    records = [asdict(failure) for failure in report.failures]
                    failures[policy] += len(records)
                    applies = None if np.isnan(value) else value
                    yield CandidatePlayed(
                        step=report.episode, policy=policy, value=applies, failures=records
                    )
                yield RolloutTimed.of_policies(
                    len(values), result.observed, {slot: f"{policy}/{slot}" for slot in team}
                )
            values = np.concatenate([values, np.array(chunk_values).T])
            yield Snapshot(
                step=len(values),
                arrays={"values": values, "failures": failures.copy()},
                notes={"failed_slots": list(failed_slots), "is_proportion": is_proportion},
            )
    yield _compare_pairs(settings, values, is_proportion, failures, failed_slots)


def _compare_pairs(
    settings: Compare,
    values: Any,
    is_proportion: bool,
    failures: Any,
    failed_slots: list[dict[str, Any]],
) -> ComparisonDone:
    """Test every pair of candidates, and return the event of the comparison.

    Args:
        settings: Settings of the comparison.
        values: `[episodes, candidates]`, the metric.
        is_proportion: Whether the metric is true or false in each episode.
        failures: `[candidates]`, number of failures of their policies.
        failed_slots: For each candidate, its failure counts by slot.
    """
    names, columns = settings.policies, values.T
    numbers = list(combinations(range(len(names)), 2))
    pairs = adjust_comparisons(
        {f"{i} {j}": compare_paired(columns[i], columns[j]) for i, j in numbers}
    )
    estimate = estimate_proportion if is_proportion else estimate_mean
    notes: list[str | None] = []
    for (i, j), test in zip(numbers, pairs.values(), strict=True):
        for describe in (describe_low_power, describe_disagreement):
            notes.append(describe(names[i], names[j], test))
    kind = np.bool_ if is_proportion else np.float64
    drawn = {name: column.astype(kind) for name, column in zip(names, columns, strict=True)}
    drawn |= {f"{names[i]} - {names[j]}": columns[i] - columns[j] for i, j in numbers}
    notes += describe_weak_columns(drawn)
    n_known = int(np.isfinite(values).all(axis=1).sum())
    notes += describe_missing(settings.world, {settings.metric: n_known}, len(values))
    return ComparisonDone(
        step=settings.episodes,
        policies=list(names),
        metric=settings.metric,
        means=[estimate_finite(column, estimate) for column in columns],
        failures=failures.tolist(),
        failed_slots=failed_slots,
        pairs=pairs,
        episodes_needed=MIN_EPISODES,
        notes=[note for note in notes if note is not None],
    )
