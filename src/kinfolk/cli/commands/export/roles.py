"""`kinfolk export role`, and `kinfolk export phylogeny` of a run of role evolution."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from kinfolk.cli.completion import complete_run
from kinfolk.cli.formatting import note
from kinfolk.core.errors import UsageError


def role(
    run: Annotated[
        Path, typer.Argument(help="A run of `kinfolk evolve roles`.", autocompletion=complete_run)
    ],
    name: Annotated[
        list[str],
        typer.Option("--name", help="A role; may be given again. Without, the champion's."),
    ] = [],  # noqa: B006, typer copies it
    out: Annotated[Path | None, typer.Option(help="File to write; without it, stdout.")] = None,
) -> None:
    """Export roles as a history of their own, which `--history` starts from."""
    from kinfolk.roles.history import extract_roles, role_ids_by_name
    from kinfolk.roles.history_text import format_history
    from kinfolk.store.run import open_run

    stored = open_run(run)
    history = read_role_history(stored)
    ids = role_ids_by_name(history, name) if name else _champion(stored, history)
    print_or_write(
        format_history(extract_roles(history, ids)), out, f"{len(set(ids))} roles are in {out}."
    )


def read_role_history(run: Any) -> Any:
    """Read the history of a run of role evolution.

    Raises:
        UsageError: The run is of another job, or its first generation is not over.
    """
    from kinfolk.jobs.evolve_roles.state import HISTORY_FILE
    from kinfolk.roles.history_text import parse_history
    from kinfolk.store.json_files import read_text

    if run.config["job"] != "evolve_roles":
        raise UsageError(
            f"{run.folder} is a run of {run.config['job']}; roles come from `kinfolk evolve roles`."
        )
    path = run.folder / HISTORY_FILE
    if not path.exists():
        raise UsageError(
            f"{run.folder} has no {HISTORY_FILE} yet: its first generation is not over."
        )
    return parse_history(read_text(path), str(path))


def phylogeny_text(run: Any, form: str) -> str:
    """Return the phylogeny of a run's roles as csv or newick."""
    from kinfolk.lineage.export import to_csv, to_newick
    from kinfolk.roles.history import origins_of, role_family

    history = read_role_history(run)
    family = role_family(history)
    if form == "csv":
        return to_csv(family, {"operator": origins_of(history)})
    return to_newick(family, history.generation)


def _champion(run: Any, history: Any) -> list[int]:
    """Return the role ids of the champion, or of the best team so far."""
    from kinfolk.roles.history import role_ids_by_name

    evaluations = [event for event in run.events() if event["kind"] == "champion_evaluated"]
    if evaluations:
        return role_ids_by_name(history, list(evaluations[-1]["team"]))
    return list(dict.fromkeys(history.teams[0].roles))


def print_or_write(text: str, out: Path | None, message: str) -> None:
    """Print a text, or write it to a file with a note on stderr.

    Args:
        text: The text.
        out: File to write; None prints it.
        message: The note.
    """
    from kinfolk.store.files import write_atomic

    if out is None:
        print(text, end="")
    else:
        write_atomic(out, text.encode())
        note(message)
