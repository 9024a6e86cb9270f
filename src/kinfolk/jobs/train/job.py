"""Train nets: collect experience, update, evaluate, and repeat. See `docs/training.md`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from kinfolk.core.events import Event, FileChunk, Snapshot
from kinfolk.engines.base import Engine
from kinfolk.jobs.train.league.job import LeagueLoop
from kinfolk.jobs.train.league.learners import find_league_sides
from kinfolk.jobs.train.settings import Train
from kinfolk.jobs.train.trainer import TrainingLoop


def describe_idle_jobs(settings: Train, jobs: int) -> str:
    """Return which of an engine's jobs collect no rollouts, and how to change that; "" if all do."""
    n_chunks = settings.n_chunks
    if settings.league:
        n_chunks *= len(find_league_sides(settings).world_sides.slot_maps)
    if jobs <= n_chunks:
        return ""
    divisors = [n for n in range(1, settings.worlds + 1) if settings.worlds % n == 0]
    better = next((n for n in divisors if n >= jobs), settings.worlds)
    return (
        f"{n_chunks} of {jobs} jobs collects rollouts, because n_chunks is {settings.n_chunks}. Set "
        f"n_chunks = {better} to use more. It is a setting because the weights depend on it."
    )


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
