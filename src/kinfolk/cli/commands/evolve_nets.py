"""The command `kinfolk evolve nets` and its checks."""

from __future__ import annotations

from typing import Any

import typer

from kinfolk.cli.compile import compile_kernels
from kinfolk.cli.flags import job_call
from kinfolk.cli.formatting import print_json, progress
from kinfolk.cli.reports.evolve_nets_report import print_archive, print_progress, print_result
from kinfolk.cli.run_lifecycle import as_uris, interruptible


def nets(
    context: typer.Context,
) -> None:
    """Evolve nets in a world, on a Gymnasium task, or to imitate another policy."""
    from kinfolk.jobs.evolve_nets.settings import EvolveNets

    call = job_call(context)
    run, settings = call.open_run("evolve_nets", EvolveNets, _check)
    if run.status != "done":
        _evolve(run, settings, call.make_engine())
    events = list(run.events())
    if call.json:
        document = {"run": str(run.folder), "settings": settings.model_dump()}
        print_json({**document, "summary": events[-1]})
    else:
        print_result(settings, events)
        if settings.archive:
            print_archive(run, settings)
        scored = [event for event in events if event["kind"] == "generation_scored"]
        names = list(dict.fromkeys(event["population"] for event in scored))
        print(f"The run lies in {run.folder}; its nets play as {as_uris(run, names)}")
    if events[-1]["goal_reached"] is False:
        raise typer.Exit(1)


def _check(settings: Any) -> None:
    """Find what is wrong before a folder is made, and compile before workers wait for it."""
    from kinfolk.jobs.evolve_nets.state import initial_state

    initial_state(settings)
    compile_kernels(settings.task, settings.world_settings, settings.preset, settings.fixed)


def _evolve(run: Any, settings: Any, workers: Any) -> None:
    """Run the job into the store with progress.

    Args:
        run: The run.
        settings: Its settings.
        workers: Engine that runs its tasks.
    """
    from kinfolk.jobs.evolve_nets.job import evolve_nets
    from kinfolk.store.run_job import run_and_store

    bar = progress("Generations", settings.generations)
    with interruptible("evolve nets", run, workers), bar as tell:
        for event in run_and_store(run, lambda snapshot: evolve_nets(settings, workers, snapshot)):
            print_progress(event.to_dict(), tell)
