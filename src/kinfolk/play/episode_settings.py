"""Settings shared by all jobs that play episodes: world, rules, seed, slots."""

from __future__ import annotations

from typing import Annotated, Any

from kinfolk.core.settings import Flag, Settings, setting
from kinfolk.play.slot_config import SlotConfig
from kinfolk.play.task import WorldRef


class WorldSelection(Settings):
    """Select a world, its rules and the random seed of its episodes."""

    world: Annotated[str, Flag(completes="world")] = setting(
        "probe", "World to play in; see `kinfolk worlds`."
    )
    preset: Annotated[str | None, Flag(completes="preset")] = setting(
        None, "Named set of rules of the world; see `kinfolk presets`."
    )
    world_settings: Annotated[dict[str, Any], Flag("--set")] = setting(
        {}, "Rules of the world to change; see `kinfolk settings WORLD`."
    )
    seed: int = setting(0, "Random seed.", ge=0)

    @property
    def world_ref(self) -> WorldRef:
        """The world with its rules, as a `RolloutTask` refers to it."""
        return WorldRef(self.world, self.preset, self.world_settings)


class EpisodeSettings(SlotConfig, WorldSelection):
    """Select a world and the policies that play it."""
