"""`kinfolk evolve`: a group with a command per thing that evolves."""

from __future__ import annotations

import typer

from kinfolk.cli.evolve_nets import nets
from kinfolk.cli.evolve_roles import roles

evolve = typer.Typer(help="Let something evolve.", rich_markup_mode=None)
evolve.command("roles")(roles)
evolve.command("nets")(nets)
