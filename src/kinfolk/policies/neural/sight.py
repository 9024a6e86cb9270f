"""What a net is shown of what its agent observes: the observation itself, or what a sight makes of it."""

from __future__ import annotations

from typing import Protocol

from kinfolk.core.arrays import Bytes, Ints
from kinfolk.core.errors import SettingsError, suggestion
from kinfolk.core.registry import load_path
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.base import Memory, MemoryLayout, Rows

WINDOW = "window"  # the observation as it is
SIGHTS = {"atlas": "kinfolk.policies.cogsguard.map_sight.Atlas"}


class Sight(Protocol):
    """Turns observations into what a net reads; made with the world's `WorldSpec`.

    It may remember: `memory` is its own part of the policy's, under the same rules. What it shows
    is a row of bytes, laid out as its `spec` says.
    """

    spec: WorldSpec

    @property
    def memory(self) -> MemoryLayout:
        """What it remembers of each life."""
        ...

    def begin(self, rows: Rows, memory: Memory, keys: Ints) -> None:
        """Lives that start now."""
        ...

    def see(self, observations: Bytes, rows: Rows, memory: Memory, keys: Ints) -> Bytes:
        """What the rows are shown, `[n, spec.row_bytes]`."""
        ...


def make_sight(name: str, spec: WorldSpec) -> Sight | None:
    """The sight of that name, or of that class path; None for the observation itself.

    Raises:
        SettingsError: There is none of that name, or the world shows other things.
    """
    if name == WINDOW:
        return None
    if name not in SIGHTS and "." not in name:
        raise SettingsError(
            f"There is no sight '{name}', and it is no class path either."
            f"{suggestion(name, [WINDOW, *SIGHTS])}"
        )
    made: Sight = load_path(SIGHTS.get(name, name))(spec)
    return made
