"""`kinfolk runs`, `rerun`, `capsule` and `verify`: stored results, and whether they repeat."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from kinfolk.cli.completion import complete_engine
from kinfolk.cli.output import (
    JsonOption,
    echo,
    note,
    print_json,
    print_table,
    progress,
    stdout_for_document,
)
from kinfolk.cli.run_lifecycle import interruptible, run_argument
from kinfolk.core.errors import DamagedRunError

_MAX_SHOWN = 10  # differences that are printed

EngineOption = Annotated[
    str | None,
    typer.Option(
        help="local, processes or ray; by default processes if --jobs is more than 1.",
        autocompletion=complete_engine,
    ),
]
JobsOption = Annotated[
    int | None, typer.Option(help="Tasks that run at once; by default 2 if not local.")
]
SampleOption = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Stop after the first N events and compare those [all]."),
]


def runs(
    root: Annotated[Path, typer.Option(help="Folder that holds runs.")] = Path("runs"),
    job: Annotated[str | None, typer.Option(help="Only runs of this job.")] = None,
    world: Annotated[str | None, typer.Option(help="Only runs in this world.")] = None,
    state: Annotated[
        str | None, typer.Option(help="Only done, running, stopped or damaged runs.")
    ] = None,
    sort: Annotated[
        str, typer.Option(help="date (newest first), name, job, world, seed, headline or state.")
    ] = "date",
    json: JsonOption = False,
) -> None:
    """List the runs of a folder with their headline figures, newest first."""
    from kinfolk.evaluation.run_summary import RunSummary, select_runs, summarize_run
    from kinfolk.store.run_list import DamagedRun, list_runs

    listed = list(list_runs(root))
    summaries = {run.name: summarize_run(run) for run in listed}
    filters = {"job": job, "world": world, "state": state}
    chosen = select_runs(summaries.values(), filters, sort)
    if json:
        stored = {run.name: run for run in listed}
        print_json([_build_entry(stored[summary.name], summary) for summary in chosen])
    elif not chosen:
        echo(f"There are no {'such ' if listed else ''}runs in {root}.")
    else:
        rows = [["" if cell is None else cell for cell in summary] for summary in chosen]
        print_table("Runs", RunSummary._fields, rows)
    for run in listed:
        if isinstance(run, DamagedRun):
            echo(f"{run.name} is damaged. {run.problem}", err=True)


def _build_entry(run: Any, summary: Any) -> dict[str, Any]:
    """Return a run as an entry of the JSON document of all runs."""
    from kinfolk.store.run_list import DamagedRun

    entry = {**summary._asdict(), "status": summary.state}
    return (
        {**entry, "problem": run.problem}
        if isinstance(run, DamagedRun)
        else {**entry, **run.config}
    )


def rerun(
    run: Annotated[Path, run_argument("A run that is done.")],
    out: Annotated[Path | None, typer.Option(help="Keep the new run in this folder.")] = None,
    engine: EngineOption = None,
    jobs: JobsOption = None,
    sample: SampleOption = None,
    json: JsonOption = False,
) -> None:
    """Repeat a run from its settings, and say whether the result is the same."""
    from kinfolk.store.run import open_run

    stored = open_run(run)
    report = _repeat(stored, out, engine, jobs, json, sample=sample)
    _report(f"{run}", {"run": str(run), **report}, json)


def capsule(
    run: Annotated[Path, run_argument("A run that is done.")],
    out: Annotated[
        Path | None, typer.Option(help="File to write; by default NAME.capsule.zip.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Pack settings, versions, policies, results and hashes of a run into one file."""
    from kinfolk.jobs.capsules import pack_capsule
    from kinfolk.store.run import open_run

    stored = open_run(run)
    path = out or Path(f"{stored.name}.capsule.zip")
    manifest = pack_capsule(stored, path)
    if json:
        print_json({"capsule": str(path), **manifest.model_dump()})
        return
    echo(f"{path} holds {len(manifest.sha256)} files of {run}. Check it: kinfolk verify {path}")
    for uri in manifest.sources:
        echo(f"Not in it, but needed to verify it: the file of {uri}")


