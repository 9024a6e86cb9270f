"""Play the games of pairings on an engine and score them; tournaments and cross-play share this."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from kinfolk.core.events import Event, FileChunk, Snapshot
from kinfolk.engines.base import Engine
from kinfolk.evaluation.comparison import label_policies
from kinfolk.evaluation.failures import count_policy_failures, merge_failure_counts
from kinfolk.evaluation.metrics import metric_values
from kinfolk.evaluation.ratings import PlayerScores
from kinfolk.evaluation.rollout import (
    Isolation,
    RolloutTiming,
    SlotTimings,
    evaluation_task,
    run_evaluation,
    run_matches,
)
from kinfolk.jobs.evaluate import RolloutTimed
from kinfolk.jobs.tournament.schedule import Pairing
from kinfolk.play.sides import WorldSides
from kinfolk.play.task import RolloutResult, RolloutTask, WorldRef
from kinfolk.policies.build import ResolvedPolicy
from kinfolk.replay.record import ReplayOptions, as_file_chunks, record_replay, replay_name


@dataclass(frozen=True)
class MeetingPlan:
    """What the games of all pairings have in common.

    Attributes:
        world: The world that is played.
        sides: Its sides.
        seed: Seed of all games; games of one number are the same for all pairings.
        n_games: Games of a pairing, each of which is played in all rotations.
        chunk_size: Games per task.
        metric: Score of a player in a game.
        isolation: Isolation of the policies.
        labels: Name of each player.
        policies: Policy of each player.
        isolate_players: Isolation modes of single players that differ from that of `isolation`.
        recording: Which games are recorded.
    """

    world: WorldRef
    sides: WorldSides
    seed: int
    n_games: int
    chunk_size: int
    metric: str
    isolation: Isolation
    labels: Sequence[str]
    policies: Sequence[ResolvedPolicy]
    isolate_players: Mapping[int, str] = field(default_factory=dict)
    recording: ReplayPlan = field(default_factory=lambda: ReplayPlan())

    def make_task(
        self, pairing: Pairing, episodes: Sequence[int], rotation: int = 0
    ) -> MeetingTask:
        """Return the task of playing some games of a pairing, and of recording the first ones.

        Args:
            pairing: Player of each slot.
            episodes: Numbers of the games.
            rotation: Which of the assignments of slots to sides is played.
        """
        players = dict(zip(self.sides.slots, pairing, strict=True))
        slots = {slot: self.policies[player] for slot, player in players.items()}
        modes = self.isolate_players
        modes_by_slot = {slot: modes[player] for slot, player in players.items() if player in modes}
        isolation = replace(self.isolation, isolate_slots=modes_by_slot)
        slot_map = self.sides.slot_maps[rotation]
        task = evaluation_task(self.world, slots, self.seed, episodes, slot_map, isolation)
        labels = {slot: self.labels[player] for slot, player in players.items()}
        replays: dict[str, int] = {}
        if rotation in self.recording.rotations:
            chosen = [game for game in episodes if game < self.recording.n_games]
            replays = {self.name_replay(pairing, game, rotation): game for game in chosen}
        return MeetingTask(**vars(task), players=labels, replays=replays,
                           record_every=self.recording.record_every)  # fmt: skip

    def list_meetings(self, pairings: Iterable[tuple[int, Pairing]]) -> list[Meeting]:
        """Return the meetings of numbered pairings: a chunk of their games in all rotations each."""
        n, size = self.n_games, self.chunk_size
        chunks = [range(start, min(start + size, n)) for start in range(0, n, size)]
        return [
            Meeting(
                number,
                pairing,
                tuple(
                    self.make_task(pairing, chunk, rotation)
                    for rotation in range(len(self.sides.slot_maps))
                ),
            )
            for number, pairing in pairings
            for chunk in chunks
        ]

    def name_replay(self, pairing: Pairing, game: int = 0, rotation: int = 0) -> str:
        """Return the name of a replay: `game-00000-0-A-vs-1-B`, players in the order of the sides.

        Args:
            pairing: Player of each slot.
            game: Number of the game.
            rotation: Which of the assignments of slots to sides is played.
        """
        labels = label_policies(self.labels)
        shift = rotation % len(pairing)
        ordered = (*pairing[-shift:], *pairing[:-shift]) if shift else pairing
        return f"{replay_name(game)}-{'-vs-'.join(labels[player] for player in ordered)}"


class Meeting(NamedTuple):
    """A chunk of games of one pairing, in all rotations of the sides."""

    number: int  # of the pairing
    pairing: Pairing
    tasks: tuple[MeetingTask, ...]


@dataclass(frozen=True)
class ReplayPlan:
    """Which games of each pairing are recorded, and how many of their ticks.

    Attributes:
        n_games: Number of first games.
        record_every: Ticks between two recorded frames.
        rotations: Rotations of the sides in which they are recorded.
    """

    n_games: int = 0
    record_every: int = 1
    rotations: tuple[int, ...] = (0,)


@dataclass(frozen=True)
class MeetingTask(RolloutTask[SlotTimings]):
    """Games of a pairing to play, some of which are played again and recorded.

    The process that has played them records them: its sandboxes are still there.

    Attributes:
        players: Name of the player of each slot.
        replays: Number of the game of each replay, by the name of the replay.
        record_every: Ticks between two recorded frames.
    """

    players: Mapping[str, str] = field(default_factory=dict)
    replays: Mapping[str, int] = field(default_factory=dict)
    record_every: int = 1


@dataclass(frozen=True)
class MeetingResult(RolloutResult[RolloutTiming]):
    """The result of a task, and the replays of its recorded games by name."""

    replays: Mapping[str, bytes] = field(default_factory=dict)


def run_meeting(task: MeetingTask) -> MeetingResult:
    """Play and record the games of a task; this is the function that engines run."""
    result = run_evaluation(task)
    options = ReplayOptions(record_every=task.record_every)
    policies = {slot: {"class": name, "settings": {}} for slot, name in task.players.items()}
    players = dict(task.players)
    replays = {
        name: b"".join(record_replay(task, game, options, players=players, policies=policies))
        for name, game in task.replays.items()
    }
    return MeetingResult(**vars(result), replays=replays)


@dataclass(frozen=True, kw_only=True)
class GamePlayed(Event):
    """A game was played in all rotations; `step` is its number among those of its pairing."""

    kind: ClassVar[str] = "game_played"
    pairing: int  # number of the pairing
    policies: list[str]  # names of the players, by slot
    scores: list[float]  # by slot, mean over the rotations
    failures: list[dict[str, Any]]  # fields of `Failure`, and `mirrored`: with sides exchanged


class MeetingRecord:
    """Results of all games so far, from which standings and matrices are computed.

    Args:
        n_players: Number of players.
        n_slots: Number of players of a game.
        resume: Snapshot of an earlier record; None starts with no games.

    Attributes:
        done: Number of meetings that are finished.
        replays: Names of the recorded games, as many of each pairing, in their order.
        failed: Failure counts of each player, as `count_policy_failures` gives them.
        episodes: Number of episodes that each player has played, rotations included.
    """

    def __init__(self, n_players: int, n_slots: int, resume: Snapshot | None = None) -> None:
        self._n_slots = n_slots
        self._rows: list[list[float]] = []  # pairing, game, player of each slot, score of each slot
        self.done = 0
        self.failed: list[dict[str, Any]] = [{} for _ in range(n_players)]
        self.episodes = [0] * n_players
        self.replays: list[str] = []
        if resume is not None:
            self._rows = resume.arrays["games"].tolist()
            self.done, self.failed = resume.step, list(resume.notes["failed_slots"])
            self.episodes = list(resume.notes["episodes"])
            self.replays = list(resume.notes["replays"])

    def add(
        self, plan: MeetingPlan, meeting: Meeting, results: Sequence[RolloutResult[RolloutTiming]]
    ) -> Iterator[Event]:
        """Add the games of a meeting, and yield their events and timings.

        Args:
            plan: What all games have in common.
            meeting: The meeting.
            results: Its results, one per rotation.
        """
        slots, pairing = plan.sides.slots, meeting.pairing
        labels = {slot: plan.labels[p] for slot, p in zip(slots, pairing, strict=True)}
        for rotation, result in enumerate(results):
            for slot, player in zip(slots, pairing, strict=True):
                rivals = " and ".join(labels[other] for other in slots if other != slot)
                counts = count_policy_failures(result.episodes, slot, rivals, rotation > 0)
                _hide_paths(counts, labels[slot])
                self.failed[player] = merge_failure_counts(self.failed[player], counts)
                self.episodes[player] += len(result.episodes)
        scores = np.mean([[metric_values(plan.metric, plan.world.name, result.episodes, [slot])
                           for slot in slots] for result in results], axis=0).T  # fmt: skip
        for row, games in enumerate(zip(*(result.episodes for result in results), strict=True)):
            game_scores = scores[row].tolist()
            self._rows.append([meeting.number, games[0].episode, *pairing, *game_scores])
            failures = [
                {
                    **asdict(failure),
                    "policy": _public_name(failure.policy, labels[failure.slot]),
                    "mirrored": rotation > 0,
                }
                for rotation, game in enumerate(games)
                for failure in game.failures
            ]
            yield GamePlayed(
                step=games[0].episode,
                pairing=meeting.number,
                policies=[labels[slot] for slot in slots],
                scores=game_scores,
                failures=failures,
            )
        for result in results:
            yield RolloutTimed.of_policies(len(self._rows), result.observed, labels)

    def snapshot(self) -> Snapshot:
        """Return the state of this record."""
        width = 2 + 2 * self._n_slots
        return Snapshot(
            step=self.done,
            arrays={"games": np.array(self._rows, dtype=np.float64).reshape(-1, width)},
            notes={
                "failed_slots": list(self.failed),
                "episodes": list(self.episodes),
                "replays": list(self.replays),
            },
        )

    def games(self, before: int | None = None) -> list[PlayerScores]:
        """Return all games, or those of pairings with a number below `before`."""
        n = self._n_slots
        return [
            PlayerScores(
                tuple(int(player) for player in row[2 : 2 + n]), tuple(row[2 + n :]), int(row[1])
            )
            for row in self._rows
            if before is None or row[0] < before
        ]

    def rows(self) -> Iterator[tuple[int, PlayerScores]]:
        """Yield the number of the pairing and the scores of every game."""
        for row, game in zip(self._rows, self.games(), strict=True):
            yield int(row[0]), game


def _public_name(class_path: str, label: str) -> str:
    """Return a class path, or the player's name if it would tell a folder of this machine."""
    return label if ".py:" in class_path else class_path


