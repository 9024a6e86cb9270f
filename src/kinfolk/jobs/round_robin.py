"""Play a round robin: every policy meets every other in one game, from both sides, and is rated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, ClassVar, NamedTuple

import numpy as np
from pydantic import Field

from kinfolk.core.events import Event, Snapshot
from kinfolk.core.spaces import WorldSpec
from kinfolk.engines.base import Engine
from kinfolk.evaluation.comparison import PairResult, Rating, rate_players
from kinfolk.evaluation.rollout import SlotTimings, run_evaluation
from kinfolk.evaluation.statistics import count_failures, merge_failure_counts
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
    tasks: tuple[RolloutTask[SlotTimings], RolloutTask[SlotTimings]]


def assign_sides(spec: WorldSpec) -> tuple[dict[str, str] | list[str], dict[str, str] | list[str]]:
    """Return a slot map of two sides, and the slot map with the sides exchanged.

    Two groups with equal observations and actions are two teams, a side each. In any other world
    the rows alternate, so that both sides have the same share of every group.
    """
    first, second = _SIDES
    if len(spec.groups) == 2:
        a, b = spec.groups
        if a.fields == b.fields and a.heads == b.heads:
            return {a.name: first, b.name: second}, {a.name: second, b.name: first}
    rows = [_SIDES[row % 2] for row in range(spec.rows)]
    return rows, [_SIDES[1 - row % 2] for row in range(spec.rows)]


def _list_meetings(settings: RoundRobin, done: int) -> list[_Meeting]:
    """Return all meetings of all pairs, without the first `done`, which were played before."""
    slot_map, mirrored_map = assign_sides(settings.world_ref.spec)
    common = {name: getattr(settings, name) for name in Evaluate.model_fields}
    meetings = []
    for first, second in combinations(range(len(settings.policies)), 2):
        uris = settings.policies[first], settings.policies[second]
        slots = tuple(parse_slot(side, uri) for side, uri in zip(_SIDES, uris, strict=True))
        pair = Evaluate(**{**common, "slots": slots, "agent_slot_map": slot_map, "replays": 0})
        for task in evaluation_tasks(pair):
            meetings.append(_Meeting(first, second, (task, replace(task, slot_map=mirrored_map))))
    return meetings[done:]


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
        meetings = _list_meetings(settings, done)
        tasks = (task for meeting in meetings for task in meeting.tasks)
        results = engine.map(run_evaluation, tasks)
        for first, second, _ in meetings:
            pair = [next(results).episodes, next(results).episodes]
            counts = count_failures({}, [report for reports in pair for report in reports])
            for policy, side in zip((first, second), _SIDES, strict=True):
                if side in counts:
                    counted = {_POLICY_SLOT: counts[side]}
                    failed[policy] = merge_failure_counts(failed[policy], counted)
            for game, mirrored in zip(*pair, strict=True):
                result = PairResult(first, second, *score_sides(game, mirrored))
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


def score_sides(game: EpisodeResult, mirrored: EpisodeResult) -> list[float]:
    """Compute each side's return per life, averaged over a game and its mirrored game.

    One side of a world may have an advantage, so a single game would not be fair.

    Args:
        game: Result of the game.
        mirrored: Result of the game with sides exchanged.
    """
    pair = (game, mirrored)
    return [0.5 * sum(r.returns[s] / max(1, r.lives[s]) for r in pair) for s in _SIDES]
