"""`kinfolk export`: runs in standard formats."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kinfolk.cli.export_results import evaluation, events, metrics, watched_again
from kinfolk.core.errors import SettingsError

export = typer.Typer(
    help="Take something out of a run in a standard format.", rich_markup_mode=None
)


@export.callback()
def options() -> None:
    """A group of its own."""


export.command("metrics")(metrics)
export.command("events")(events)


@export.command("phylogeny")
def phylogeny(
    run: Annotated[Path, typer.Argument(help="A run of `kinfolk eval`.")],
    episode: Annotated[int, typer.Option(min=0, help="Which of its episodes.")] = 0,
    form: Annotated[str, typer.Option("--format", help="csv (ALife standard) or newick.")] = "csv",
    out: Annotated[Path | None, typer.Option(help="File to write; without it, stdout.")] = None,
) -> None:
    """Who was whose child in an episode, and how long each lived.

    Worlds are exact, so the episode is played again; if it does not end as it did then, because
    a policy has changed since, that is said and nothing is written.
    """
    from kinfolk.lineage.export import to_csv, to_newick
    from kinfolk.store.files import write_atomic

    if form not in ("csv", "newick"):
        raise SettingsError(f"--format must be csv or newick, not '{form}'.")
    kept, settings = evaluation(run)
    watched = watched_again(kept, settings, episode)
    family = watched.family
    text = to_csv(family) if form == "csv" else to_newick(family, watched.result.ticks)
    if out is None:
        print(text, end="")
    else:
        write_atomic(out, text.encode())
        typer.echo(f"{len(family)} lives are in {out}.", err=True)
