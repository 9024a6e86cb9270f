"""`kinfolk export metrics` and `kinfolk export events`: results of an evaluation as files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from kinfolk.cli.completion import complete_run
from kinfolk.cli.formatting import note
from kinfolk.core.errors import DamagedRunError, SettingsError, UsageError

_FORMS = ("csv", "parquet", "json")


def metrics(
    run: Annotated[
        Path, typer.Argument(help="A run of `kinfolk eval`.", autocompletion=complete_run)
    ],
    table: Annotated[str, typer.Option(help="episodes, agents or failures.")] = "episodes",
    form: Annotated[str, typer.Option("--format", help="csv, parquet or json.")] = "csv",
    out: Annotated[Path | None, typer.Option(help="File to write; without it, stdout.")] = None,
) -> None:
    """Export an evaluation as a table: a row per episode, agent or failure."""
    import json

    from kinfolk.evaluation.export import TABLE_NAMES, build_table, to_csv, to_parquet
    from kinfolk.store.files import write_atomic

    if form not in _FORMS:
        raise SettingsError(f"--format must be csv, parquet or json, not '{form}'.")
    if table not in TABLE_NAMES:
        raise SettingsError(f"--table must be episodes, agents or failures, not '{table}'.")
    stored, settings = evaluation(run)
    spec = settings.world_ref.spec
    groups = [group.name for group in spec.groups]
    columns = build_table(table, stored.events(), settings.slot_ids, groups)
    if form == "json":
        data = json.dumps(columns).encode() + b"\n"
    else:
        data = to_csv(columns) if form == "csv" else to_parquet(columns)
    if out is None:
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
    else:
        write_atomic(out, data)
        rows = len(next(iter(columns.values()), []))
        note(f"{rows} rows are in {out}.")


def events(
    run: Annotated[
        Path,
        typer.Argument(help="A run of `kinfolk eval` in the savanna.", autocompletion=complete_run),
    ],
    episode: Annotated[int, typer.Option(min=0, help="Which of its episodes.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder for the two files.")] = Path("."),
) -> None:
    """Export what happened to every agent of the savanna, in the formats of the original.

    `agent_event_log_EPISODE.json` has every agent's events, `reward_summary_EPISODE.txt` the
    rewards of each group. The episode is played again for it, which gives the same.
    """
    import json

    from kinfolk.evaluation.savanna import (
        build_event_log,
        format_reward_summary,
        replay_savanna_agents,
    )
    from kinfolk.jobs.evaluate import evaluation_tasks
    from kinfolk.store.files import write_atomic

    stored, settings = evaluation(run)
    if settings.world != "savanna":
        raise UsageError(f"{run} is of {settings.world}; these files are of the savanna.")
    _episode_event(stored, episode)
    report, agents = replay_savanna_agents(next(evaluation_tasks(settings)), episode)
    _refuse_changed(stored, episode, report)
    log = build_event_log(agents)
    files = {
        f"agent_event_log_{episode}.json": json.dumps(log, indent=1) + "\n",
        f"reward_summary_{episode}.txt": format_reward_summary(agents, report.ticks),
    }
    for name, text in files.items():
        write_atomic(out / name, text.encode())
    note(f"{len(log)} agents are in {out / next(iter(files))}.")


def evaluation(run: Path) -> tuple[Any, Any]:
    """Open a run of `kinfolk eval`, and return it with its settings.

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


def trace_again(run: Any, settings: Any, episode: int) -> Any:
    """Play an episode of a run once more and return its trace.

    Args:
        run: The run.
        settings: Its settings.
        episode: Number of the episode.

    Raises:
        UsageError: The run has no such episode.
        DamagedRunError: It does not end as it did then: a policy has changed since.
    """
    from kinfolk.evaluation.trajectory import trace_episode
    from kinfolk.jobs.evaluate import evaluation_tasks

    _episode_event(run, episode)
    trace = trace_episode(next(evaluation_tasks(settings)), episode)
    _refuse_changed(run, episode, trace.report)
    return trace


def _episode_event(run: Any, episode: int) -> dict[str, Any]:
    for event in run.events():
        if event["kind"] == "episode_played" and event["step"] == episode:
            played: dict[str, Any] = event
            return played
    raise UsageError(f"{run.folder} has no episode {episode}.")


def _refuse_changed(run: Any, episode: int, report: Any) -> None:
    """Refuse an episode that does not end as it did when the run was made.

    Args:
        run: The run.
        episode: Number of the episode.
        report: Its result now.
    """
    then = _episode_event(run, episode)
    if (report.ticks, report.returns) != (then["ticks"], then["returns"]):
        raise DamagedRunError(
            f"Episode {episode} of {run.folder} ends otherwise now than it did: "
            f"a policy has changed since."
        )
