"""Train nets: collect experience, update, evaluate, and repeat. See `docs/training.md`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from kinfolk.core.events import Event, FileChunk, Snapshot
from kinfolk.engines.base import Engine
from kinfolk.jobs.train.league.job import LeagueLoop
from kinfolk.jobs.train.settings import Train
from kinfolk.jobs.train.trainer import TrainingLoop


def train(
    settings: Train, engine: Engine, resume: Snapshot | None = None
) -> Iterator[Event | Snapshot | FileChunk]:
    """Run a training: yield events of updates and evaluations, policy files, snapshots, the result.

    Args:
        settings: The world, its slots and how they learn.
        engine: Engine that collects experience and plays evaluations.
        resume: Last snapshot of a stopped run to continue from; None starts anew.
    """
    kind = LeagueLoop if settings.league else TrainingLoop
    with closing(kind(settings, engine, resume)) as loop:
        yield from loop.run()
