"""`kinfolk tournament`: policies of many authors meet each other, in a sandbox, and are rated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, NamedTuple

import typer

from kinfolk import jobs
from kinfolk.cli.compile import compile_kernels
from kinfolk.cli.completion import complete_policy
from kinfolk.cli.evaluation_runs import (
    check_sandbox,
    describe_sandbox,
    list_failures,
    print_failures,
    read_last_event,
    read_timings,
    run_with_progress,
)
from kinfolk.cli.flags import job_call
from kinfolk.cli.output import echo, note, print_json, print_table, stdout_for_document
from kinfolk.cli.run_lifecycle import JobCall
from kinfolk.evaluation.formatting import (
    describe_counts,
    describe_standings,
    format_estimate,
    format_number,
    format_sample_size,
    leave_out_empty,
)

PoliciesArgument = Annotated[
    list[str] | None,
    typer.Argument(
        help="Folders of policies, a .toml with a table [policies], policy files, or "
        "[[SIDE/]NAME=]URIs.",
        autocompletion=complete_policy,
    ),
]
_MAX_COLUMNS = 12  # of a payoff matrix in the terminal; files and page have all
_MAX_HEADINGS, _GAP = 60, 3  # characters of all names of columns, beyond which they are numbered


def tournament(context: typer.Context, policies: PoliciesArgument = None) -> None:
    """Let policies meet each other, in a sandbox, and rate them.

    A folder holds a policy per Python file, package or .safetensors file; folders in it named after
    a side, such as `predator`, hold policies for that side. The run holds leaderboard.csv,
    payoffs.csv, games.csv, tournament.json and tournament.html, a page that plays the games.
    """
    meeting = MeetingCommand("tournament", jobs.Tournament, jobs.tournament, _check)
    run, settings, last = meeting.run(job_call(context), policies)
    if last is None:
        return
    for side in dict.fromkeys(standing[2] for standing in last["standings"]):
        _print_standings(settings.world, side, last["standings"])
    for text in describe_standings(settings.format, last["standings"]):
        echo(text)
    print_matrices(last["payoffs"])
    print_place(run, settings)


class MeetingCommand(NamedTuple):
    """What differs between the commands of tournaments and of cross-play."""

    name: str  # of the command and of its job
    model: Any  # class of the settings
    job: Any  # function of the job
    check: Callable[[Any], None]  # raises an error before a run folder is created

    def run(
        self, call: JobCall, policies: Sequence[str] | None
    ) -> tuple[Any, Any, dict[str, Any] | None]:
        """Run or resume the job, write its page, and print failures and the JSON document.

        Args:
            call: Settings and options of the command line.
            policies: Sources of the policies.

        Returns:
            The run, its settings and its last event; None instead of that if JSON was printed.
        """
        from kinfolk.jobs.progress import JobProgress

        add_submissions(call, policies)
        engine = call.make_engine()
        with stdout_for_document(call.json):
            run, settings = call.open_run(self.name, self.model, self.check)
            if run.status == "done":
                last = read_last_event(run, f"{self.name}_done")
            else:
                job = partial(self.job, settings, engine)
                progress = JobProgress(self.name, settings)
                last = run_with_progress(
                    self.name, run, engine, job, progress.total, progress.label
                )
            write_page(run)
            print_failures(run, last)
        if call.json:
            print_json(build_document(run, settings, last))
            return run, settings, None
        return run, settings, last


def add_submissions(call: JobCall, sources: Sequence[str] | None) -> None:
    """Add policies and settings that folders and files hold to those of the command line.

    Raises:
        UsageError: A source is wrong, or has no policy.
    """
    from kinfolk.core.settings import merge_settings
    from kinfolk.jobs.tournament.submissions import read_submissions

    if sources:
        settings = read_submissions(sources)
        for name, reason in settings.get("refused", {}).items():
            note(f"{name} is refused and does not play: {reason}.")
        call.flags.update(merge_settings(settings, dict(call.flags)))


def _check(settings: Any) -> None:
    """Check the policies of a tournament and compile kernels, before a run folder is created.

    Raises:
        UsageError: A policy or a setting is wrong.
    """
    from kinfolk.jobs.tournament.job import check_tournament

    check_meeting(settings, check_tournament)


def check_meeting(settings: Any, check: Any) -> None:
    """Check the sandbox, compile kernels, and check the policies.

    Args:
        settings: Settings of a tournament or of cross-play.
        check: Raises an error if the settings cannot be played.

    Raises:
        UsageError: A policy or a setting is wrong.
    """
    from kinfolk.isolation.worker_pool import is_preloadable
    from kinfolk.policies.resolve import resolve

    check_sandbox([settings])
    uris = {}
    for name, uri in _iter_uris(settings.policies):
        if uri.startswith("kin://") and is_preloadable(resolve(uri, trusted=False)):
            uris[name] = uri
    compile_kernels(settings.world, settings.world_settings, settings.preset, uris)
    check(settings)


def _iter_uris(policies: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the name and URI of every policy, of all sides and of single ones."""
    for name, value in policies.items():
        if isinstance(value, Mapping):
            yield from _iter_uris({f"{name}/{each}": uri for each, uri in value.items()})
        else:
            yield name, value


