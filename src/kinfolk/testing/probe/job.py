"""A job whose snapshots hold everything: worlds, memory, seats. For the law of resuming."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from kinfolk.core.events import Event, Snapshot
from kinfolk.core.settings import Settings
from kinfolk.play.loop import EpisodeLoop
from kinfolk.play.slots import LoadedSlot, build_slot_assignment
from kinfolk.policies.resolve import build_policy, resolve
from kinfolk.worlds import build_world as build_world


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
    world = build_world("probe", {}, settings.worlds)
    slots = [LoadedSlot("all", build_policy(resolve(settings.uri), world.spec))]
    table = build_slot_assignment(world.spec, ["all"])
    play = EpisodeLoop(world, slots, table, settings.seed, range(settings.episodes))
    tick = 0
    if resume is not None:
        play.restore(resume.arrays)
        tick = resume.step
    while not play.is_done:
        play.tick()
        tick += 1
        digest = hashlib.sha256(play.observations.tobytes() + play.actions.tobytes())
        yield ProbeTicked(step=tick, digest=digest.hexdigest())
        if tick % settings.every == 0:
            yield Snapshot(step=tick, arrays=play.snapshot(), notes={"tick": tick})
