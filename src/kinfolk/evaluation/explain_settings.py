"""Settings of the command `kinfolk explain`."""

from __future__ import annotations

from typing import Annotated

from kinfolk.core.settings import Flag, setting
from kinfolk.play.episode_settings import EpisodeSettings
from kinfolk.play.slots import PolicySlot


class Explain(EpisodeSettings):
    """Select the episode and tick whose actions are explained."""

    world: Annotated[str, Flag(completes="world")] = setting(
        "cogsguard", "World to play in; see `kinfolk worlds`."
    )
    slots: Annotated[tuple[PolicySlot, ...], Flag("--slot", "ID=URI", "slot", repeats=True)] = (
        setting(
            (PolicySlot(id="cogs", policy_uri="kin://smart"),),
            "Policies that play; those that explain their actions are explained.",
            min_length=1,
        )
    )
    tick: int = setting(0, "Tick that is explained, from 0.", ge=0)
    agent: int | None = setting(None, "Number of the only agent to show.", ge=0)
