"""Tasks recorded as replays: one episode at a time, piece by piece while it is played."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kinfolk.core.events import FileChunk
from kinfolk.play.results import EpisodeResult
from kinfolk.play.task import EpisodeRunner, RolloutTask
from kinfolk.replay.reader import REPLAY_FOLDER, REPLAY_SUFFIX
from kinfolk.replay.recorder import ReplayOptions, ReplayRecorder


def record_episode(
    task: RolloutTask[Any],
    episode: int,
    name: str | None = None,
    thin: ReplayOptions | None = None,
    names: Mapping[str, Sequence[str]] | None = None,
) -> Iterator[FileChunk]:
    """Play one episode of a task and yield its replay piece by piece, as it goes.

    A job passes the pieces on (`yield from record_episode(...)`) and the store writes them, so
    that the game can be watched while it is played. It is the same game as without recording.

    Args:
        task: The task; its own range of episodes is not looked at.
        episode: Which episode of its seed.
        name: What the replay is called; without it, after the episode.
        thin: How much is kept.
        names: What numbers stand for that a policy tells without their names, such as roles.
    """
    pieces = replay_of(task, episode, thin, names)
    yield from artefacts(name or episode_name(episode), pieces)


def replay_of(
    task: RolloutTask[Any],
    episode: int,
    thin: ReplayOptions | None = None,
    names: Mapping[str, Sequence[str]] | None = None,
    **about: Any,
) -> Iterator[bytes]:
    """Play one episode of a task and yield its replay as bytes.

    Args:
        task: The task; its own range of episodes is not looked at.
        episode: Which episode of its seed.
        thin: How much is kept.
        names: What numbers stand for that a policy tells without their names, such as roles.
        about: What else the replay should say of itself: plain values.
    """
    head = {
        "names": {fact: list(known) for fact, known in (names or {}).items()},
        "preset": task.world.preset,
        "world_settings": dict(task.world.settings),
        "seed": task.seed,
        "episode": episode,
        "policies": {
            slot: {"class": policy.class_path, "settings": dict(policy.settings)}
            for slot, policy in task.resolved.items()
        },
        **about,
    }
    with EpisodeRunner(replace(task, episodes=(episode,), log_agents=False)) as runner:
        for _, piece in recorded_ticks(runner, head, thin):
            if piece:
                yield piece


def recorded_ticks(
    runner: EpisodeRunner[Any], about: Mapping[str, Any], thin: ReplayOptions | None = None
) -> Iterator[tuple[list[EpisodeResult], bytes]]:
    """Play the one episode of a runner to its end, recording it.

    Args:
        runner: A runner of one world that has not played yet. It plays as without recording.
        about: What the replay should say of itself: plain values.
        thin: How much is kept.

    Yields:
        Before the first tick and after each: the result when the episode has ended, and the next
        bytes of the replay, often none.
    """
    recorder = ReplayRecorder(runner.loop, about, thin)
    yield [], recorder.start()
    results: list[EpisodeResult] = []
    while not results:
        results = runner.tick()
        piece = recorder.record_tick(is_last=bool(results))
        yield results, piece + recorder.finish(results[0]) if results else piece


def artefacts(name: str, pieces: Iterable[bytes]) -> Iterator[FileChunk]:
    """Yield the pieces of a replay as what a job yields; `name` is that of the replay."""
    for number, data in enumerate(pieces):
        yield FileChunk(path=f"{REPLAY_FOLDER}/{name}{REPLAY_SUFFIX}", data=data, append=number > 0)


def episode_name(episode: int) -> str:
    """Return what the replay of an episode is called.

    >>> episode_name(3)
    'game-00003'
    """
    return f"game-{episode:05d}"
