"""A world as a PettingZoo `ParallelEnv` with a fixed list of agents, for libraries that need one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kinfolk.core.arrays import Bools, Ints
from kinfolk.core.errors import UsageError, format_suggestion
from kinfolk.worlds.adapters.pettingzoo import GroupedParallelEnv, ParallelReset, ParallelStep
from kinfolk.worlds.adapters.single_world import Observation, make_zero_observation
from kinfolk.worlds.base import World


class FixedAgentsEnv(GroupedParallelEnv):
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
        record_log: False keeps no event log, which saves time and memory.
    """

    def __init__(
        self,
        world: World,
        seed: int = 0,
        render_mode: str | None = None,
        record_log: bool = True,
    ) -> None:
        name = f"{world.spec.world}_fixed"
        super().__init__(world, seed, render_mode, name, False, record_log)
        groups, rows = world.spec.groups, world.spec.rows
        self._names = [[f"{group.name}_{row}" for row in range(rows)] for group in groups]
        self._rows_by_agent = {
            name: (group, row)
            for group, names in enumerate(self._names)
            for row, name in enumerate(names)
        }
        self.possible_agents: list[str] = list(self._rows_by_agent)
        self._previous_uids: Ints = np.full(rows, -1, dtype=np.int64)

    def _find_group(self, agent: str) -> int:
        """Return the group of one of the possible agents."""
        if agent not in self._rows_by_agent:
            hint = format_suggestion(agent, self.possible_agents[:8]).removesuffix(".")
            raise UsageError(f"There is no agent '{agent}'.{hint}, ...")
        return self._rows_by_agent[agent][0]

    def reset(
        self,
        seed: int | None = None,
        options: dict[str, Any] | None = None,  # noqa: ARG002 - part of the contract
    ) -> ParallelReset:
        """Start episode 0 of `seed`, or the next episode without one; `options` are ignored."""
        self._start_episode(seed)
        self.agents = list(self.possible_agents)
        self._previous_uids[:] = -1
        return self._make_observations(), self._make_infos()

    def step(self, actions: Mapping[str, Any]) -> ParallelStep:
        """Step all agents at once; those that are alive need an action.

        Raises:
            UsageError: An action is missing, invalid, or for an unknown agent. Nothing has changed
                then.
        """
        self.single_world.check_can_step()
        for agent in actions:
            self._find_group(agent)
        columns = self.world.columns
        for row in np.flatnonzero(columns.alive).tolist():
            group = int(columns.group[row])
            agent = self._names[group][row]
            if agent not in actions:
                raise UsageError(f"{agent} is alive and has no action.")
            self.single_world.set_action(row, group, agent, actions[agent])
        self._previous_uids[:] = columns.uid
        self._step_world()
        rewards = dict.fromkeys(self.agents, 0.0)
        for agent, row in self._find_occupied_rows().items():
            rewards[agent] = float(columns.reward[row])
        over = bool(self.world.done[0])
        terminations = dict.fromkeys(self.agents, False)
        truncations, infos = dict.fromkeys(self.agents, over), self._make_infos()
        if over:
            self.agents = []
        return self._make_observations(), rewards, terminations, truncations, infos

    def _find_occupied_rows(self) -> dict[str, int]:
        """Return the rows of agents that are alive or died in this step, by name."""
        columns = self.world.columns
        rows = np.flatnonzero(columns.uid >= 0).tolist()
        return {self._names[int(columns.group[row])][row]: row for row in rows}

    def _make_observations(self) -> dict[str, Observation]:
        """Return the observation of every possible agent, zeros for rows without it."""
        groups, occupied = self.world.spec.groups, self._find_occupied_rows()
        return {
            agent: self.single_world.observation(row, group)
            if agent in occupied
            else make_zero_observation(groups[group])
            for agent, (group, row) in self._rows_by_agent.items()
        }

    def _make_infos(self) -> dict[str, dict[str, Any]]:
        """Return the infos of every agent, with the same keys whether its row is occupied or not."""
        columns = self.world.columns
        survives: Bools = columns.alive & ~columns.truncated & ~columns.terminated
        empty = {"alive": 0, "uid": -1, "parent": -1, "born": 0, "ended": 0}
        infos = {agent: dict(empty) for agent in self.agents}
        for agent, row in self._find_occupied_rows().items():
            infos[agent] = {
                "alive": int(survives[row]),
                "uid": int(columns.uid[row]),
                "parent": int(columns.parents[row, 0]),
                "born": int(columns.uid[row] != self._previous_uids[row]),
                "ended": int(columns.terminated[row]),
            }
        return infos
