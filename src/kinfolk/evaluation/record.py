"""Episodes of matches, recorded as replays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from kinfolk.core.events import FileChunk
from kinfolk.evaluation.rollout import RolloutTask, build_loop
from kinfolk.replay.recorder import ReplayOptions, iter_file_chunks, record_loop


def record_episode(
    task: RolloutTask,
    episode: int,
    name: str | None = None,
    options: ReplayOptions | None = None,
    fact_names: Mapping[str, Sequence[str]] | None = None,
) -> Iterator[FileChunk]:
    """Play one episode of a match and yield its replay piece by piece, as it goes.

    A job passes the pieces on (`yield from record_episode(...)`) and the store writes them, so
    that the game can be watched while it is played. It is the same game as without recording.

    Args:
        task: The line-up; its own range of episodes is not looked at.
        episode: Which episode of its seed.
        name: What the replay is called; without it, after the episode.
        options: How much is kept.
        fact_names: What numbers stand for that a policy tells without their names, such as roles.
    """
    pieces = iter_replay(task, episode, options, fact_names)
    yield from iter_file_chunks(name or replay_name(episode), pieces)


def iter_replay(
    task: RolloutTask,
    episode: int,
    options: ReplayOptions | None = None,
    fact_names: Mapping[str, Sequence[str]] | None = None,
) -> Iterator[bytes]:
    """The same as bytes: a task of an engine may join and return them."""
    about = {
        "names": {fact: list(known) for fact, known in (fact_names or {}).items()},
        "preset": task.preset,
        "world_settings": dict(task.world_settings),
        "seed": task.seed,
        "episode": episode,
        "policies": {
            name: {"class": policy.class_path, "settings": dict(policy.settings)}
            for name, policy in task.slots.items()
        },
    }
    with build_loop(replace(task, first_episode=episode, end_episode=episode + 1)) as play:
        yield from record_loop(play, about, options)


def replay_name(episode: int) -> str:
    """What the replay of an episode is called.

    >>> replay_name(3)
    'game-00003'
    """
    return f"game-{episode:05d}"
