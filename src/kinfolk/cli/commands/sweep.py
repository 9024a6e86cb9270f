"""`kinfolk sweep`: a job over settings and seeds, with a table, intervals and a figure."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Annotated, Any

import typer

from kinfolk import jobs
from kinfolk.cli.evaluation_runs import check_policies, read_last_event
from kinfolk.cli.flags import job_call, settings_command
from kinfolk.cli.output import (
    command,
    echo,
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

FIGURE_FILE = "figure.svg"

sweep = typer.Typer(
    help="Run a job over settings and seeds; ends with a table, intervals and a figure.",
    rich_markup_mode=None,
)


def _make_command(job: str, about: str) -> Callable[..., None]:
    """Return the command that sweeps a job.

    Args:
        job: Name of the job in `SWEPT_JOBS`.
        about: Its help text.
    """

    def command(
        context: typer.Context,
        vary: Annotated[
            list[str] | None,
            typer.Option(
                metavar="KEY=V1,V2,...",
                help="Setting of the job or its world, and its values; repeat for a grid.",
            ),
        ] = None,
        case: Annotated[
            list[str] | None,
            typer.Option(metavar="KEY=V,KEY=V", help="One of a list of settings; repeat it."),
        ] = None,
        search: Annotated[
            list[str] | None,
            typer.Option(
                metavar="KEY=LOW:HIGH[:log]|KEY=A,B", help="Setting that Optuna searches; repeat."
            ),
        ] = None,
        trials: Annotated[int | None, typer.Option(help="Trials of a search. [20]")] = None,
        batch: Annotated[
            int | None, typer.Option(help="Trials that are proposed together. [4]")
        ] = None,
        direction: Annotated[
            str | None, typer.Option(help="maximize or minimize the metric. [maximize]")
        ] = None,
        search_seed: Annotated[int | None, typer.Option(help="Seed of a search. [0]")] = None,
        seeds: Annotated[
            str | None, typer.Option(metavar="N|A,B,...", help="Number of seeds, or them. [1]")
        ] = None,
        metric: Annotated[
            str | None, typer.Option(help="Metric of the table; see `kinfolk metrics`.")
        ] = None,
    ) -> None:
        """Run or resume a sweep."""
        given = {
            "vary": vary, "cases": case, "search": search, "trials": trials, "batch": batch,
            "direction": direction, "search_seed": search_seed, "seeds": seeds, "metric": metric,
        }  # fmt: skip
        options = {
            name: value for name, value in given.items() if value is not None and value != []
        }
        _run_sweep(job, job_call(context), options)

    command.__doc__ = about
    return command


_evolve = typer.Typer(help="Evolve roles or nets over settings and seeds.", rich_markup_mode=None)
for _group, _name, _job, _about in (
    (sweep, "eval", "eval", "Evaluate policies over settings and seeds."),
    (sweep, "train", "train", "Train nets over settings and seeds."),
    (_evolve, "roles", "evolve-roles", "Evolve roles over settings and seeds."),
    (_evolve, "nets", "evolve-nets", "Evolve nets over settings and seeds."),
):
    _group.command(_name, cls=settings_command(_job))(_make_command(_job, _about))
sweep.add_typer(_evolve, name="evolve")


def parse_vary(words: list[str], flag: str = "--vary") -> dict[str, list[Any]]:
    """Parse `KEY=V1,V2` arguments of a flag; values are JSON or text.

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
            raise UsageError(f"{flag} is written KEY=V1,V2,..., not '{word}'.")
        if ".." in values:
            raise UsageError(
                f"{flag} lists its values, such as {name}=1,2,3; '{values}' is no list."
            )
        if name in table:
            raise UsageError(f"{flag} gives '{name}' twice.")
        texts = values.split(",")
        table[name] = [None if text == "none" else parse_value(text) for text in texts]
    return table


def parse_case(word: str) -> dict[str, Any]:
    """Parse `KEY=V,KEY=V`; values are JSON or text, and may hold commas.

    >>> parse_case("ppo.learning_rate=0.001,preset=none")
    {'ppo.learning_rate': 0.001, 'preset': None}

    Raises:
        UsageError: It is not written KEY=V,KEY=V.
    """
    from kinfolk.core.settings import parse_value

    case: dict[str, Any] = {}
    for pair in re.split(r",(?=[\w.]+=)", word):
        name, equals, text = pair.partition("=")
        if not name or not equals or not text:
            raise UsageError(f"--case is written KEY=V,KEY=V, not '{word}'.")
        case[name] = None if text == "none" else parse_value(text)
    return case


