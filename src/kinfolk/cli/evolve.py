"""`kinfolk evolve`: a group of commands, one for each thing that evolves."""

from __future__ import annotations

import typer

from kinfolk.cli.evolve_nets import nets

evolve = typer.Typer(help="Evolve roles or nets.", rich_markup_mode=None)


@evolve.callback()
def options() -> None:
    """A group of its own."""


evolve.command("nets")(nets)