def _hide_paths(counts: Mapping[str, Any], label: str) -> None:
    """Put a player's name in place of the class path of its first failure, if that is a file."""
    for slot in counts.values():
        if slot["first"] is not None:
            slot["first"]["policy"] = _public_name(slot["first"]["policy"], label)


def play_pairings(
    plan: MeetingPlan,
    engine: Engine,
    pairings: Sequence[tuple[int, Pairing]],
    record: MeetingRecord,
    n_done: int = 0,
) -> Iterator[Event | Snapshot | FileChunk]:
    """Play numbered pairings; yield events, and replays and a snapshot after each meeting.

    Args:
        plan: What all games have in common.
        engine: Engine that plays them.
        pairings: The pairings with their numbers.
        record: Record to which the games are added.
        n_done: Number of meetings of these pairings that the record already holds.
    """
    meetings = plan.list_meetings(pairings)[n_done:]
    tasks = ((meeting.number, task) for meeting in meetings for task in meeting.tasks)
    results = run_matches(engine, tasks, run_meeting)
    for meeting in meetings:
        played = [next(results) for _ in meeting.tasks]
        yield from record.add(plan, meeting, played)
        for result in played:
            for name, data in result.replays.items():
                yield from as_file_chunks(name, [data])
                record.replays.append(name)
        record.done += 1
        yield record.snapshot()
