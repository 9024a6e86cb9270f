"""`kinfolk study`: a pre-registered plan that is run as a whole and ends with a report."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from kinfolk import jobs
from kinfolk.cli.completion import complete_engine, complete_run
from kinfolk.cli.evaluation_runs import read_last_event
from kinfolk.cli.output import (
    JsonOption,
    command,
    echo,
    hint,
    note,
    print_json,
    print_table,
    progress,
    stdout_for_document,
)
from kinfolk.cli.run_lifecycle import JobCall, interruptible
from kinfolk.core.errors import KinfolkError, UsageError
from kinfolk.evaluation.formatting import format_duration, format_estimate


def complete_plan(incomplete: str) -> list[tuple[str, str]]:
    """Complete the name of a plan of this package."""
    from kinfolk.jobs.studies.plan import list_plans, parse_plan, read_plan_text

    plans = [(name, parse_plan(name, read_plan_text(name)[1]).title) for name in list_plans()]
    return [entry for entry in plans if entry[0].startswith(incomplete)]


def study(
    plan: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME|FILE.toml]",
            help="Plan of kinfolk, or a plan of your own; without one, all plans are listed.",
            autocompletion=complete_plan,
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Run it cut to about a minute; it decides nothing.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Check the plan and print its time; run nothing.")
    ] = False,
    show: Annotated[
        bool, typer.Option("--show", help="Print the plan as it is, as TOML; run nothing.")
    ] = False,
    engine: Annotated[
        str, typer.Option(help="local, processes or ray.", autocompletion=complete_engine)
    ] = "processes",
    n_jobs: Annotated[
        int | None, typer.Option("--jobs", help="Runs at once; by default 2 if not local.")
    ] = None,
    address: Annotated[str | None, typer.Option(help="Address of a Ray cluster to join.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the run.")] = None,
    resume: Annotated[
        Path | None, typer.Option(help="Study to resume.", autocompletion=complete_run)
    ] = None,
    json: JsonOption = False,
) -> None:
    """Run a pre-registered study: question, conditions and hypotheses from one file, then a report."""
    call = JobCall({}, None, out, resume, json, engine, n_jobs, address)
    if plan is None and resume is None:
        if quick or check or show or out:
            raise UsageError("Which study? Give the name of a plan; kinfolk study lists them.")
        _list_plans(call.make_engine().jobs, json)
    elif show:
        if plan is None or check or json:
            raise UsageError(
                "--show prints a plan. Give its name or file, and no --check or --json."
            )
        from kinfolk.jobs.studies.plan import read_plan_text

        echo(read_plan_text(plan)[1], end="")
    elif check:
        if plan is None:
            raise UsageError("--check is of a plan, not of a run. Give its name or file.")
        _check_plan(plan, quick, call.make_engine().jobs)
    else:
        if resume is not None and (quick or out):
            raise UsageError("--resume continues the study as it was registered; give no options.")
        _run_study(call, plan, quick)


def _list_plans(n_jobs: int, json: bool) -> None:
    """Print all plans with their questions and times."""
    from kinfolk.jobs.studies.conditions import count_runs, estimate_seconds
    from kinfolk.jobs.studies.plan import hash_plan, list_plans, parse_plan, read_plan_text

    listed: list[dict[str, Any]] = []
    for name in list_plans():
        text = read_plan_text(name)[1]
        plan = parse_plan(name, text)
        listed.append(
            {
                "name": name, "title": plan.title, "question": " ".join(plan.question.split()),
                "hypotheses": len(plan.hypotheses), "seeds": plan.seeds,
                "runs": sum(count_runs(plan, quick=False).values()),
                "seconds": estimate_seconds(plan, False, n_jobs),
                "quick_seconds": estimate_seconds(plan, True, n_jobs), "sha256": hash_plan(text),
            }
        )  # fmt: skip
    if json:
        print_json({"studies": listed})
        return
    echo(f"Studies; times are of {n_jobs} runs at once, on as many cores\n")
    for entry in listed:
        times = f"about {format_duration(entry['seconds'])}, --quick {format_duration(entry['quick_seconds'])}"
        echo(f"{entry['name']}: {entry['title']}")
        echo(f"    {entry['question']}")
        sizes = f"{entry['hypotheses']} hypotheses, {entry['seeds']} seeds, {entry['runs']} runs"
        echo(f"    {sizes}; {times}")


def _describe_time(settings: Any, n_jobs: int) -> str:
    """Return the size of a study and the time that it is expected to take."""
    from kinfolk.jobs.studies.conditions import count_runs, estimate_seconds

    runs = count_runs(settings.plan, settings.quick)
    stages = ", ".join(f"{n} of {name}" for name, n in runs.items())
    seconds = estimate_seconds(settings.plan, settings.quick, n_jobs)
    return f"{sum(runs.values())} runs ({stages}); about {format_duration(seconds)} with --jobs {n_jobs}."


def _check_plan(source: str, quick: bool, n_jobs: int) -> None:
    """Check a plan, and print its hash and its time.

    Args:
        source: Name of the plan or path of its file.
        quick: Whether the time is that of the quick variant.
        n_jobs: Runs at once.

    Raises:
        SettingsError: The plan is wrong.
    """
    from kinfolk.jobs.studies.checks import check_plan
    from kinfolk.jobs.studies.settings import register_study

    settings = register_study(source, quick)
    check_plan(settings.name, settings.text)
    echo(f"The plan {settings.name} is valid. SHA-256 {settings.sha256}")
    echo(_describe_time(settings, n_jobs))


def _run_study(call: JobCall, source: str | None, quick: bool) -> None:
    """Run or resume a study, and print its verdicts.

    Args:
        call: Options from the command line.
        source: Name of the plan or path of its file; None only with a run to resume.
        quick: Whether the variant of a minute is run.
    """
    from kinfolk.jobs.studies.outputs import removing_unbegun
    from kinfolk.jobs.studies.packing import pack_study
    from kinfolk.jobs.studies.settings import require_same_plan

    engine = call.make_engine()
    with stdout_for_document(call.json):
        if call.resume is None:
            run, settings = _create(call, str(source), quick)
        else:
            run, settings = call.open_run("study", jobs.Study, lambda _: None)
            if source is not None:
                require_same_plan(settings, source)
            _note_changed_plan(settings)
        note(
            f"Plan {settings.name}, SHA-256 {settings.sha256[:12]}: {_describe_time(settings, engine.jobs)}"
        )
        was_done = run.status == "done"
        if not was_done:
            is_new = call.resume is None
            with removing_unbegun(run.folder) if is_new else nullcontext():
                _run_stages(run, settings, engine)
        for name in pack_study(run, was_done):
            note(f"{run.folder / name} was not what the study stored, and was written again.")
        last = read_last_event(run, "study_done")
    if call.json:
        print_json({"run": str(run.folder), **last})
        return
    _print_verdicts(run, last)


def _create(call: JobCall, source: str, quick: bool) -> tuple[Any, Any]:
    """Register a plan, and create the run of its study.

    Args:
        call: Options from the command line.
        source: Name of the plan or path of its file.
        quick: Whether the variant of a minute is run.
    """
    from kinfolk.jobs.studies.checks import check_plan
    from kinfolk.jobs.studies.settings import register_study

    settings = register_study(source, quick)
    check_plan(settings.name, settings.text)
    new = JobCall(settings.model_dump(), out=call.out)
    return new.open_run("study", jobs.Study, lambda _: None)


def _note_changed_plan(settings: Any) -> None:
    """Say so if the plan's file is no longer the one that was registered."""
    from kinfolk.jobs.studies.settings import require_same_plan

    try:
        require_same_plan(settings, settings.source)
    except KinfolkError:
        note(
            f"{settings.source} has changed or is gone; the study goes on with its registered plan."
        )


