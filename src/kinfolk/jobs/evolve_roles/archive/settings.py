"""The settings of quality diversity."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import field_validator

from kinfolk.core.settings import Flag, Settings, setting
from kinfolk.jobs.evolve_nets.settings import AXES_SYNTAX, ArchiveAxis, read_axes

DEFAULT_AXES = "miner=0..1x10,scrambled=0..0.5x10,moves=0..1x5"


class QualityDiversitySettings(Settings):
    """How the archive of teams and roles is divided into cells, and how it is filled."""

    axes: Annotated[tuple[ArchiveAxis, ...], Flag(metavar=AXES_SYNTAX)] = setting(
        read_axes(DEFAULT_AXES),
        "Behaviour descriptors as axes: shares of ticks by role source, scrambled, moves and others.",
        min_length=1,
    )
    new_teams: int = setting(32, "New teams of each generation.", ge=1)
    games: int = setting(2, "Games in which a new team has to show that it may enter a cell.", ge=1)
    confirmation_games: int = setting(
        6, "Further games of those that may, after which it is decided.", ge=1
    )
    rechecked: int = setting(
        16, "Elites with the fewest games that play again in each generation.", ge=0
    )
    final_games: int = setting(
        32, "Fresh games of every elite at the end, which decide whether it is believed.", ge=1
    )

    @field_validator("axes", mode="before")
    @classmethod
    def _read_axes(cls, axes: Any) -> Any:
        """Parse axes that are written as on the command line."""
        return tuple(read_axes(axes)) if isinstance(axes, str) else axes