def verify(
    file: Annotated[Path, typer.Argument(help="A capsule.")],
    engine: EngineOption = None,
    jobs: JobsOption = None,
    sample: SampleOption = None,
    json: JsonOption = False,
) -> None:
    """Check the hashes of a capsule, run it again, and compare."""
    from kinfolk.jobs.capsules import (
        check_sources,
        describe_equality,
        locate_policies,
        unpack_capsule,
    )

    with _temporary_folder() as folder:
        stored, manifest = unpack_capsule(file, folder / "run")
        promise = describe_equality(manifest)
        note(f"{file}: the hashes of {len(manifest.sha256)} files are right.")
        check_sources(file, manifest)
        policies = locate_policies(manifest, folder / "run")
        report = _repeat(stored, folder / "again", engine, jobs, json, policies, sample)
    report = {"capsule": str(file), "equality": promise, **report}
    if not json:
        echo(f"Equality that this machine can promise: {promise}.")
    _report(str(file), report, json)


@contextmanager
def _temporary_folder() -> Iterator[Path]:
    """Make a folder that is removed at the end of the context."""
    from kinfolk.core.temporary_folder import TemporaryFolder

    temporary = TemporaryFolder("runs-")
    try:
        yield temporary.folder
    finally:
        temporary.remove()


def _repeat(
    stored: Any,
    out: Path | None,
    engine: str | None,
    jobs: int | None,
    json: bool,
    policies: Mapping[str, str] | None = None,
    sample: int | None = None,
) -> dict[str, Any]:
    """Repeat a run and return whether the result is equal, and the differences.

    Args:
        stored: The run.
        out: Folder of the new run; None takes a temporary one.
        engine: Name of the engine.
        jobs: Tasks that run at once.
        json: Whether stdout is for a JSON document only.
        policies: Where policies lie now, by the URIs under which they played.
        sample: Number of first events to compare; None for all, and the files.
    """
    from kinfolk.core.events import TimingEvent
    from kinfolk.engines import make_engine
    from kinfolk.jobs.reruns import find_differences, repeat_run, require_done
    from kinfolk.store.run import open_run

    require_done(stored)
    total = sum(1 for _ in stored.events())
    if total == 0:
        raise DamagedRunError(
            f"{stored.folder} has no events, so there is nothing to compare with."
        )
    wanted = total if sample is None else min(sample, total)
    with _temporary_folder() as folder, stdout_for_document(json):
        path = out or folder / "again"
        workers = make_engine(engine, jobs)
        stream = repeat_run(stored, workers, path, policies)
        with interruptible("rerun", stored, workers), progress("Events", wanted) as tell:
            n_events = 0
            for event in stream:
                n_events += not isinstance(event, TimingEvent)
                tell(min(n_events, wanted))
                if sample is not None and n_events >= sample:
                    stream.close()
        again = open_run(path)
        n_compared = None if sample is None else wanted
        differences = find_differences(stored, again, policies, n_compared)
        shown = [str(difference) for difference in islice(differences, _MAX_SHOWN)]
    return {"equal": not shown, "events": n_events, "of": total, "differences": shown}


def _report(name: str, report: dict[str, Any], json: bool) -> None:
    """Print whether a repeated run is equal; exit with code 1 if it is not.

    Args:
        name: Run or capsule.
        report: What `_repeat` returned, and more for the document.
        json: Whether to print the report as a JSON document.
    """
    if json:
        print_json(report)
    elif report["equal"] and report["events"] < report["of"]:
        n, total = report["events"], report["of"]
        echo(f"{name} is equal as far as it was run again: the first {n} of {total} events.")
    elif report["equal"]:
        echo(f"{name} is equal: the run again gave the same events and files, byte for byte.")
    else:
        echo(f"{name} is NOT equal. The first differences:")
        for difference in report["differences"]:
            echo(f"  {difference}")
    if not report["equal"]:
        raise typer.Exit(1)
