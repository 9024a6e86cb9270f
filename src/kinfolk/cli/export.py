"""`kinfolk export`: runs in standard formats."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kinfolk.cli.role_export import phylogeny_text, role, say_or_write
from kinfolk.core.errors import DamagedRunError, SettingsError, UsageError

export = typer.Typer(
    help="Take something out of a run in a standard format.", rich_markup_mode=None
)


export.command("role")(role)


@export.command("phylogeny")
def phylogeny(
    run: Annotated[Path, typer.Argument(help="A run of `kinfolk eval` or `evolve roles`.")],
    episode: Annotated[int, typer.Option(min=0, help="Which of its episodes.")] = 0,
    form: Annotated[str, typer.Option("--format", help="csv (ALife standard) or newick.")] = "csv",
    out: Annotated[Path | None, typer.Option(help="File to write; without it, stdout.")] = None,
) -> None:
    """Who was whose child in an episode, and how long each lived; or in the evolution of roles.

    Worlds are exact, so the episode is played again; if it does not end as it did then, because
    a policy has changed since, that is said and nothing is written.
    """
    from kinfolk.core.settings import read
    from kinfolk.evaluation.watched import watch_episode
    from kinfolk.jobs.evaluate import Evaluate, matches
    from kinfolk.lineage.export import to_csv, to_newick
    from kinfolk.store.run import open_run

    if form not in ("csv", "newick"):
        raise SettingsError(f"--format must be csv or newick, not '{form}'.")
    kept = open_run(run)
    if kept.about["job"] == "evolve_roles":
        say_or_write(phylogeny_text(kept, form), out, f"The family tree of roles is in {out}.")
        return
    if kept.about["job"] == "evolve_nets":
        from kinfolk.jobs.nets_family import family_of

        events = list(kept.events())
        members = family_of(events)
        end = 1 + max((e["step"] for e in events if e["kind"] == "generation_scored"), default=0)
        text = to_csv(members) if form == "csv" else to_newick(members, end)
        say_or_write(text, out, f"{len(members)} members are in {out}.")
        return
    if kept.about["job"] != "evaluate":
        raise UsageError(
            f"{run} is a run of {kept.about['job']}; lineages come from `kinfolk eval` "
            f"and `kinfolk evolve roles`."
        )
    played = [e for e in kept.events() if e["kind"] == "episode_played" and e["step"] == episode]
    if not played:
        raise UsageError(f"{run} has no episode {episode}.")
    settings = read(Evaluate, kept.about["settings"])
    watched = watch_episode(next(iter(matches(settings, 0))), episode)
    if (watched.result.ticks, watched.result.returns) != (played[0]["ticks"], played[0]["returns"]):
        raise DamagedRunError(
            f"Episode {episode} of {run} ends otherwise now than it did: a policy has changed since."
        )
    family = watched.family
    text = to_csv(family) if form == "csv" else to_newick(family, watched.result.ticks)
    say_or_write(text, out, f"{len(family)} lives are in {out}.")
