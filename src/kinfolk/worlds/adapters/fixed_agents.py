"""A world as a PettingZoo `ParallelEnv` with a fixed list of agents, one per group and row.

Libraries that need a fixed list of agents (SuperSuit, TorchRL, parts of RLlib) wrap this.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces
from pettingzoo import ParallelEnv

from kinfolk.core.arrays import Bools, Ints
from kinfolk.core.errors import UsageError, format_suggestion
from kinfolk.worlds.adapters.infos import get_info_provider
from kinfolk.worlds.adapters.pettingzoo import ParallelStep, make_metadata
from kinfolk.worlds.adapters.single_world import (
    Observation,
    SingleWorld,
    check_render_mode,
    make_action_space,
    make_observation_space,
    make_zero_observation,
)
from kinfolk.worlds.base import World


class FixedAgentsEnv(ParallelEnv):  # type: ignore[misc]
    """Present one world as agents `group_row` that exist for the whole episode.

    An agent belongs to one group for good, so its spaces never change; a row that holds a predator
    fills the predators' agent of that number and leaves the prey's empty. Every newborn has an agent.
    There are groups x rows of them: keep the world's rows few.

    All agents are present until the last step, which truncates them all. An empty one observes
    zeros, is rewarded with 0, and its action is ignored. Infos have the same integers at every step:
    `alive` (survived this step), `uid` (-1: empty), `parent` (uid, -1: none), `born` and `ended` (in
    this step). Learners should mask by `alive` and end trajectories where `ended` is 1.

    Args:
        world: A batch of one world.
        seed: Seed whose episode 0 the first `reset()` starts; see `SingleWorld`.
        render_mode: None, or "ansi" for text.
    """

    def __init__(self, world: World, seed: int = 0, render_mode: str | None = None) -> None:
        self.single_world = SingleWorld(world, seed)
        self.metadata = make_metadata(f"{world.spec.world}_fixed")
        self.render_mode = check_render_mode(render_mode)
        groups, rows = world.spec.groups, world.spec.rows
        self._rows_by_agent = {
            f"{group.name}_{row}": (index, row)
            for index, group in enumerate(groups)
            for row in range(rows)
        }
        self.possible_agents: list[str] = list(self._rows_by_agent)
        self.agents: list[str] = []
        self._names = [[f"{group.name}_{row}" for row in range(rows)] for group in groups]
        bounds = get_info_provider(world).observation_bounds
        self._group_observation_spaces = [make_observation_space(group, bounds) for group in groups]
        self._group_action_spaces = [make_action_space(group) for group in groups]
        self._previous_uids: Ints = np.full(rows, -1, dtype=np.int64)

    @property
    def world(self) -> World:
        """Return the wrapped world, which must only be stepped through this adapter."""
        return self.single_world.world

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Return the observation space of the agent's group: the same object at every call."""
        return self._group_observation_spaces[self._find_row(agent)[0]]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Return the action space of the agent's group: the same object at every call."""
        return self._group_action_spaces[self._find_row(agent)[0]]

    def _find_row(self, agent: str) -> tuple[int, int]:
        if agent not in self._rows_by_agent:
            hint = format_suggestion(agent, self.possible_agents[:8]).removesuffix(".")
            raise UsageError(f"There is no agent '{agent}'.{hint}, ...")
        return self._rows_by_agent[agent]

    def reset(
        self,
        seed: int | None = None,
        options: dict[str, Any] | None = None,  # noqa: ARG002 - part of the contract
    ) -> tuple[dict[str, Observation], dict[str, dict[str, Any]]]:
        """Start episode 0 of `seed`, or the next episode without one; `options` are ignored."""
        self.single_world.reset(seed)
        self.agents = list(self.possible_agents)
        self._previous_uids[:] = -1
        return self._observations(), self._infos()

    def step(self, actions: Mapping[str, Any]) -> ParallelStep:
        """Step all agents at once; those that are alive need an action.

        Raises:
            UsageError: An action is missing, invalid, or for an unknown agent. Nothing has changed
                then.
        """
        self.single_world.check_can_step()
        for agent in actions:
            self._find_row(agent)
        columns = self.world.columns
        for row in np.flatnonzero(columns.alive).tolist():
            group = int(columns.group[row])
            agent = self._names[group][row]
            if agent not in actions:
                raise UsageError(f"{agent} is alive and has no action.")
            self.single_world.set_action(row, group, agent, actions[agent])
        self._previous_uids[:] = columns.uid
        self.single_world.step()
        rewards = dict.fromkeys(self.agents, 0.0)
        for agent, row in self._occupied_rows().items():
            rewards[agent] = float(columns.reward[row])
        over = bool(self.world.done[0])
        result: ParallelStep = (
            self._observations(),
            rewards,
            dict.fromkeys(self.agents, False),
            dict.fromkeys(self.agents, over),
            self._infos(),
        )
        if over:
            self.agents = []
        return result

    def _occupied_rows(self) -> dict[str, int]:
        """Return the rows of agents that are alive or died in this step, by name."""
        columns = self.world.columns
        rows = np.flatnonzero(columns.uid >= 0).tolist()
        return {self._names[int(columns.group[row])][row]: row for row in rows}

    def _observations(self) -> dict[str, Observation]:
        groups, occupied = self.world.spec.groups, self._occupied_rows()
        return {
            agent: self.single_world.observation(row, group)
            if agent in occupied
            else make_zero_observation(groups[group])
            for agent, (group, row) in self._rows_by_agent.items()
        }

    def _infos(self) -> dict[str, dict[str, Any]]:
        columns = self.world.columns
        survives: Bools = columns.alive & ~columns.truncated
        empty = {"alive": 0, "uid": -1, "parent": -1, "born": 0, "ended": 0}
        infos = {agent: dict(empty) for agent in self.agents}
        for agent, row in self._occupied_rows().items():
            infos[agent] = {
                "alive": int(survives[row]),
                "uid": int(columns.uid[row]),
                "parent": int(columns.parents[row, 0]),
                "born": int(columns.uid[row] != self._previous_uids[row]),
                "ended": int(columns.terminated[row]),
            }
        return infos

    def render(self) -> str | None:
        """Return the world as text in mode "ansi", else None."""
        return self.single_world.render_text(self.render_mode)