def parse_search(words: list[str]) -> dict[str, str | list[Any]]:
    """Parse `KEY=LOW:HIGH[:log]` and `KEY=A,B` arguments.

    >>> parse_search(["ppo.learning_rate=1e-4:1e-2:log", "score=return,length"])
    {'ppo.learning_rate': '1e-4:1e-2:log', 'score': ['return', 'length']}

    Raises:
        UsageError: An argument is written otherwise, or a key is given twice.
    """
    table: dict[str, str | list[Any]] = {}
    for word in words:
        name, _, values = word.partition("=")
        [(key, choices)] = parse_vary([word], "--search").items()
        if key in table:
            raise UsageError(f"--search gives '{key}' twice.")
        table[name] = choices if len(choices) > 1 else values
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


def _run_sweep(job: str, call: JobCall, options: dict[str, Any]) -> None:
    """Run or resume a sweep, and print its summary.

    Args:
        job: Name of the job in `SWEPT_JOBS`.
        call: Settings and options from the command line.
        options: The sweep's own options that were given, by setting.
    """
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
        figure = _draw(run, settings.job)
    if call.json:
        print_json({"run": str(run.folder), **last})
        return
    _print_summary(last)
    echo(f"The tables are {run.folder / 'table.csv'} and {run.folder / 'summary.csv'}.")
    echo(figure)


def _build_settings(job: str, call: JobCall, options: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a new sweep from the command line.

    Args:
        job: Name of the job in `SWEPT_JOBS`.
        call: Settings of the job, from flags and a file.
        options: The sweep's own options that were given, by setting.
    """
    from kinfolk.core.settings import merge_settings
    from kinfolk.store.files import read_settings_file

    base = read_settings_file(call.config) if call.config else {}
    return {
        **options,
        "job": job,
        "settings": merge_settings(base, call.flags),
        "vary": parse_vary(options.get("vary", [])),
        "cases": [parse_case(word) for word in options.get("cases", [])],
        "search": parse_search(options.get("search", [])),
        "seeds": parse_seeds(options.get("seeds", "1")),
    }


def _check(settings: Any) -> None:
    """Check all points of a sweep before a run folder is created.

    Raises:
        UsageError: A setting, policy or the metric is wrong.
    """
    from kinfolk.core.settings import validate_settings
    from kinfolk.jobs.sweeps.points import check_sweep

    points = check_sweep(settings)
    if settings.job == "eval":
        check_policies(validate_settings(jobs.Evaluate, points[0].settings))


def _run_points(run: Any, settings: Any, engine: Any) -> None:
    """Run the points of a sweep that are not done yet, with progress."""
    from kinfolk.store.run_job import run_and_store

    total, done = settings.n_points, sum(1 for _ in run.events())
    name = settings.job.replace("-", " ")
    with (
        interruptible(f"sweep {name}", run, engine),
        progress("Runs", total, min(done, total)) as tell,
    ):
        for event in run_and_store(run, partial(jobs.sweep, settings, engine)):
            if event.kind == "point_done":
                tell(event.step)


def _draw(run: Any, job: str) -> str:
    """Draw the figure of a sweep into its run folder, and return where it is or why there is none."""
    from kinfolk.evaluation.figures.style import save_figure
    from kinfolk.jobs.figures.kinds import draw_runs
    from kinfolk.jobs.figures.sources import FigureSource

    try:
        figure = draw_runs([FigureSource.of_run(run)])
    except MissingLibraryError as error:
        note(str(error))
        return f"There is no figure. Draw it later: {command('plot', run.folder)}"
    save_figure(figure, run.folder / FIGURE_FILE)
    more = (
        f" Panels of other metrics: {command('plot', run.folder, '--metric', 'A', '--metric', 'B')}"
    )
    if job != "eval":
        more = f" Learning curves: {command('plot', run.folder, '--kind', 'curves')}"
    return f"The figure is {run.folder / FIGURE_FILE}.{more}"


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
    if last["best"] is not None:
        values = last["settings"][last["best"]]
        best = ", ".join(f"{name} = {value}" for name, value in values.items())
        echo(f"Trial {last['best']} is the best of {len(last['settings'])}: {best}.")
    for text in last["notes"]:
        echo(text)