def print_place(run: Any, settings: Any) -> None:
    """Print which submissions did not play, and where the run and its page lie."""
    from kinfolk.viewer.tournament_page import PAGE_FILE

    for name, reason in settings.refused.items():
        echo(f"Refused: {name}: {reason}.")
    echo(f"The run lies in {run.folder}; open {run.folder / PAGE_FILE} in a browser.")


def write_page(run: Any) -> None:
    """Write the page of a finished run into its folder."""
    from kinfolk.store.files import write_atomic
    from kinfolk.viewer.tournament_page import PAGE_FILE, export_tournament_page

    write_atomic(run.folder / PAGE_FILE, export_tournament_page(run.folder))


def build_document(run: Any, settings: Any, last: dict[str, Any]) -> dict[str, Any]:
    """Return a tournament or cross-play as one JSON document.

    Args:
        run: Run folder.
        settings: Settings of the job.
        last: Last event of the run.
    """
    return {
        "schema": f"kinfolk.{run.config['job']}",
        "version": 2,
        "run": str(run.folder),
        "settings": settings.model_dump(),
        **last,
        "failure_records": list_failures(run),
        "sandbox": describe_sandbox(settings),
        "timings": read_timings(run),
    }


def _print_standings(world: str, side: str, standings: Sequence[Sequence[Any]]) -> None:
    """Print the leaderboard of a side, the best first.

    Args:
        world: Name of the world.
        side: Name of the side; "" if policies change sides.
        standings: Standings of all sides.
    """
    rows = [
        ("-" if rank is None else f"{rank}.", name, format_number(rating[0]), format_estimate(won), format_estimate(score),
         format_sample_size(score), "" if points is None else f"{points:g}", str(failures))
        for rank, name, of_side, rating, won, score, points, failures, *_ in standings
        if of_side == side
    ]  # fmt: skip
    estimates = ("rating", "won (95 %)", "score (95 %)", "seeds")
    headings = ("", "policy", *estimates, "points", "failures")
    title = f"{world}: leaderboard{f' of {side}' if side else ''}"
    print_table(title, *leave_out_empty(headings, rows, "points"))


def print_matrices(payoffs: Sequence[Sequence[Any]]) -> None:
    """Print payoff matrices, unless they are too wide for a terminal."""
    for side, against, names, columns, cells in payoffs:
        if len(columns) <= _MAX_COLUMNS:
            rows = [
                (
                    name.removesuffix(f" ({side})"),
                    *("" if cell is None else format_number(cell[0]) for cell in row),
                )
                for name, row in zip(names, cells, strict=True)
            ]
            title = f"Mean score of {side or 'row'} against {against or 'column'}"
            counts = {cell[3] for row in cells for cell in row if cell is not None}
            title += f"; {describe_counts(counts, 'seeds')} each"
            # The title names both sides, so that names need not.
            short = [name.removesuffix(f" ({against})") for name in columns]
            if sum(len(name) + _GAP for name in short) <= _MAX_HEADINGS:
                print_table(title, ("", *short), rows)
                continue
            numbers = [str(i + 1) for i in range(len(short))]
            print_table(title, ("", *numbers), rows)
            named = (f"{number} {name}" for number, name in zip(numbers, short, strict=True))
            echo(f"Columns: {', '.join(named)}.")
