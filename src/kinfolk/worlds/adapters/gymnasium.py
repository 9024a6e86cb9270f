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
from kinfolk.core.spaces import AgentGroup, ObservationField
from kinfolk.worlds.adapters.single_world import SingleWorldEnv, make_box
from kinfolk.worlds.base import World


class GymEnvAdapter(SingleWorldEnv, gymnasium.Env[dict[str, Any], Mapping[str, Any]]):
    """Present one world to a single controller of all agents.

    Observations are, by group, the fields of all rows, `[rows, *shape]`, and a mask of the living
    (`alive`); rows of other groups are zero. Actions are, by group, `[rows, heads]`; those of rows
    without a living agent of that group are ignored. The reward is the sum over agents. The episode
    is terminated when no agent is left, and otherwise truncated. Infos are the world's counters.

    Args:
        world: A batch of one world.
        seed: Seed whose episode 0 the first `reset()` starts; see `SingleWorld`.
        render_mode: None, or "ansi" for text.
        record_log: False keeps no event log, which saves time and memory.
    """

    def __init__(
        self,
        world: World,
        seed: int = 0,
        render_mode: str | None = None,
        record_log: bool = True,
    ) -> None:
        super().__init__(world, seed, render_mode, record_log=record_log)
        self.metadata = {"name": world.spec.world, "render_modes": ["ansi"]}
        groups, rows = world.spec.groups, world.spec.rows
        bounds = self.info_provider.observation_bounds
        observed = {group.name: _stack_observation_space(group, rows, bounds) for group in groups}
        chosen = {group.name: _stack_action_space(group, rows) for group in groups}
        self.observation_space, self.action_space = spaces.Dict(observed), spaces.Dict(chosen)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Start episode 0 of `seed`, or the next episode without one; `options` are ignored."""
        super().reset(seed=seed, options=options)
        self._start_episode(seed)
        return self._make_observations(), {}

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
            choice = np.asarray(action[name])[row]
            self.single_world.set_action(row, group, f"row {row} of {name}", choice)
        self._step_world()
        over, has_survivors = bool(self.world.done[0]), bool(columns.alive.any())
        reward = float(columns.reward[columns.uid >= 0].sum())
        terminated, truncated = over and not has_survivors, over and has_survivors
        return self._make_observations(), reward, terminated, truncated, self.counters

    def _make_observations(self) -> dict[str, Any]:
        """Return the fields of all rows by group, zero where the row is of another group."""
        columns, buffer = self.world.columns, self.single_world.observations
        observations = {}
        for index, group in enumerate(self.world.spec.groups):
            in_group = (columns.uid >= 0) & (columns.group == index)
            fields = {f.name: group.read_field(buffer, f.name).copy() for f in group.fields}
            for field in fields.values():
                field[~in_group] = 0
            fields["alive"] = (in_group & columns.alive).astype(np.int8)
            observations[group.name] = fields
        return observations


def _stack_observation_space(
    group: AgentGroup, rows: int, bounds: tuple[float, float]
) -> spaces.Space[Any]:
    """Return the space of the fields of all rows together with a mask of the living.

    Args:
        group: Group whose fields are described.
        rows: Rows of the world.
        bounds: Lowest and highest value of floating-point fields.
    """
    fields = [ObservationField(f.name, (rows, *f.shape), f.dtype) for f in group.fields]
    stacked: dict[str, spaces.Space[Any]] = {f.name: make_box(f, bounds) for f in fields}
    return spaces.Dict(stacked | {"alive": spaces.MultiBinary(rows)})


def _stack_action_space(group: AgentGroup, rows: int) -> spaces.Space[Any]:
    """Return the space of one choice or number per row and head, `[rows, heads]`."""
    if any(head.is_continuous for head in group.heads):
        bounds = np.array([(head.low, head.high) for head in group.heads], dtype=np.float32)
        low, high = (np.tile(bounds[:, side], (rows, 1)) for side in (0, 1))
        return spaces.Box(low, high, dtype=np.float32)
    sizes = [len(head.choices) for head in group.heads]
    return spaces.MultiDiscrete(np.tile(np.array(sizes, dtype=np.int64), (rows, 1)))
