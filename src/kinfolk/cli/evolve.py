"""`kinfolk evolve`: a group with a command per thing that evolves."""

from __future__ import annotations

import typer

from kinfolk.cli.evolve_roles import roles

evolve = typer.Typer(help="Let something evolve.", rich_markup_mode=None)
evolve.command("roles")(roles)


@evolve.callback()
def options() -> None:
    """Keeps it a group while it has one command."""
