"""Observation transforms: what a net is shown instead of the world's own observation."""

from __future__ import annotations

from typing import Protocol

from kinfolk.core.arrays import Bytes, Ints
from kinfolk.core.errors import SettingsError, format_suggestion
from kinfolk.core.imports import import_object
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.base import AgentBatch, Memory, MemoryLayout

IDENTITY = "identity"  # the observation as the world gives it
TRANSFORMS = {"map_features": "kinfolk.policies.scripted.cogsguard.map_features.MapFeatures"}


class ObservationTransform(Protocol):
    """Turns observations into what a net reads; constructed with the world's `WorldSpec`.

    It may keep memory per agent, under the rules of `kinfolk.policies.base`. Its output is encoded
    as its own `spec` says.
    """

    spec: WorldSpec  # of the transformed observations

    @property
    def memory_layout(self) -> MemoryLayout:
        """Describe the arrays that the transform keeps per agent."""

    def reset_agents(self, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Prepare the memory of agents whose lives start now; see `Policy.reset_agents`."""

    def transform(
        self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints
    ) -> Bytes:
        """Return the transformed observations, `[n, spec.row_bytes]`.

        Args:
            observations: `[n, row_bytes]`, as the world encodes them.
            batch: The agents that observe.
            memory: The transform's own memory, changed in place at `batch.memory_index`.
            keys: `[n]`, the random key of each agent for this tick.
        """


def make_transform(name: str, spec: WorldSpec) -> ObservationTransform | None:
    """Return the transform of that name or class path; None for the identity.

    Raises:
        SettingsError: There is no such transform, or it does not support this world.
    """
    if name == IDENTITY:
        return None
    if name not in TRANSFORMS and "." not in name:
        hint = format_suggestion(name, [IDENTITY, *TRANSFORMS])
        message = f"There is no transform '{name}', and it is not a class path either.{hint}"
        raise SettingsError(message)
    transform: ObservationTransform = import_object(TRANSFORMS.get(name, name))(spec)
    return transform
