"""Record episodes as replays, written chunk by chunk while they are played."""

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
    options: ReplayOptions | None = None,
    names: Mapping[str, Sequence[str]] | None = None,
) -> Iterator[FileChunk]:
    """Play one episode of a task and yield its replay as chunks of a file of the run.

    A job passes the chunks on (`yield from record_episode(...)`) and the store writes them, so the
    viewer can follow the episode while it is played. Recording does not change the episode.

    Args:
        task: The task; its own episodes are ignored.
        episode: Number of the episode.
        name: Name of the replay; None: derived from the number of the episode.
        options: Which ticks and explanations are recorded; None: all of them.
        names: Texts for the integers of a policy's explanations by fact, such as names of roles.
    """
    chunks = record_replay(task, episode, options, names)
    yield from as_file_chunks(name or replay_name(episode), chunks)


def record_replay(
    task: RolloutTask[Any],
    episode: int,
    options: ReplayOptions | None = None,
    names: Mapping[str, Sequence[str]] | None = None,
    **metadata: Any,
) -> Iterator[bytes]:
    """Play one episode of a task and yield its replay as chunks of bytes.

    Args:
        task: The task; its own episodes are ignored.
        episode: Number of the episode.
        options: Which ticks and explanations are recorded; None: all of them.
        names: Texts for the integers of a policy's explanations by fact, such as names of roles.
        metadata: Further entries of the replay's header, JSON values.
    """
    header = {
        "names": {fact: list(texts) for fact, texts in (names or {}).items()},
        "preset": task.world.preset,
        "world_settings": dict(task.world.settings),
        "seed": task.seed,
        "episode": episode,
        "policies": {
            slot: {"class": policy.class_path, "settings": dict(policy.settings)}
            for slot, policy in task.resolved.items()
        },
        **metadata,
    }
    with EpisodeRunner(replace(task, episodes=(episode,), log_agents=False)) as runner:
        for _, chunk in record_ticks(runner, header, options):
            if chunk:
                yield chunk


def record_ticks(
    runner: EpisodeRunner[Any], header: Mapping[str, Any], options: ReplayOptions | None = None
) -> Iterator[tuple[list[EpisodeResult], bytes]]:
    """Play and record the only episode of a runner, tick by tick.

    Args:
        runner: A runner of one world and one episode that has not played yet.
        header: Entries of the replay's header, JSON values.
        options: Which ticks and explanations are recorded; None: all of them.

    Yields:
        Before the first tick and after each tick: the episode's result in a list once it has
        ended (else an empty list), and the next bytes of the replay, which may be empty.
    """
    recorder = ReplayRecorder(runner.loop, header, options)
    yield [], recorder.start()
    results: list[EpisodeResult] = []
    while not results:
        results = runner.tick()
        chunk = recorder.record_tick(is_last=bool(results))
        yield results, chunk + recorder.finish(results[0]) if results else chunk


def as_file_chunks(name: str, chunks: Iterable[bytes]) -> Iterator[FileChunk]:
    """Yield the bytes of the replay called `name` as file chunks, which a job yields in turn."""
    for number, data in enumerate(chunks):
        yield FileChunk(path=f"{REPLAY_FOLDER}/{name}{REPLAY_SUFFIX}", data=data, append=number > 0)


def replay_name(episode: int) -> str:
    """Return the default name of an episode's replay.

    >>> replay_name(3)
    'game-00003'
    """
    return f"game-{episode:05d}"
