"""`kinfolk export`: what a run knows, in formats that other tools read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from kinfolk.cli.commands.export.pictures import gif, html, mp4, png
from kinfolk.cli.commands.export.results import evaluation, events, metrics, watched_again
from kinfolk.cli.commands.export.roles import phylogeny_text, role, say_or_write
from kinfolk.cli.completion import complete_run
from kinfolk.core.errors import SettingsError

export = typer.Typer(
    help="Take something out of a run in a standard format.", rich_markup_mode=None
)
for picture in (png, gif, mp4, html):
    export.command(picture.__name__)(picture)
export.command("metrics")(metrics)
export.command("events")(events)
export.command("role")(role)


@export.command("phylogeny")
def phylogeny(
    run: Annotated[
        Path,
        typer.Argument(
            help="A run of `kinfolk eval` or `kinfolk evolve`.", autocompletion=complete_run
        ),
    ],
    episode: Annotated[int, typer.Option(min=0, help="Which episode of an evaluation.")] = 0,
    form: Annotated[str, typer.Option("--format", help="csv (ALife standard) or newick.")] = "csv",
    out: Annotated[Path | None, typer.Option(help="File to write; without it, stdout.")] = None,
) -> None:
    """Who descends from whom: lives of an episode, roles or nets of an evolution.

    Worlds are exact, so an episode is played again; if it does not end as it did then, because
    a policy has changed since, that is said and nothing is written.
    """
    from kinfolk.store.run import open_run

    if form not in ("csv", "newick"):
        raise SettingsError(f"--format must be csv or newick, not '{form}'.")
    kept = open_run(run)
    if kept.config["job"] == "evolve_roles":
        say_or_write(phylogeny_text(kept, form), out, f"The family tree of roles is in {out}.")
        return
    if kept.config["job"] == "evolve_nets":
        members, end = _nets(kept)
        say_or_write(_told(members, end, form), out, f"{len(members)} members are in {out}.")
        return
    watched = watched_again(*evaluation(run), episode)
    lives = watched.family
    say_or_write(_told(lives, watched.result.ticks, form), out, f"{len(lives)} lives are in {out}.")


def _nets(kept: Any) -> tuple[Any, int]:
    """The members of an evolution of nets, and the generation after the last."""
    from kinfolk.jobs.evolve_nets.lineage import family_from_events

    found = list(kept.events())
    scored = (event["step"] for event in found if event["kind"] == "generation_scored")
    return family_from_events(found), 1 + max(scored, default=0)


def _told(family: Any, end: int, form: str) -> str:
    from kinfolk.lineage.export import to_csv, to_newick

    return to_csv(family) if form == "csv" else to_newick(family, end)
