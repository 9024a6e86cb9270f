"""A world as a Gymnasium `Env`: one controller acts for all that live in it.

Gymnasium's table takes only environments of one agent; this is the world as such a one.
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
    """One world under one controller.

    It sees, by group, the fields of all rows, `[rows, *shape]`, and which of them live (`alive`);
    rows that another group holds are zero. It acts, by group, `[rows, heads]`; what it says for
    rows where nobody of that group lives is not read. Its reward is the sum of all rewards. The
    episode is terminated when nobody is left, and otherwise truncated.
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
        """The world behind this face. Step it only through the face."""
        return self.single_world.world

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin episode 0 of `seed`, or the next one without; `options` are not read."""
        super().reset(seed=seed, options=options)
        self.single_world.reset(seed)
        return self._observations(), {}

    def step(
        self, action: Mapping[str, Any]
    ) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Let everybody act at once."""
        self.single_world.check_can_step()
        columns, groups = self.world.columns, self.world.spec.groups
        missing = [group.name for group in groups if group.name not in action]
        if missing:
            raise UsageError(f"The action has nothing for {missing[0]}.")
        for row in np.flatnonzero(columns.alive).tolist():
            group = int(columns.group[row])
            name = groups[group].name
            self.single_world.set_action(
                row, group, f"row {row} of {name}", np.asarray(action[name])[row]
            )
        self.single_world.step()
        over, left = bool(self.world.done[0]), bool(columns.alive.any())
        reward = float(columns.reward[columns.uid >= 0].sum())
        counters = {name: count[0].item() for name, count in self.world.counters().items()}
        return self._observations(), reward, over and not left, over and left, counters

    def _observations(self) -> dict[str, Any]:
        columns = self.world.columns
        found = {}
        for index, group in enumerate(self.world.spec.groups):
            mine = (columns.uid >= 0) & (columns.group == index)
            fields = {
                f.name: group.read_field(self.single_world.observations, f.name).copy()
                for f in group.fields
            }
            for field in fields.values():
                field[~mine] = 0
            found[group.name] = {**fields, "alive": (mine & columns.alive).astype(np.int8)}
        return found

    def render(self) -> Any:
        """The world as text, if that was asked for."""
        return self.single_world.render_text(self.render_mode)
