"""`kinfolk export`: results of a run in formats that other tools read."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from kinfolk.cli.commands.pictures import gif, html, mp4, png
from kinfolk.cli.output import echo, note
from kinfolk.cli.run_lifecycle import run_argument
from kinfolk.core.errors import DamagedRunError, SettingsError, UsageError

OutOption = Annotated[Path | None, typer.Option(help="File to write; without it, stdout.")]

export = typer.Typer(help="Export results of a run in a standard format.", rich_markup_mode=None)
for picture in (png, gif, mp4, html):
    export.command()(picture)


@export.command()
def metrics(
    run: Annotated[Path, run_argument("A run of `kinfolk eval`; failures of `compare` too.")],
    table: Annotated[str, typer.Option(help="episodes, agents or failures.")] = "episodes",
    form: Annotated[str, typer.Option("--format", help="csv, parquet or json.")] = "csv",
    out: OutOption = None,
) -> None:
    """Export an evaluation as a table: a row per episode, agent or failure.

    Failures can be exported from comparisons and round robins too.
    """
    from kinfolk.evaluation.export import TABLE_NAMES, to_csv, to_parquet

    if form not in ("csv", "parquet", "json"):
        raise SettingsError(f"--format must be csv, parquet or json, not '{form}'.")
    if table not in TABLE_NAMES:
        raise SettingsError(f"--table must be episodes, agents or failures, not '{table}'.")
    if out is not None and out.suffix[1:] in ("csv", "parquet", "json") and out.suffix[1:] != form:
        raise SettingsError(
            f"{out} would hold {form}: add --format {out.suffix[1:]}, or rename it."
        )
    columns = _build_failure_table(run) if table == "failures" else _build_table(run, table)
    if form == "json":
        data = json.dumps(columns).encode() + b"\n"
    else:
        data = to_csv(columns) if form == "csv" else to_parquet(columns)
    n_rows = len(next(iter(columns.values()), []))
    _print_or_write(data, out, f"{n_rows} rows are in {out}.")


def _build_table(run: Path, table: str) -> Any:
    """Return the table of episodes or agents of an evaluation."""
    from kinfolk.evaluation.export import build_table

    stored, settings = _open_evaluation(run)
    spec = settings.world_ref.spec if table == "agents" else None  # which names the groups
    return build_table(table, stored.events(), settings.slot_ids, spec)


def _build_failure_table(run: Path) -> Any:
    """Return the table of failures of an evaluation, a comparison or a round robin.

    Raises:
        UsageError: It is a run of another job.
    """
    from kinfolk.evaluation.export import build_failure_table
    from kinfolk.store.run import open_run

    stored = open_run(run)
    job = stored.config["job"]
    if job not in ("evaluate", "compare", "round_robin", "tournament", "crossplay"):
        known = "`kinfolk eval`, `compare`, `tournament` or `crossplay`"
        raise UsageError(f"{run} is a run of {job}, not of {known}.")
    return build_failure_table(job, stored.config["settings"], stored.events())


@export.command()
def events(
    run: Annotated[Path, run_argument("A run of `kinfolk eval` in the savanna.")],
    episode: Annotated[int, typer.Option(min=0, help="Which of its episodes.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder for the two files.")] = Path("."),
) -> None:
    """Export what happened to every agent of the savanna, in the formats of the original.

    `agent_event_log_EPISODE.json` has every agent's events, `reward_summary_EPISODE.txt` the
    rewards of each group. The episode is played again for it, which gives the same.
    """
    from kinfolk.evaluation.trajectory import replay_episode
    from kinfolk.jobs.evaluate import evaluation_tasks
    from kinfolk.store.files import write_atomic
    from kinfolk.worlds.savanna.agent_log import SavannaAgentLog
    from kinfolk.worlds.savanna.io.event_log import build_event_log, format_reward_summary

    stored, settings = _open_evaluation(run)
    if settings.world != "savanna":
        raise UsageError(f"{run} is of {settings.world}; these files are of the savanna.")
    played = _find_episode(stored, episode)
    task = next(evaluation_tasks(settings))
    report, agents = replay_episode(task, episode, SavannaAgentLog)
    _check_same_result(stored, played, report)
    log = build_event_log(agents)
    log_file = out / f"agent_event_log_{episode}.json"
    write_atomic(log_file, (json.dumps(log, indent=1) + "\n").encode())
    summary = format_reward_summary(agents, report.ticks)
    write_atomic(out / f"reward_summary_{episode}.txt", summary.encode())
    note(f"{len(log)} agents are in {log_file}.")


@export.command()
def role(
    run: Annotated[Path, run_argument("A run of `kinfolk evolve roles`.")],
    name: Annotated[
        list[str],
        typer.Option("--name", help="A role; may be given again. Without, the champion's."),
    ] = [],  # noqa: B006, typer copies it
    out: OutOption = None,
) -> None:
    """Export roles as a history of their own, which `--history` starts from."""
    from kinfolk.roles.history import extract_roles, format_history, role_ids_by_name
    from kinfolk.store.run import open_run

    stored = open_run(run)
    history = _read_role_history(stored)
    ids = role_ids_by_name(history, name) if name else _find_champion_roles(stored, history)
    text = format_history(extract_roles(history, ids))
    _print_or_write(text, out, f"{len(set(ids))} roles are in {out}.")


@export.command()
def policy(
    run: Annotated[str, typer.Argument(help="RUN[/SLOT][@best|@latest|@STEP] of `kinfolk train`.")],
    out: Annotated[Path, typer.Option(help="File to write.")],
    form: Annotated[
        str, typer.Option("--format", help="torchscript, onnx or safetensors.")
    ] = "torchscript",
) -> None:
    """Export a trained net, to be played without kinfolk.

    TorchScript and ONNX files go from observations to the most likely actions; safetensors holds the
    weights, with the net's class and settings as metadata.
    """
    from kinfolk.jobs.train.export import export_policy

    note(export_policy(run, out, form))  # type: ignore[arg-type]  # any word, refused by name


@export.command()
def phylogeny(
    run: Annotated[Path, run_argument("A run of `kinfolk eval` or `kinfolk evolve`.")],
    episode: Annotated[int, typer.Option(min=0, help="Which episode of an evaluation.")] = 0,
    form: Annotated[str, typer.Option("--format", help="csv (ALife standard) or newick.")] = "csv",
    out: OutOption = None,
) -> None:
    """Export who descends from whom: agents of an episode, or roles or nets of an evolution.

    An episode is played again, which gives the same; if it does not end as it did then, because a
    policy has changed since, nothing is written.
    """
    from kinfolk.lineage.family import to_csv, to_newick
    from kinfolk.store.run import open_run

    if form not in ("csv", "newick"):
        raise SettingsError(f"--format must be csv or newick, not '{form}'.")
    stored = open_run(run)
    job = stored.config["job"]
    columns: dict[str, Any] = {}
    if job == "evolve_roles":
        family, end, columns = _read_role_family(stored)
        message = f"The family tree of roles is in {out}."
    elif job == "evolve_nets":
        family, end, columns = _read_net_family(stored)
        message = f"{len(family)} members are in {out}."
    else:
        family, end = _trace_agent_family(run, episode)
        message = f"{len(family)} agents are in {out}."
    text = to_csv(family, columns) if form == "csv" else to_newick(family, end)
    _print_or_write(text, out, message)


def _trace_agent_family(run: Path, episode: int) -> tuple[Any, int]:
    """Play an episode of a run again; return its agents' family tree and its length in ticks.

    Raises:
        UsageError: The run has no such episode.
        DamagedRunError: The episode ends otherwise than in the run, as a policy has changed since.
    """
    from kinfolk.evaluation.trajectory import trace_episode
    from kinfolk.jobs.evaluate import evaluation_tasks

    stored, settings = _open_evaluation(run)
    played = _find_episode(stored, episode)
    trace = trace_episode(next(evaluation_tasks(settings)), episode)
    _check_same_result(stored, played, trace.report)
    return trace.family, trace.report.ticks


def _read_net_family(run: Any) -> tuple[Any, int, dict[str, Any]]:
    """Return the family tree of a run's nets.

    Returns:
        The tree, the number of the generation after the last, and additional columns for CSV by name.
    """
    from kinfolk.lineage.net_family import family_from_events, inheritance_columns

    events = list(run.events())
    scored = (event["step"] for event in events if event["kind"] == "generation_scored")
    columns = inheritance_columns(events, run.config["settings"].get("inherit", ()))
    return family_from_events(events), 1 + max(scored, default=0), columns


def _read_role_family(run: Any) -> tuple[Any, int, dict[str, Any]]:
    """Return the family tree of a run's roles.

    Returns:
        The tree, the run's last generation, and additional columns for CSV by name.
    """
    from kinfolk.roles.history import origins_of, role_family

    history = _read_role_history(run)
    return role_family(history), history.generation, {"operator": origins_of(history)}


def _open_evaluation(run: Path) -> tuple[Any, Any]:
    """Open a run of `kinfolk eval`; return the run and its settings.

    Raises:
        UsageError: It is a run of another job.
    """
    from kinfolk.core.settings import validate_settings
    from kinfolk.jobs.evaluate import Evaluate
    from kinfolk.store.run import open_run

    stored = open_run(run)
    if stored.config["job"] != "evaluate":
        raise UsageError(f"{run} is a run of {stored.config['job']}, not of `kinfolk eval`.")
    return stored, validate_settings(Evaluate, stored.config["settings"])


def _find_episode(run: Any, episode: int) -> dict[str, Any]:
    """Return the event of an episode that a run has played.

    Raises:
        UsageError: The run has no such episode.
    """
    for event in run.events():
        if event["kind"] == "episode_played" and event["step"] == episode:
            played: dict[str, Any] = event
            return played
    raise UsageError(f"{run.folder} has no episode {episode}.")


def _check_same_result(run: Any, played: dict[str, Any], report: Any) -> None:
    """Check that an episode that was played again ended as it did in the run.

    Args:
        run: Run folder of the evaluation, for the error message.
        played: `episode_played` event of the run.
        report: Result of playing the episode again.

    Raises:
        DamagedRunError: Ticks or returns differ.
    """
    if (report.ticks, report.returns) != (played["ticks"], played["returns"]):
        problem = f"Episode {played['step']} of {run.folder} ends otherwise now than it did"
        raise DamagedRunError(f"{problem}: a policy has changed since.")


def _read_role_history(run: Any) -> Any:
    """Read the history of a run of role evolution.

    Raises:
        UsageError: The run is of another job, or its first generation is not over.
    """
    from kinfolk.jobs.evolve_roles.state import HISTORY_FILE
    from kinfolk.roles.history_file import read_history

    folder, job = run.folder, run.config["job"]
    if job != "evolve_roles":
        raise UsageError(f"{folder} is a run of {job}; roles come from `kinfolk evolve roles`.")
    path = folder / HISTORY_FILE
    if not path.exists():
        raise UsageError(f"{folder} has no {HISTORY_FILE} yet: its first generation is not over.")
    return read_history(path)


def _find_champion_roles(run: Any, history: Any) -> list[int]:
    """Return the role ids of a run's champion, or of its best team so far."""
    from kinfolk.roles.history import role_ids_by_name

    evaluations = [event for event in run.events() if event["kind"] == "champion_evaluated"]
    if evaluations:
        return role_ids_by_name(history, list(evaluations[-1]["team"]))
    return list(dict.fromkeys(history.teams[0].roles))


def _print_or_write(data: str | bytes, out: Path | None, message: str) -> None:
    """Print data on stdout, or write it to a file with a message on stderr.

    Args:
        data: Text or bytes to export.
        out: File to write; None prints the data.
        message: Printed on stderr after the file was written.
    """
    from kinfolk.store.files import write_atomic

    if out is not None:
        write_atomic(out, data.encode() if isinstance(data, str) else data)
        note(message)
    elif sys.stdout.isatty():
        echo(data if isinstance(data, str) else data.decode(errors="replace"), end="")
    elif isinstance(data, str):
        sys.stdout.write(data)
    else:
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
