"""Play a round robin: every policy meets every other in one game, from both sides, and is rated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any, ClassVar, NamedTuple

import numpy as np
from pydantic import Field, model_validator

from kinfolk.core.errors import require
from kinfolk.core.events import Event, FileChunk, Snapshot
from kinfolk.core.spaces import WorldSpec
from kinfolk.engines.base import Engine
from kinfolk.evaluation.comparison import PairResult, Rating, label_policies, rate_players
from kinfolk.evaluation.failures import SIDES, count_policy_failures, merge_failure_counts
from kinfolk.evaluation.rollout import RolloutTiming, SlotTimings, run_matches
from kinfolk.isolation.worker_pool import closing_pools
from kinfolk.jobs.evaluate import Evaluate, RolloutTimed, evaluation_tasks, record_replay_of
from kinfolk.play.results import EpisodeResult
from kinfolk.play.settings import SlotConfig
from kinfolk.play.slots import SlotMap, parse_slot
from kinfolk.play.task import RolloutResult, RolloutTask
from kinfolk.replay.record import replay_name


class RoundRobin(Evaluate):
    """Settings of a round robin; `episodes` is the number of games per pair and side."""

    policies: tuple[str, ...] = Field(
        min_length=2, description="Two or more policies that meet each other in one game."
    )

    @model_validator(mode="after")
    def _check_unused(self) -> RoundRobin:
        """Refuse slots and maps, which would have no effect.

        Raises:
            SettingsError: One of them differs from its default.
        """
        for name, field in SlotConfig.model_fields.items():
            require(
                getattr(self, name) == field.get_default(),
                f"A round robin takes no {name}: its policies play all slots in turn. Leave it out.",
            )
        return self


@dataclass(frozen=True, kw_only=True)
class PairPlayed(Event):
    """Two policies, by number, have met; scores are returns per life, averaged over both sides."""

    kind: ClassVar[str] = "pair_played"
    first: int
    second: int
    first_score: float
    second_score: float
    failures: list[dict[str, Any]]  # fields of `Failure`, and `mirrored`: with sides exchanged


@dataclass(frozen=True, kw_only=True)
class RatingsComputed(Event):
    """All policies have met; ratings are in the order of the policies."""

    kind: ClassVar[str] = "rated"
    policies: list[str]
    ratings: list[Rating]
    failures: list[int]  # of each policy
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
    first, second = SIDES
    if len(spec.groups) == 2:
        a, b = spec.groups
        if a.fields == b.fields and a.heads == b.heads:
            return {a.name: first, b.name: second}, {a.name: second, b.name: first}
    rows = [SIDES[row % 2] for row in range(spec.rows)]
    return rows, [SIDES[1 - row % 2] for row in range(spec.rows)]


def pair_settings(settings: RoundRobin) -> dict[tuple[int, int], Evaluate]:
    """Return the evaluation settings of each pair of policies, by their numbers."""
    slot_map, _ = assign_sides(settings.world_ref.spec)
    common = {name: getattr(settings, name) for name in Evaluate.model_fields}
    pairs = {}
    for first, second in combinations(range(len(settings.policies)), 2):
        uris = settings.policies[first], settings.policies[second]
        slots = tuple(parse_slot(side, uri) for side, uri in zip(SIDES, uris, strict=True))
        changed = {"slots": slots, "agent_slot_map": slot_map, "replays": 0}
        pairs[first, second] = Evaluate(**{**common, **changed})
    return pairs


def _list_meetings(
    pairs: Mapping[tuple[int, int], Evaluate], mirrored_map: SlotMap
) -> list[_Meeting]:
    """Return all meetings of all pairs."""
    return [
        _Meeting(first, second, (task, replace(task, slot_map=mirrored_map)))
        for (first, second), pair in pairs.items()
        for task in evaluation_tasks(pair)
    ]


def _record_replays(
    settings: RoundRobin, pairs: Mapping[tuple[int, int], Evaluate], mirrored_map: SlotMap
) -> Iterator[FileChunk]:
    """Record the first games of each pair, as `game-00000-0-A-vs-1-B` and with sides exchanged."""
    labels = label_policies(settings.policies)
    for episode in range(min(settings.replays, settings.episodes)):
        for (first, second), pair in pairs.items():
            game, (a, b) = replay_name(episode), (labels[first], labels[second])
            yield from record_replay_of(pair, episode, f"{game}-{a}-vs-{b}")
            yield from record_replay_of(pair, episode, f"{game}-{b}-vs-{a}", mirrored_map)


def round_robin(
    settings: RoundRobin, engine: Engine, resume: Snapshot | None = None
) -> Iterator[Event | Snapshot | FileChunk]:
    """Yield every meeting, a snapshot after each chunk of them, and the ratings at the end.

    Replays come first: the same games of each pair, from both sides.

    Args:
        settings: The policies and where they meet.
        engine: Engine that runs the tasks.
        resume: Last snapshot of a stopped run to continue from; None starts anew.
    """
    games: list[PairResult] = []
    failed: list[dict[str, Any]] = [{} for _ in settings.policies]
    done = 0
    if resume is not None:
        failed = list(resume.notes["failed_slots"])
        done = resume.step
        games = [PairResult(int(a), int(b), x, y) for a, b, x, y in resume.arrays["games"].tolist()]
    pairs, mirrored_map = pair_settings(settings), assign_sides(settings.world_ref.spec)[1]
    with closing_pools():
        meetings = _list_meetings(pairs, mirrored_map)[done:]
        if resume is None:
            yield from _record_replays(settings, pairs, mirrored_map)
        tasks = (((first, second), task) for first, second, both in meetings for task in both)
        results = run_matches(engine, tasks)
        for first, second, _ in meetings:
            played = [next(results), next(results)]
            yield from _score_meeting(settings, (first, second), played, games, failed)
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
        failures=[sum(slot["failures"] for slot in slots.values()) for slots in failed],
        failed_slots=failed,
    )


def _score_meeting(
    settings: RoundRobin,
    pair: tuple[int, int],
    played: Sequence[RolloutResult[RolloutTiming]],
    games: list[PairResult],
    failed: list[dict[str, Any]],
) -> Iterator[Event]:
    """Yield the games of a meeting; add their results to `games` and their failures to `failed`.

    Args:
        settings: Settings of the round robin.
        pair: Numbers of the two policies.
        played: Results of the games, and of those with sides exchanged.
        games: Results of all games so far; extended.
        failed: Failure counts of each policy so far; replaced for the two policies.
    """
    first, second = pair
    for mirrored, result in enumerate(played):
        for policy, opponent, side in ((first, second, SIDES[0]), (second, first, SIDES[1])):
            counts = count_policy_failures(
                result.episodes, side, settings.policies[opponent], bool(mirrored)
            )
            failed[policy] = merge_failure_counts(failed[policy], counts)
    for game, mirrored_game in zip(*(result.episodes for result in played), strict=True):
        scores = PairResult(first, second, *score_sides(game, mirrored_game))
        games.append(scores)
        failures = [
            {**asdict(failure), "mirrored": report is mirrored_game}
            for report in (game, mirrored_game)
            for failure in report.failures
        ]
        yield PairPlayed(step=game.episode, **scores._asdict(), failures=failures)
    names = {side: str(policy) for side, policy in zip(SIDES, pair, strict=True)}
    for result in played:
        yield RolloutTimed.of_policies(len(games), result.observed, names)


def score_sides(game: EpisodeResult, mirrored: EpisodeResult) -> list[float]:
    """Compute each side's return per life, averaged over a game and its mirrored game.

    One side of a world may have an advantage, so a single game would not be fair.

    Args:
        game: Result of the game.
        mirrored: Result of the game with sides exchanged.
    """
    pair = (game, mirrored)
    return [0.5 * sum(r.returns[s] / max(1, r.lives[s]) for r in pair) for s in SIDES]
