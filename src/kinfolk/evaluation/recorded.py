"""Episodes of matches, recorded as replays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from kinfolk.core.events import Artefact
from kinfolk.evaluation.match import Match, seated
from kinfolk.play.replay import Thin, artefacts, record


def record_episode(
    match: Match,
    episode: int,
    name: str | None = None,
    thin: Thin | None = None,
    names: Mapping[str, Sequence[str]] | None = None,
) -> Iterator[Artefact]:
    """Play one episode of a match and yield its replay piece by piece, as it goes.

    A job passes the pieces on (`yield from record_episode(...)`) and the store writes them, so
    that the game can be watched while it is played. It is the same game as without recording.

    Args:
        match: The line-up; its own range of episodes is not looked at.
        episode: Which episode of its seed.
        name: What the replay is called; without it, after the episode.
        thin: How much is kept.
        names: What numbers stand for that a policy tells without their names, such as roles.
    """
    pieces = replay_of(match, episode, thin, names)
    yield from artefacts(name or episode_name(episode), pieces)


def replay_of(
    match: Match,
    episode: int,
    thin: Thin | None = None,
    names: Mapping[str, Sequence[str]] | None = None,
) -> Iterator[bytes]:
    """The same as bytes: a task of an engine may join and return them."""
    about = {
        "names": {fact: list(known) for fact, known in (names or {}).items()},
        "preset": match.preset,
        "world_settings": dict(match.world_settings),
        "seed": match.seed,
        "episode": episode,
        "policies": {
            name: {"class": policy.class_path, "settings": dict(policy.settings)}
            for name, policy in match.slots.items()
        },
    }
    with seated(replace(match, first=episode, last=episode + 1)) as play:
        yield from record(play, about, thin)


def episode_name(episode: int) -> str:
    """What the replay of an episode is called.

    >>> episode_name(3)
    'game-00003'
    """
    return f"game-{episode:05d}"
