"""The command `kinfolk train` and its checks."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from kinfolk.cli.compile import compile_kernels
from kinfolk.cli.flags import job_call
from kinfolk.cli.formatting import note, print_json, progress
from kinfolk.cli.hints import refuse_as_config
from kinfolk.cli.reports.train_report import (
    describe_evaluation,
    describe_update,
    last_events,
    print_report,
)
from kinfolk.cli.run_lifecycle import interruptible
from kinfolk.cli.slots import warn_of_idle_slots
from kinfolk.core.errors import DamagedRunError, UsageError
from kinfolk.core.optional_dependencies import import_libraries


def train_command(
    context: typer.Context,
    file: Annotated[Path | None, typer.Argument(help="Short for --config FILE.")] = None,
    previous: Annotated[
        bool,
        typer.Option("--previous-checkpoint", help="Use the one before, if the last is damaged."),
    ] = False,
    tensorboard: Annotated[
        bool, typer.Option("--tensorboard", help="Write the figures for TensorBoard too.")
    ] = False,
    wandb: Annotated[str | None, typer.Option(help="Send them to this W&B project too.")] = None,
) -> None:
    """Train nets by PPO: one for all agents, or several slots side by side."""
    refuse_as_config(file)
    call = job_call(context)
    if file is not None and call.config is not None:
        raise UsageError(f"Give one file of settings, not {file} and --config {call.config}.")
    for wanted, package in ((tensorboard, "tensorboard"), (wandb is not None, "wandb")):
        if wanted:  # before a folder is made for the run
            import_libraries(f"--{package}", package)
    from kinfolk.jobs.train.settings import Train
    from kinfolk.store.loggers import open_loggers

    workers = call.make_engine()
    call = replace(call, config=file or call.config)
    run, settings = call.open_run("train", Train, _check)
    if previous:
        for name in run.drop_damaged_checkpoints():
            print(f"The damaged checkpoint {name} was removed.", file=sys.stderr)
    loggers = open_loggers(run.folder, run.name, settings.model_dump(), tensorboard, wandb)
    if run.status != "done":
        _train(run, settings, workers, loggers)
    events = list(run.events())
    if call.json:
        document = {"run": str(run.folder), "settings": settings.model_dump()}
        print_json({**document, **last_events(events)})
    else:
        print_report(run, settings, events)


def _check(settings: Any) -> None:
    """Find what is wrong before a folder is made, and compile before workers wait for it."""
    from kinfolk.jobs.train.plan import build_plan
    from kinfolk.jobs.train.state import initial_state

    initial_state(settings, build_plan(settings).resolved)
    spec = settings.world_ref.spec
    teachers = {teaching.teacher for teaching in settings.teachers.values()}
    assignment = settings.build_assignment(spec)
    players = [name for name in settings.slot_ids if name not in teachers]
    warn_of_idle_slots(players, _renumbered(assignment, settings.slot_ids, players))
    uris = {slot.id: slot.policy_uri for slot in settings.slots if slot.policy_uri is not None}
    compile_kernels(settings.world, settings.world_settings, settings.preset, uris)


def _renumbered(table: Any, names: list[str], some: list[str]) -> Any:
    """Return a slot assignment with the numbers that slots have among some of them.

    Args:
        table: Slot number of each row.
        names: All slots.
        some: Those that are counted; the others become -1.
    """
    import numpy as np

    return np.array([some.index(n) if n in some else -1 for n in names])[table]


def _train(run: Any, settings: Any, workers: Any, loggers: Any) -> None:
    """Run the job into the store with progress.

    Args:
        run: The run.
        settings: Its settings.
        workers: Engine that runs its tasks.
        loggers: Loggers that get every event.
    """
    from kinfolk.jobs.train.events import EvaluationDone, UpdateDone
    from kinfolk.jobs.train.job import train
    from kinfolk.store.run_job import run_and_store

    before = [event for event in run.events() if event["kind"] == "update_done"]
    done = before[-1]["step"] if before else 0
    bar = progress("Steps", settings.steps, min(done, settings.steps))
    try:
        with interruptible("train", run, workers, loggers), bar as tell:
            for event in run_and_store(run, lambda snapshot: train(settings, workers, snapshot)):
                loggers.log_event(event)
                if isinstance(event, UpdateDone):
                    tell(min(event.step, settings.steps), describe_update(event))
                elif isinstance(event, EvaluationDone):
                    note(describe_evaluation(event))
    except DamagedRunError as error:
        raise DamagedRunError(
            f"{error} To continue from the one before it, add --previous-checkpoint."
        ) from None
