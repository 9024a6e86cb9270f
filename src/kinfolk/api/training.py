"""`kf.train`: nets that learn by PPO."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from kinfolk.api.results import JobResult, run_job, signature_of
from kinfolk.core.settings import validate_settings
from kinfolk.jobs.train.job import train as train_job
from kinfolk.jobs.train.reports import TrainingDone
from kinfolk.jobs.train.settings import Train
from kinfolk.store.run import new_run_folder

if TYPE_CHECKING:
    from kinfolk.api.job_arguments import TrainArguments


@dataclass(frozen=True, kw_only=True, repr=False)
class TrainingResult(JobResult, TrainingDone):
    """How a training ended; its nets play as `run:FOLDER[/SLOT][@best|@latest|@STEP]`."""


@signature_of(Train)
def train(
    world: str = "probe",
    *,
    engine: str = "local",
    jobs: int = 1,
    out: str | Path | None = None,
    **settings: Unpack[TrainArguments],
) -> TrainingResult:
    """Train nets by PPO: one for all agents, or several slots side by side.

    Args:
        world: World to play in, or a Gymnasium task as gym:ID.
        engine: Engine that runs the tasks: local, processes or ray.
        jobs: Tasks that run at once.
        out: Folder for the run; without it a new one in `runs`.
        settings: Fields of `kf.jobs.Train`; see `kinfolk settings train`.

    Returns:
        How the training ended, with the run that holds its nets.

    Raises:
        UsageError: A setting, world or policy is wrong.
    """
    chosen = validate_settings(Train, {"world": world, **settings})
    folder = new_run_folder("train") if out is None else out
    return run_job(TrainingResult, "train", train_job, chosen, engine, jobs, folder)
