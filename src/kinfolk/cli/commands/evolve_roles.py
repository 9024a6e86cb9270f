"""`kinfolk evolve roles`: the main job."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from kinfolk.cli.compile import compile_kernels
from kinfolk.cli.flags import job_call
from kinfolk.cli.formatting import print_json, progress
from kinfolk.cli.reports.evolve_roles_report import print_report
from kinfolk.cli.run_lifecycle import interruptible


def roles(
    context: typer.Context,
    history: Annotated[
        Path | None, typer.Option(help="Start from the role_history.json of another run.")
    ] = None,
) -> None:
    """Evolve roles and teams, and evaluate the champion on unseen seeds."""
    from kinfolk.jobs.evolve_roles.settings import EvolveRoles

    call = job_call(context)
    workers = call.make_engine()
    if history is not None:
        call.flags["history"] = _read_history(history)
    run, settings = call.open_run("evolve_roles", EvolveRoles, _check)
    _evolve(run, settings, workers)
    events = list(run.events())
    if call.json:
        print_json(_document(run, settings, events))
    else:
        print_report(run.folder, settings, events)


def _read_history(path: Path) -> str:
    """Read the text of a history; an error message about it names the file."""
    from kinfolk.roles.history_text import parse_history
    from kinfolk.store.json_files import read_text

    text = read_text(path)
    parse_history(text, str(path))
    return text


def _check(settings: Any) -> None:
    """Find what is wrong before a folder is made, and compile before workers wait for it."""
    from kinfolk.jobs.evolve_roles.job import prepare

    prepare(settings, None)
    environment = settings.environment
    policies = {"roles": f"class:{environment.policy_path}"}
    compile_kernels(
        environment.world.name, environment.world.settings, environment.world.preset, policies
    )


def _evolve(run: Any, settings: Any, workers: Any) -> None:
    """Run the job into the store with progress, unless it is done.

    Args:
        run: The run.
        settings: Its settings.
        workers: Engine that runs its tasks.
    """
    from kinfolk.jobs.evolve_roles.job import evolve_roles
    from kinfolk.store.run_job import run_and_store

    if run.status == "done":
        workers.close()
        return
    done = sum(1 for event in run.events() if event["kind"] == "generation_scored")
    bar = progress("Generations", settings.generations, done)
    with interruptible("evolve roles", run, workers), bar as tell:
        for event in run_and_store(run, lambda snapshot: evolve_roles(settings, workers, snapshot)):
            tell(min(event.step + 1, settings.generations))


def _document(run: Any, settings: Any, events: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the run as a JSON document: settings, generations and the champion's evaluation.

    Args:
        run: The run.
        settings: Its settings.
        events: All its events.
    """
    generations = [event for event in events if event["kind"] == "generation_scored"]
    return {
        "run": str(run.folder),
        "settings": settings.model_dump(exclude={"history"}),
        "generations": generations,
        "champion": events[-1],
    }
