"""A world as a PettingZoo `ParallelEnv`.

Agents are born and die in `ParallelEnvAdapter`. Libraries that need a fixed list of agents (SuperSuit,
TorchRL, parts of RLlib) wrap a `FixedAgentsEnv` (`fixed_agents.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import compress
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces
from pettingzoo import ParallelEnv

from kinfolk.core.arrays import Bools, Bytes, Floats, Ints
from kinfolk.core.errors import ContractError, UsageError, format_suggestion
from kinfolk.worlds.adapters.infos import AgentIndex
from kinfolk.worlds.adapters.single_world import (
    Observation,
    SingleWorldEnv,
    make_action_space,
    make_observation_space,
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


class ArrayStep(NamedTuple):
    """What `step_arrays` returns: all agents of the step in uid order, those that died included."""

    uids: Ints  # [n]
    groups: Ints  # [n] index into the spec's groups
    observations: Bytes  # [n, row_bytes]; the group's `read_field` gives a field
    rewards: Floats  # [n]
    terminated: Bools  # [n]
    truncated: Bools  # [n]
    survives: Bools  # [n] who acts next: `observations[survives]` are those of `agents`


class GroupedParallelEnv(SingleWorldEnv, ParallelEnv):  # type: ignore[misc]
    """A PettingZoo environment of one world whose agents have the spaces of their groups.

    Args:
        world: A batch of one world.
        seed: Seed whose episode 0 the first `reset()` starts; see `SingleWorld`.
        render_mode: None, or "ansi" for text.
        name: Name of the environment in its metadata.
        reads_events: Whether infos are made of the world's events.
        record_log: Whether an event log is kept.
    """

    def __init__(
        self,
        world: World,
        seed: int,
        render_mode: str | None,
        name: str,
        reads_events: bool,
        record_log: bool,
    ) -> None:
        super().__init__(world, seed, render_mode, reads_events, record_log)
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


class ParallelEnvAdapter(GroupedParallelEnv):
    """Present one world whose agents appear at their birth and leave after their death.

    A newborn is in all five dictionaries of the step of its birth. An agent that dies is in them
    once more, with its last observation and reward, and no longer in `agents`. The last step
    truncates all survivors. Names are never reused within an episode. Infos hold what happened to
    the agent; what concerns the whole world is in `counters`, and in the last step of an episode also
    in `infos["__all__"]`.

    There is no `possible_agents`, because births cannot be foreseen; `FixedAgentsEnv` is for
    libraries that need a fixed list.

    Args:
        world: A batch of one world.
        seed: Seed whose episode 0 the first `reset()` starts; see `SingleWorld`.
        render_mode: None, or "ansi" for text.
        agent_infos: False leaves the infos of agents empty, which saves time.
        record_log: False keeps no event log, which saves time and memory.
    """

    def __init__(
        self,
        world: World,
        seed: int = 0,
        render_mode: str | None = None,
        agent_infos: bool = True,
        record_log: bool = True,
    ) -> None:
        super().__init__(world, seed, render_mode, world.spec.world, agent_infos, record_log)
        group_names = tuple(group.name for group in world.spec.groups)
        self._agent_index = AgentIndex(group_names, self.info_provider.make_name)
        self._group_of: dict[str, int] = {}  # of every agent of this episode, dead or alive
        self._has_infos = agent_infos
        self._acting_rows: Ints = np.zeros(0, dtype=np.int64)  # of `agents`, in order

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
        self._start_episode(seed)
        self._agent_index.start(self.world.columns)
        self._group_of = {}
        observations = self._update_agents()
        return observations, {name: {} for name in self.agents}

    def _update_agents(self) -> dict[str, Observation]:
        """Update `agents` from the agent index, and return the observations of all agents there."""
        self._find_survivors()
        index = self._agent_index
        gathered = self.single_world.copy_observations(index.rows)
        return dict(zip(index.names, gathered, strict=True))

    def step(self, actions: Mapping[str, Any]) -> ParallelStep:
        """Step all agents at once; exactly those in `agents` must have an action.

        Raises:
            UsageError: An action is missing, invalid, or for an agent that is not alive. Nothing
                has changed then.
        """
        self.single_world.check_can_step()
        self._set_actions(actions)
        try:
            self._advance()
        except ContractError:
            self._set_one_by_one(actions)  # names the agent whose action is out of range
            raise
        index = self._agent_index
        observations = self._update_agents()
        names = index.names
        terminations, truncations = dict.fromkeys(names, False), dict.fromkeys(names, False)
        if len(self.agents) < len(names):
            columns, rows = self.world.columns, index.rows
            terminations = dict(zip(names, columns.terminated[rows].tolist(), strict=True))
            truncations = dict(zip(names, columns.truncated[rows].tolist(), strict=True))
        infos: dict[str, dict[str, Any]] = {name: {} for name in names}
        if self._has_infos:
            for uid, info in self.info_provider.infos(self.world, index.by_uid).items():
                infos[index.by_uid[uid].name] = info
        if self._has_infos and self.world.done[0]:
            infos["__all__"] = self.counters
        rewards = dict(zip(names, index.rewards, strict=True))
        return observations, rewards, terminations, truncations, infos

    def _advance(self) -> None:
        """Step the world with the actions set before, and update the index of agents."""
        self._step_world()
        self._agent_index.update(self.world.columns, int(self.world.tick[0]))

    def step_arrays(self, actions: Ints) -> ArrayStep:
        """Step all agents at once with arrays instead of dictionaries, several times as fast.

        Args:
            actions: `[agents, heads]` or, with one head, `[agents]`, whole numbers: one row per
                agent in `agents`, in that order.

        Raises:
            UsageError: The shape is wrong, or an action is out of range. Nothing has changed then.
        """
        self.single_world.check_can_step()
        chosen, n_agents = np.asarray(actions), len(self._acting_rows)
        problem = UsageError(
            f"step_arrays needs whole numbers in range, one row for each of the "
            f"{n_agents} agents; it got shape {chosen.shape} of {chosen.dtype}."
        )
        if chosen.dtype.kind not in "iu" or chosen.size != n_agents * self.world.spec.n_heads:
            raise problem
        self.single_world.actions[self._acting_rows] = chosen.reshape(n_agents, -1)
        try:
            self._advance()
        except ContractError as error:
            raise problem from error
        columns, index = self.world.columns, self._agent_index
        rows, survives = index.rows, self._find_survivors()
        return ArrayStep(
            columns.uid[rows],
            columns.group[rows],
            self.single_world.observations[rows],
            columns.reward[rows],
            columns.terminated[rows],
            columns.truncated[rows],
            survives,
        )

    def _find_survivors(self) -> Bools:
        """Update `agents` from the agent index, and return which agents there survive."""
        columns, index = self.world.columns, self._agent_index
        rows, names = index.rows, index.names
        for newborn in index.newborns:
            self._group_of[newborn.name] = newborn.group
        survives: Bools = columns.alive[rows] & ~(
            columns.truncated[rows] | columns.terminated[rows]
        )
        flags = survives.tolist()
        if all(flags):  # faster than numpy's for so few
            self.agents, self._acting_rows = names.copy(), rows
        else:
            self.agents, self._acting_rows = list(compress(names, flags)), rows[survives]
        return survives

    def _set_actions(self, actions: Mapping[str, Any]) -> None:
        """Set the actions of all living agents, or raise UsageError if one is wrong or missing."""
        if len(actions) == len(self.agents):
            try:
                chosen = [actions[name] for name in self.agents]
            except KeyError:
                pass
            else:
                if self.single_world.set_actions(self._acting_rows, chosen):
                    return
        self._set_one_by_one(actions)

    def _set_one_by_one(self, actions: Mapping[str, Any]) -> None:
        """Set the actions of all living agents, or raise UsageError that says which is wrong."""
        alive = set(self.agents)
        for agent in actions:
            if agent not in alive:
                reason = "is dead" if agent in self._group_of else "is not an agent"
                hint = self._suggest_agent(agent)
                raise UsageError(f"'{agent}' {reason}, so it cannot act.{hint}")
        for agent, row in zip(self.agents, self._acting_rows.tolist(), strict=True):
            if agent not in actions:
                raise UsageError(f"{agent} is alive and has no action.")
            self.single_world.set_action(row, self._group_of[agent], agent, actions[agent])
