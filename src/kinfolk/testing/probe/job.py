"""A job whose snapshots hold the whole loop, for tests of resuming."""

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
    """Which episodes of the probe world to play, and how often to yield a snapshot."""

    uri: str = "kin://probe-python"  # of the policy that plays all agents
    worlds: int = 2  # that play at a time
    episodes: int = 4
    seed: int = 0
    every: int = 10  # ticks between two snapshots


@dataclass(frozen=True, kw_only=True)
class ProbeTicked(Event):
    """A tick was played; `digest` is the SHA-256 of all observations and actions."""

    kind: ClassVar[str] = "probe_ticked"
    digest: str


def probe_job(
    settings: ProbeJob, engine: Any = None, resume: Snapshot | None = None
) -> Iterator[Event | Snapshot]:
    """Play episodes of the probe world.

    Args:
        settings: What to play.
        engine: Not used: it plays in this process.
        resume: Snapshot of an earlier run to continue from.

    Yields:
        An event for each tick, and a snapshot every `settings.every` ticks.
    """
    del engine
    task = RolloutTask[None](
        WorldRef("probe"),
        {"all": resolve(settings.uri)},
        settings.seed,
        range(settings.episodes),
        worlds=settings.worlds,
        snapshot=None if resume is None else resume.arrays,
    )
    loop = EpisodeRunner(task).loop
    tick = 0 if resume is None else resume.step
    while not loop.is_done:
        loop.tick()
        tick += 1
        digest = hashlib.sha256(loop.observations.tobytes() + loop.actions.tobytes())
        yield ProbeTicked(step=tick, digest=digest.hexdigest())
        if tick % settings.every == 0:
            yield Snapshot(step=tick, arrays=loop.snapshot(), notes={"tick": tick})
