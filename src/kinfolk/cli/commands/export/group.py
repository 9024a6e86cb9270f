"""`kinfolk export`: results of a run in formats that other tools read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from kinfolk.cli.commands.export.pictures import gif, html, mp4, png
from kinfolk.cli.commands.export.results import evaluation, events, metrics, trace_again
from kinfolk.cli.commands.export.roles import phylogeny_text, print_or_write, role
from kinfolk.cli.completion import complete_run
from kinfolk.core.errors import SettingsError

export = typer.Typer(help="Export results of a run in a standard format.", rich_markup_mode=None)
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
    """Export who descends from whom: agents of an episode, or roles or nets of an evolution.

    An episode is played again, which gives the same; if it does not end as it did then, because a
    policy has changed since, nothing is written.
    """
    from kinfolk.store.run import open_run

    if form not in ("csv", "newick"):
        raise SettingsError(f"--format must be csv or newick, not '{form}'.")
    stored = open_run(run)
    if stored.config["job"] == "evolve_roles":
        print_or_write(phylogeny_text(stored, form), out, f"The family tree of roles is in {out}.")
        return
    if stored.config["job"] == "evolve_nets":
        members, end = _nets(stored)
        print_or_write(
            _format_family(members, end, form), out, f"{len(members)} members are in {out}."
        )
        return
    trace = trace_again(*evaluation(run), episode)
    agents = trace.family
    print_or_write(
        _format_family(agents, trace.report.ticks, form), out, f"{len(agents)} agents are in {out}."
    )


def _nets(run: Any) -> tuple[Any, int]:
    """Return the members of an evolution of nets, and the generation after the last."""
    from kinfolk.jobs.evolve_nets.lineage import family_from_events

    events = list(run.events())
    scored = (event["step"] for event in events if event["kind"] == "generation_scored")
    return family_from_events(events), 1 + max(scored, default=0)


def _format_family(family: Any, end: int, form: str) -> str:
    """Return a family as text.

    Args:
        family: The family.
        end: Time at which living members are cut off, for newick.
        form: csv or newick.
    """
    from kinfolk.lineage.export import to_csv, to_newick

    return to_csv(family) if form == "csv" else to_newick(family, end)
