"""Play a round robin: every policy meets every other in one game, from both sides, and is rated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, ClassVar, NamedTuple

import numpy as np
from pydantic import Field

from kinfolk.core.events import Event, Snapshot
from kinfolk.core.spaces import WorldSpec
from kinfolk.engines.base import Engine
from kinfolk.evaluation.ratings import PairResult, Rating, rate_players
from kinfolk.evaluation.results import count_failures, merge_failure_counts
from kinfolk.evaluation.rollout import SlotTimings, run_evaluation
from kinfolk.isolation.worker_pool import closing_pools
from kinfolk.jobs.evaluate import Evaluate, evaluation_tasks
from kinfolk.play.results import EpisodeResult
from kinfolk.play.slots import parse_slot
from kinfolk.play.task import RolloutTask

_SIDES = ("first", "second")
_POLICY_SLOT = "policy"  # under which failures on either side are counted together


class RoundRobin(Evaluate):
    """Settings of a round robin; `episodes` is the number of games per pair and side."""

    policies: tuple[str, ...] = Field(
        min_length=2, description="Two or more policies that meet each other in one game."
    )


@dataclass(frozen=True, kw_only=True)
class PairPlayed(Event):
    """Two policies, by number, have met; scores are returns per life, averaged over both sides."""

    kind: ClassVar[str] = "pair_played"
    first: int
    second: int
    first_score: float
    second_score: float
    failures: int


@dataclass(frozen=True, kw_only=True)
class RatingsComputed(Event):
    """All policies have met; ratings are in the order of the policies."""

    kind: ClassVar[str] = "rated"
    policies: list[str]
    ratings: list[Rating]
    failed_slots: list[dict[str, Any]]  # of each policy, over the games that it played


class _Meeting(NamedTuple):
    """A chunk of games of two policies, by number, and the same with sides exchanged."""

    first: int
    second: int
    task: RolloutTask[SlotTimings]
    mirrored: RolloutTask[SlotTimings]


def assign_sides(spec: WorldSpec) -> tuple[dict[str, str] | list[str], dict[str, str] | list[str]]:
    """Return a slot map of two sides, and the same with sides exchanged.

    Two groups with equal observations and actions are two teams, a side each. In any other world
    the rows alternate, so that both sides have the same share of every group.
    """
    groups = spec.groups
    if (
        len(groups) == 2
        and groups[0].fields == groups[1].fields
        and groups[0].heads == groups[1].heads
    ):
        a, b = groups[0].name, groups[1].name
        return {a: _SIDES[0], b: _SIDES[1]}, {a: _SIDES[1], b: _SIDES[0]}
    rows = [_SIDES[row % 2] for row in range(spec.rows)]
    return rows, [_SIDES[1 - row % 2] for row in range(spec.rows)]


def _meetings(settings: RoundRobin, done: int) -> Iterator[_Meeting]:
    """Yield the chunks of every pair; the first `done` of them are left out."""
    slot_map, mirrored_map = assign_sides(settings.world_ref.spec)
    common = {name: getattr(settings, name) for name in Evaluate.model_fields}
    number = 0
    for first, second in combinations(range(len(settings.policies)), 2):
        uris = settings.policies[first], settings.policies[second]
        slots = tuple(parse_slot(side, uri) for side, uri in zip(_SIDES, uris, strict=True))
        pair = Evaluate(**{**common, "slots": slots, "agent_slot_map": slot_map, "replays": 0})
        for task in evaluation_tasks(pair):
            if number >= done:
                yield _Meeting(first, second, task, replace(task, slot_map=mirrored_map))
            number += 1


def round_robin(
    settings: RoundRobin, engine: Engine, resume: Snapshot | None = None
) -> Iterator[Event | Snapshot]:
    """Yield every meeting, a snapshot after each chunk of them, and the ratings at the end.

    Args:
        settings: The policies and where they meet.
        engine: Engine that runs the tasks.
        resume: Last snapshot of a stopped run to continue from; None starts anew.
    """
    games: list[PairResult] = []
    failed: list[dict[str, Any]] = [{} for _ in settings.policies]
    done = 0
    if resume is not None:
        failed = list(resume.notes.get("failed_slots", failed))
        done = resume.step
        games = [PairResult(int(a), int(b), x, y) for a, b, x, y in resume.arrays["games"].tolist()]
    with closing_pools():
        meetings = list(_meetings(settings, done))
        tasks = (task for meeting in meetings for task in (meeting.task, meeting.mirrored))
        results = engine.map(run_evaluation, tasks)
        for meeting in meetings:
            pair = [next(results).episodes, next(results).episodes]
            _count_failures(failed, meeting, [report for reports in pair for report in reports])
            for game, mirrored in zip(*pair, strict=True):
                result = _score(meeting, game, mirrored)
                games.append(result)
                failures = len(game.failures) + len(mirrored.failures)
                yield PairPlayed(step=game.episode, **result._asdict(), failures=failures)
            done += 1
            yield Snapshot(
                step=done,
                arrays={"games": np.array(games, dtype=np.float64)},
                notes={"failed_slots": list(failed)},
            )
    rated = rate_players([str(i) for i in range(len(settings.policies))], games)
    yield RatingsComputed(
        step=done,
        policies=list(settings.policies),
        ratings=list(rated.values()),
        failed_slots=failed,
    )


def _count_failures(
    failed: list[dict[str, Any]], meeting: _Meeting, reports: Sequence[EpisodeResult]
) -> None:
    """Add the failures of both policies of a meeting to `failed`.

    Args:
        failed: Failure counts of each policy; changed in place.
        meeting: The meeting.
        reports: Its episodes, of both sides.
    """
    counts = count_failures({}, reports)
    for policy, side in zip((meeting.first, meeting.second), _SIDES, strict=True):
        if side in counts:
            failed[policy] = merge_failure_counts(failed[policy], {_POLICY_SLOT: counts[side]})


def _score(meeting: _Meeting, game: EpisodeResult, mirrored: EpisodeResult) -> PairResult:
    """Score one game by both of its sides: sides may differ, so only both together are fair.

    Args:
        meeting: The meeting.
        game: The game.
        mirrored: The same game with sides exchanged.
    """

    def per_life(report: EpisodeResult, side: str) -> float:
        return report.returns[side] / max(1, report.lives[side])

    first, second = (0.5 * (per_life(game, side) + per_life(mirrored, side)) for side in _SIDES)
    return PairResult(meeting.first, meeting.second, first, second)
