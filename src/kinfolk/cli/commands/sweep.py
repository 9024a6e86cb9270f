"""`kinfolk sweep`: a job over settings and seeds, with a table, intervals and a figure."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from functools import partial
from typing import Annotated, Any

import typer

from kinfolk import jobs
from kinfolk.cli.evaluation_runs import check_policies, read_last_event
from kinfolk.cli.flags import job_call, settings_command
from kinfolk.cli.output import (
    command,
    note,
    print_json,
    print_table,
    progress,
    stdout_for_document,
)
from kinfolk.cli.run_lifecycle import JobCall, interruptible
from kinfolk.core.errors import UsageError
from kinfolk.core.imports import MissingLibraryError
from kinfolk.evaluation.formatting import format_estimate, format_sample_size

FIGURE_FILE, COMMAND_FILE = "figure.svg", "command.txt"

VaryOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KEY=V1,V2,...",
        help="Setting of the job or its world, and its values; repeat for a grid.",
    ),
]
SeedsOption = Annotated[
    str | None, typer.Option(metavar="N|A,B,...", help="Number of seeds, or the seeds. [1]")
]
MetricOption = Annotated[str | None, typer.Option(help="Metric of the table and the figure.")]

sweep = typer.Typer(
    help="Run a job over settings and seeds; ends with a table, intervals and a figure.",
    rich_markup_mode=None,
)


def eval_sweep(
    context: typer.Context,
    vary: VaryOption = None,
    seeds: SeedsOption = None,
    metric: MetricOption = None,
) -> None:
    """Evaluate policies over settings and seeds."""
    _run_sweep("eval", job_call(context), vary, seeds, metric)


def train_sweep(
    context: typer.Context,
    vary: VaryOption = None,
    seeds: SeedsOption = None,
    metric: MetricOption = None,
) -> None:
    """Train nets over settings and seeds."""
    _run_sweep("train", job_call(context), vary, seeds, metric)


def roles_sweep(
    context: typer.Context,
    vary: VaryOption = None,
    seeds: SeedsOption = None,
    metric: MetricOption = None,
) -> None:
    """Evolve roles over settings and seeds."""
    _run_sweep("evolve-roles", job_call(context), vary, seeds, metric)


def nets_sweep(
    context: typer.Context,
    vary: VaryOption = None,
    seeds: SeedsOption = None,
    metric: MetricOption = None,
) -> None:
    """Evolve nets over settings and seeds."""
    _run_sweep("evolve-nets", job_call(context), vary, seeds, metric)


_evolve = typer.Typer(help="Evolve roles or nets over settings and seeds.", rich_markup_mode=None)
sweep.command("eval", cls=settings_command("eval"))(eval_sweep)
sweep.command("train", cls=settings_command("train"))(train_sweep)
_evolve.command("roles", cls=settings_command("evolve-roles"))(roles_sweep)
_evolve.command("nets", cls=settings_command("evolve-nets"))(nets_sweep)
sweep.add_typer(_evolve, name="evolve")


def parse_vary(words: list[str]) -> dict[str, list[Any]]:
    """Parse `KEY=V1,V2` arguments; values are JSON or text.

    >>> parse_vary(["team_capture_margin=-1,0", "preset=none,small"])
    {'team_capture_margin': [-1, 0], 'preset': [None, 'small']}

    Raises:
        UsageError: An argument is not written KEY=V1,V2, or a key is given twice.
    """
    from kinfolk.core.settings import parse_value

    table: dict[str, list[Any]] = {}
    for word in words:
        name, equals, values = word.partition("=")
        if not name or not equals or not values:
            raise UsageError(f"--vary is written KEY=V1,V2,..., not '{word}'.")
        if name in table:
            raise UsageError(f"--vary gives '{name}' twice.")
        texts = values.split(",")
        table[name] = [None if text == "none" else parse_value(text) for text in texts]
    return table


def parse_seeds(text: str) -> list[int]:
    """Parse a number of seeds, or a list of them.

    >>> parse_seeds("3"), parse_seeds("5,8")
    ([0, 1, 2], [5, 8])

    Raises:
        UsageError: It is neither.
    """
    words = text.split(",")
    if not all(word.strip().isdecimal() for word in words) or text.strip() == "0":
        raise UsageError(
            f"--seeds is a number of seeds, such as 10, or a list 3,5,8; not '{text}'."
        )
    numbers = [int(word) for word in words]
    return numbers if len(numbers) > 1 else list(range(numbers[0]))


def _run_sweep(
    job: str, call: JobCall, vary: list[str] | None, seeds: str | None, metric: str | None
) -> None:
    """Run or resume a sweep, and print its summary.

    Args:
        job: Name of the job in `SWEPT_JOBS`.
        call: Settings and options from the command line.
        vary: Values of `--vary`.
        seeds: Value of `--seeds`.
        metric: Value of `--metric`.
    """
    given = {"vary": vary, "seeds": seeds, "metric": metric}
    options: dict[str, Any] = {name: value for name, value in given.items() if value}
    if call.resume is None:
        options = _build_settings(job, call, options)
        call = replace(call, config=None, flags=options)
    else:
        call = replace(call, flags={**call.flags, **options})
    engine = call.make_engine()
    with stdout_for_document(call.json):
        run, settings = call.open_run("sweep", jobs.Sweep, _check)
        if run.status != "done":
            _run_points(run, settings, engine)
        last = read_last_event(run, "swept")
        figure = _draw(run, last)
    if call.json:
        print_json({"run": str(run.folder), **last})
        return
    _print_summary(last)
    print(f"The tables are {run.folder / 'table.csv'} and {run.folder / 'summary.csv'}.")
    print(figure)


def _build_settings(job: str, call: JobCall, options: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a new sweep from the command line.

    Args:
        job: Name of the job in `SWEPT_JOBS`.
        call: Settings of the job, from flags and a file.
        options: Texts of the sweep's own options that were given.
    """
    from kinfolk.core.settings import merge_settings
    from kinfolk.store.files import read_settings_file

    base = read_settings_file(call.config) if call.config else {}
    return {
        "job": job,
        "settings": merge_settings(base, call.flags),
        "vary": parse_vary(options.get("vary", [])),
        "seeds": parse_seeds(options.get("seeds", "1")),
        "metric": options.get("metric"),
    }


