"""A job whose snapshots hold everything: worlds, memory, seats. For the law of resuming."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from kinfolk.core.events import Event, Snapshot
from kinfolk.core.settings import Settings
from kinfolk.play.task import EpisodeRunner, RolloutTask, WorldRef
from kinfolk.policies.resolve import resolve


class ProbeJob(Settings):
    """What to play, and how often to say so."""

    uri: str = "kin://probe-python"
    worlds: int = 2
    episodes: int = 4
    seed: int = 0
    every: int = 10


@dataclass(frozen=True, kw_only=True)
class ProbeTicked(Event):
    """Some ticks were played; `digest` is of all that the worlds are now."""

    kind: ClassVar[str] = "probe_ticked"
    digest: str


def probe_job(
    settings: ProbeJob, engine: Any = None, resume: Snapshot | None = None
) -> Iterator[Event | Snapshot]:
    """Yield an event each tick and a snapshot every few."""
    del engine  # it plays here
    task = RolloutTask[None](
        WorldRef("probe"),
        {"all": resolve(settings.uri)},
        settings.seed,
        range(settings.episodes),
        worlds=settings.worlds,
        snapshot=None if resume is None else resume.arrays,
    )
    play = EpisodeRunner(task).loop
    tick = 0 if resume is None else resume.step
    while not play.is_done:
        play.tick()
        tick += 1
        digest = hashlib.sha256(play.observations.tobytes() + play.actions.tobytes())
        yield ProbeTicked(step=tick, digest=digest.hexdigest())
        if tick % settings.every == 0:
            yield Snapshot(step=tick, arrays=play.snapshot(), notes={"tick": tick})
