"""What a net is shown of what its agent observes: the observation itself, or what a sight makes of it."""

from __future__ import annotations

from typing import Protocol

from kinfolk.core.arrays import Bytes, Ints
from kinfolk.core.errors import SettingsError, format_suggestion
from kinfolk.core.registry import import_object
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.base import AgentBatch, Memory, MemoryLayout

IDENTITY = "identity"  # the observation as it is
TRANSFORMS = {
    "map_features": "kinfolk.policies.scripted.cogsguard.map_features.transform.MapFeatures"
}


class ObservationTransform(Protocol):
    """Turns observations into what a net reads; made with the world's `WorldSpec`.

    It may remember: `memory` is its own part of the policy's, under the same rules. What it shows
    is a row of bytes, laid out as its `spec` says.
    """

    spec: WorldSpec

    @property
    def memory_layout(self) -> MemoryLayout:
        """What it remembers of each life."""
        ...

    def reset_agents(self, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Lives that start now."""
        ...

    def transform(
        self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints
    ) -> Bytes:
        """What the rows are shown, `[n, spec.row_bytes]`."""
        ...


def make_transform(name: str, spec: WorldSpec) -> ObservationTransform | None:
    """The sight of that name, or of that class path; None for the observation itself.

    Raises:
        SettingsError: There is none of that name, or the world shows other things.
    """
    if name == IDENTITY:
        return None
    if name not in TRANSFORMS and "." not in name:
        raise SettingsError(
            f"There is no transform '{name}', and it is no class path either."
            f"{format_suggestion(name, [IDENTITY, *TRANSFORMS])}"
        )
    made: ObservationTransform = import_object(TRANSFORMS.get(name, name))(spec)
    return made