def _check(settings: Any) -> None:
    """Check all points of a sweep before a run folder is created.

    Raises:
        UsageError: A setting, policy or the metric is wrong.
    """
    from kinfolk.core.settings import validate_settings
    from kinfolk.jobs.sweep import check_sweep

    points = check_sweep(settings)
    if settings.job == "eval":
        check_policies(validate_settings(jobs.Evaluate, points[0].settings))


def _run_points(run: Any, settings: Any, engine: Any) -> None:
    """Run the points of a sweep that are not done yet, with progress."""
    from kinfolk.jobs.sweep import build_points
    from kinfolk.store.files import write_atomic
    from kinfolk.store.run_job import run_and_store

    total, done = len(build_points(settings)), sum(1 for _ in run.events())
    name = settings.job.replace("-", " ")
    if not (run.folder / COMMAND_FILE).exists():
        words = shlex.join(["kinfolk", *sys.argv[1:]])
        write_atomic(run.folder / COMMAND_FILE, f"{words}\n".encode())
    with (
        interruptible(f"sweep {name}", run, engine),
        progress("Runs", total, min(done, total)) as tell,
    ):
        for event in run_and_store(run, partial(jobs.sweep, settings, engine)):
            if event.kind == "point_done":
                tell(event.step)


def _draw(run: Any, last: dict[str, Any]) -> str:
    """Draw the figure of a sweep into its run folder, and return where it is or why there is none."""
    from kinfolk.evaluation.figures import draw_estimates, encode_figure
    from kinfolk.evaluation.statistics import Estimate
    from kinfolk.store.files import write_atomic

    estimates = [None if e is None else Estimate(*e) for e in last["estimates"]]
    over = f"{len(last['seeds'])} seeds" if last["over"] == "seeds" else last["over"]
    try:
        figure = draw_estimates(last["settings"], estimates, last["metric"], over)
    except MissingLibraryError as error:
        note(str(error))
        return (
            f"There is no figure. Draw it later: {command('sweep', 'eval', '--resume', run.folder)}"
        )
    write_atomic(run.folder / FIGURE_FILE, encode_figure(figure, "svg"))
    return f"The figure is {run.folder / FIGURE_FILE}."


def _print_summary(last: dict[str, Any]) -> None:
    """Print the estimate of the metric for each setting."""
    names = list(last["vary"]) or ["job"]
    n_seeds = len(last["seeds"])
    rows = [
        (
            *(setting.get(name, last["job"]) for name in names),
            format_estimate(estimate),
            format_sample_size(estimate),
        )
        for setting, estimate in zip(last["settings"], last["estimates"], strict=True)
    ]
    seeds = "1 seed" if n_seeds == 1 else f"{n_seeds} seeds"
    title = f"{last['metric']} of {last['job']}, {seeds}; intervals are over {last['over']}"
    print_table(title, (*names, "mean (95 %)", "n"), rows)
