"""`kinfolk export metrics` and `kinfolk export events`: what an evaluation found, as files."""

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
    """An evaluation as a table: a row per episode, agent or failure."""
    import json

    from kinfolk.evaluation.export import TABLE_NAMES, build_table, to_csv, to_parquet
    from kinfolk.store.files import write_atomic

    if form not in _FORMS:
        raise SettingsError(f"--format must be csv, parquet or json, not '{form}'.")
    if table not in TABLE_NAMES:
        raise SettingsError(f"--table must be episodes, agents or failures, not '{table}'.")
    kept, settings = evaluation(run)
    spec = _spec_of(settings)
    groups = [group.name for group in spec.groups]
    found = build_table(table, kept.events(), settings.slot_ids, groups)
    if form == "json":
        data = json.dumps(found).encode() + b"\n"
    else:
        data = to_csv(found) if form == "csv" else to_parquet(found)
    if out is None:
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
    else:
        write_atomic(out, data)
        rows = len(next(iter(found.values()), []))
        note(f"{rows} rows are in {out}.")


def events(
    run: Annotated[
        Path,
        typer.Argument(help="A run of `kinfolk eval` in the savanna.", autocompletion=complete_run),
    ],
    episode: Annotated[int, typer.Option(min=0, help="Which of its episodes.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder for the two files.")] = Path("."),
) -> None:
    """What happened to every agent of the savanna, in the files its users read.

    `agent_event_log_EPISODE.json` tells every life, `reward_summary_EPISODE.txt` what each group
    earned. The episode is played again for it, which gives the same.
    """
    import json

    from kinfolk.evaluation.savanna import (
        build_event_log,
        format_reward_summary,
        replay_savanna_agents,
    )
    from kinfolk.jobs.evaluate import evaluation_tasks
    from kinfolk.store.files import write_atomic

    kept, settings = evaluation(run)
    if settings.world != "savanna":
        raise UsageError(f"{run} is of {settings.world}; these files are of the savanna.")
    _played(kept, episode)
    report, lives = replay_savanna_agents(next(evaluation_tasks(settings)), episode)
    _refuse_changed(kept, episode, report)
    log = build_event_log(lives)
    files = {
        f"agent_event_log_{episode}.json": json.dumps(log, indent=1) + "\n",
        f"reward_summary_{episode}.txt": format_reward_summary(lives, report.ticks),
    }
    for name, text in files.items():
        write_atomic(out / name, text.encode())
    note(f"{len(log)} lives are in {out / next(iter(files))}.")


def evaluation(run: Path) -> tuple[Any, Any]:
    """A run of `kinfolk eval`, and its settings.

    Raises:
        UsageError: It is a run of something else.
    """
    from kinfolk.core.settings import validate_settings
    from kinfolk.jobs.evaluate import Evaluate
    from kinfolk.store.run import open_run

    kept = open_run(run)
    if kept.config["job"] != "evaluate":
        raise UsageError(f"{run} is a run of {kept.config['job']}, not of `kinfolk eval`.")
    return kept, validate_settings(Evaluate, kept.config["settings"])


def watched_again(kept: Any, settings: Any, episode: int) -> Any:
    """An episode of a run, played once more and looked at closely.

    Raises:
        UsageError: The run has no such episode.
        DamagedRunError: It does not end as it did then: a policy has changed since.
    """
    from kinfolk.evaluation.trajectory import trace_episode
    from kinfolk.jobs.evaluate import evaluation_tasks

    _played(kept, episode)
    watched = trace_episode(next(evaluation_tasks(settings)), episode)
    _refuse_changed(kept, episode, watched.report)
    return watched


def _played(kept: Any, episode: int) -> dict[str, Any]:
    for event in kept.events():
        if event["kind"] == "episode_played" and event["step"] == episode:
            found: dict[str, Any] = event
            return found
    raise UsageError(f"{kept.folder} has no episode {episode}.")


def _refuse_changed(kept: Any, episode: int, report: Any) -> None:
    then = _played(kept, episode)
    if (report.ticks, report.returns) != (then["ticks"], then["returns"]):
        raise DamagedRunError(
            f"Episode {episode} of {kept.folder} ends otherwise now than it did: "
            f"a policy has changed since."
        )


def _spec_of(settings: Any) -> Any:
    return settings.world_ref.spec