def _run_stages(run: Any, settings: Any, engine: Any) -> None:
    """Do the runs of a study that are not done yet, with progress."""
    from kinfolk.jobs.studies.conditions import add_up_seconds
    from kinfolk.store.run_job import run_and_store

    seconds = add_up_seconds(settings.plan, settings.quick)
    percent = [round(100 * first / seconds[-1]) for first in seconds]
    done = sum(event["kind"] == "study_point_done" for event in run.events())
    with (
        interruptible("study", run, engine),
        progress("Percent of the planned work", 100, percent[done]) as tell,
    ):
        for event in run_and_store(run, partial(jobs.study, settings, engine)):
            if event.kind == "study_point_done":
                tell(percent[event.step], f"run {event.step} of {settings.n_runs}")


def _print_verdicts(run: Any, last: dict[str, Any]) -> None:
    """Print the verdict on each hypothesis, and where the report lies."""
    rows = [
        (name, verdict, format_estimate(effect), f"{adjusted:.3g}")
        for name, _, _, _, effect, _, adjusted, verdict, *_ in last["verdicts"]
    ]
    n_seeds = len(last["seeds"])
    variant = ", a quick run that decides nothing" if last["quick"] else ""
    title = f"{last['title']} ({n_seeds} seeds{variant})"
    print_table(title, ("hypothesis", "verdict", "effect (95 %)", "adjusted p"), rows)
    echo(f"The report is {run.folder / 'report.html'} (and report.md).")
    again = command("view", run.folder)
    hint(f"In the viewer: {again}")
