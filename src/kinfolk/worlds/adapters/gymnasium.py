"""A world as a Gymnasium `Env`: one controller acts for all agents.

Gymnasium registers single-agent environments only; this adapter makes a world one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from kinfolk.core.errors import UsageError
from kinfolk.worlds.adapters.infos import get_info_provider
from kinfolk.worlds.adapters.single_world import (
    SingleWorld,
    check_render_mode,
    make_stacked_action_space,
    make_stacked_observation_space,
)
from kinfolk.worlds.base import World


class GymEnvAdapter(gymnasium.Env[dict[str, Any], Mapping[str, Any]]):
    """Present one world to a single controller of all agents.

    Observations are, by group, the fields of all rows, `[rows, *shape]`, and a mask of the living
    (`alive`); rows of other groups are zero. Actions are, by group, `[rows, heads]`; those of rows
    without a living agent of that group are ignored. The reward is the sum over agents. The episode
    is terminated when no agent is left, and otherwise truncated. Infos are the world's counters.

    Args:
        world: A batch of one world.
        seed: Seed whose episode 0 the first `reset()` starts; see `SingleWorld`.
        render_mode: None, or "ansi" for text.
    """

    def __init__(self, world: World, seed: int = 0, render_mode: str | None = None) -> None:
        self.single_world = SingleWorld(world, seed)
        self.metadata = {"name": world.spec.world, "render_modes": ["ansi"]}
        self.render_mode = check_render_mode(render_mode)
        groups, rows = world.spec.groups, world.spec.rows
        bounds = get_info_provider(world).observation_bounds
        self.observation_space = spaces.Dict(
            {group.name: make_stacked_observation_space(group, rows, bounds) for group in groups}
        )
        self.action_space = spaces.Dict(
            {group.name: make_stacked_action_space(group, rows) for group in groups}
        )

    @property
    def world(self) -> World:
        """Return the wrapped world, which must only be stepped through this adapter."""
        return self.single_world.world

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Start episode 0 of `seed`, or the next episode without one; `options` are ignored."""
        super().reset(seed=seed, options=options)
        self.single_world.reset(seed)
        return self._observations(), {}

    def step(
        self, action: Mapping[str, Any]
    ) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Step all agents at once, with one array of actions per group.

        Raises:
            UsageError: A group is missing, or an action is invalid. Nothing has changed then.
        """
        self.single_world.check_can_step()
        columns, groups = self.world.columns, self.world.spec.groups
        missing = [group.name for group in groups if group.name not in action]
        if missing:
            raise UsageError(f"The action has no entry for the group {missing[0]}.")
        for row in np.flatnonzero(columns.alive).tolist():
            group = int(columns.group[row])
            name = groups[group].name
            self.single_world.set_action(
                row, group, f"row {row} of {name}", np.asarray(action[name])[row]
            )
        self.single_world.step()
        over, has_survivors = bool(self.world.done[0]), bool(columns.alive.any())
        reward = float(columns.reward[columns.uid >= 0].sum())
        counters = {name: count[0].item() for name, count in self.world.counters().items()}
        return (
            self._observations(),
            reward,
            over and not has_survivors,
            over and has_survivors,
            counters,
        )

    def _observations(self) -> dict[str, Any]:
        columns = self.world.columns
        observations = {}
        for index, group in enumerate(self.world.spec.groups):
            in_group = (columns.uid >= 0) & (columns.group == index)
            fields = {
                f.name: group.read_field(self.single_world.observations, f.name).copy()
                for f in group.fields
            }
            for field in fields.values():
                field[~in_group] = 0
            observations[group.name] = {
                **fields,
                "alive": (in_group & columns.alive).astype(np.int8),
            }
        return observations

    def render(self) -> Any:
        """Return the world as text in mode "ansi", else None."""
        return self.single_world.render_text(self.render_mode)
