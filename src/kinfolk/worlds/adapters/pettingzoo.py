"""A world as a PettingZoo `ParallelEnv`.

Agents are born and die in `ParallelEnvAdapter`. Libraries that need a fixed list of agents (SuperSuit,
TorchRL, parts of RLlib) wrap a `FixedAgentsEnv`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces
from pettingzoo import ParallelEnv

from kinfolk.core.arrays import Bools, Ints
from kinfolk.core.errors import UsageError, format_suggestion
from kinfolk.worlds.adapters.infos import AgentEntry, AgentIndex, get_info_provider
from kinfolk.worlds.adapters.single_world import (
    Observation,
    SingleWorldEnv,
    make_action_space,
    make_observation_space,
    make_zero_observation,
)
from kinfolk.worlds.base import World

ParallelReset = tuple[dict[str, Observation], dict[str, dict[str, Any]]]
# Observations, rewards, terminations, truncations and infos, by agent.
ParallelStep = tuple[
    dict[str, Observation],
    dict[str, float],
    dict[str, bool],
    dict[str, bool],
    dict[str, dict[str, Any]],
]


class _GroupedParallelEnv(SingleWorldEnv, ParallelEnv):  # type: ignore[misc]
    """A PettingZoo environment of one world whose agents have the spaces of their groups.

    Args:
        world: A batch of one world.
        seed: Seed whose episode 0 the first `reset()` starts; see `SingleWorld`.
        render_mode: None, or "ansi" for text.
        name: Name of the environment in its metadata.
        reads_events: Whether the world records its events, if the infos of agents need them.
    """

    def __init__(
        self, world: World, seed: int, render_mode: str | None, name: str, reads_events: bool
    ) -> None:
        self.info_provider = get_info_provider(world)
        record_events = reads_events and self.info_provider.needs_events
        super().__init__(world, seed, render_mode, record_events)
        self.metadata = {"name": name, "render_modes": ["ansi"], "is_parallelizable": True}
        self.agents: list[str] = []
        groups, bounds = world.spec.groups, self.info_provider.observation_bounds
        self.group_observation_spaces = [make_observation_space(group, bounds) for group in groups]
        self.group_action_spaces = [make_action_space(group) for group in groups]

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Return the observation space of the agent's group: one object per group, at every call."""
        return self.group_observation_spaces[self._find_group(agent)]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Return the action space of the agent's group: one object per group, at every call."""
        return self.group_action_spaces[self._find_group(agent)]

    def _find_group(self, agent: str) -> int:
        """Return the index of an agent's group, or raise UsageError if there is no such agent."""
        raise NotImplementedError


class ParallelEnvAdapter(_GroupedParallelEnv):
    """Present one world whose agents appear at their birth and leave after their death.

    A newborn is in all five dictionaries of the step of its birth. An agent that dies is in them
    once more, with its last observation and reward, and no longer in `agents`. The last step
    truncates all survivors. Names are never reused within an episode.

    There is no `possible_agents`, because births cannot be foreseen; `FixedAgentsEnv` is for
    libraries that need a fixed list.

    Args:
        world: A batch of one world.
        seed: Seed whose episode 0 the first `reset()` starts; see `SingleWorld`.
        render_mode: None, or "ansi" for text.
    """

    def __init__(self, world: World, seed: int = 0, render_mode: str | None = None) -> None:
        super().__init__(world, seed, render_mode, world.spec.world, reads_events=True)
        group_names = tuple(group.name for group in world.spec.groups)
        self._agent_index = AgentIndex(group_names, self.info_provider.make_name)
        self._group_of: dict[str, int] = {}  # of every agent of this episode, dead or alive
        self._live_agents: dict[str, AgentEntry] = {}

    def _find_group(self, agent: str) -> int:
        """Return the group of an agent of this episode, dead or alive."""
        if agent not in self._group_of:
            hint = self._suggest_agent(agent)
            raise UsageError(f"No agent was called '{agent}' in this episode.{hint}")
        return self._group_of[agent]

    def _suggest_agent(self, agent: str) -> str:
        """Return a hint with the closest of the first agents; listing all would be too long."""
        return format_suggestion(agent, self.agents[:8]).removesuffix(".") + ", ..."

    def reset(
        self,
        seed: int | None = None,
        options: dict[str, Any] | None = None,  # noqa: ARG002 - part of the contract
    ) -> ParallelReset:
        """Start episode 0 of `seed`, or the next episode without one; `options` are ignored."""
        self.single_world.reset(seed)
        self._agent_index.start(self.world.columns)
        self._group_of = {}
        self._update_agents()
        observations = {
            name: self.single_world.observation(agent.row, agent.group)
            for name, agent in self._live_agents.items()
        }
        return observations, {name: {} for name in self.agents}

    def _update_agents(self) -> None:
        """Update `agents` and the live entries from the agent index."""
        columns = self.world.columns
        survives = (columns.alive & ~columns.truncated).tolist()
        self._live_agents = {}
        for entry in self._agent_index.by_uid.values():
            self._group_of.setdefault(entry.name, entry.group)
            if survives[entry.row]:
                self._live_agents[entry.name] = entry
        self.agents = list(self._live_agents)

    def step(self, actions: Mapping[str, Any]) -> ParallelStep:
        """Step all agents at once; exactly those in `agents` must have an action.

        Raises:
            UsageError: An action is missing, invalid, or for an agent that is not alive. Nothing
                has changed then.
        """
        self.single_world.check_can_step()
        for agent in actions:
            if agent not in self._live_agents:
                reason = "is dead" if agent in self._group_of else "is not an agent"
                hint = self._suggest_agent(agent)
                raise UsageError(f"'{agent}' {reason}, so it cannot act.{hint}")
        for agent, entry in self._live_agents.items():
            if agent not in actions:
                raise UsageError(f"{agent} is alive and has no action.")
            self.single_world.set_action(entry.row, entry.group, agent, actions[agent])
        self.single_world.step()
        columns = self.world.columns
        self._agent_index.update(columns, int(self.world.tick[0]) - 1)
        self._update_agents()
        infos = self.info_provider.infos(self.world, self._agent_index.by_uid)
        reward, terminated = columns.reward.tolist(), columns.terminated.tolist()
        truncated, entries = columns.truncated.tolist(), self._agent_index.by_uid.values()
        observe = self.single_world.observation
        return (
            {entry.name: observe(entry.row, entry.group) for entry in entries},
            {entry.name: reward[entry.row] for entry in entries},
            {entry.name: terminated[entry.row] for entry in entries},
            {entry.name: truncated[entry.row] for entry in entries},
            {entry.name: infos[entry.uid] for entry in entries},
        )


class FixedAgentsEnv(_GroupedParallelEnv):
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
        name = f"{world.spec.world}_fixed"
        super().__init__(world, seed, render_mode, name, reads_events=False)
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
        self.single_world.reset(seed)
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
        self.single_world.step()
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
        survives: Bools = columns.alive & ~columns.truncated
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
