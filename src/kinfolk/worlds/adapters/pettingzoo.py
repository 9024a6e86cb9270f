"""A world as a PettingZoo `ParallelEnv` whose agents are born and die."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gymnasium import spaces
from pettingzoo import ParallelEnv

from kinfolk.core.errors import UsageError, format_suggestion
from kinfolk.worlds.adapters.infos import AgentEntry, AgentIndex, get_info_provider
from kinfolk.worlds.adapters.single_world import (
    Observation,
    SingleWorld,
    check_render_mode,
    make_action_space,
    make_observation_space,
)
from kinfolk.worlds.base import World

# Observations, rewards, terminations, truncations and infos, by agent.
ParallelStep = tuple[
    dict[str, Observation],
    dict[str, float],
    dict[str, bool],
    dict[str, bool],
    dict[str, dict[str, Any]],
]


def make_metadata(name: str) -> dict[str, Any]:
    """Return the metadata that PettingZoo and its wrappers read."""
    return {"name": name, "render_modes": ["ansi"], "is_parallelizable": True}


class ParallelEnvAdapter(ParallelEnv):  # type: ignore[misc]
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
        self.info_provider = get_info_provider(world)
        self.single_world = SingleWorld(world, seed, self.info_provider.needs_events)
        self.metadata = make_metadata(world.spec.world)
        self.render_mode = check_render_mode(render_mode)
        self.agents: list[str] = []
        groups = world.spec.groups
        self._agent_index = AgentIndex(
            tuple(group.name for group in groups), self.info_provider.make_name
        )
        self.group_observation_spaces = [
            make_observation_space(group, self.info_provider.observation_bounds) for group in groups
        ]
        self.group_action_spaces = [make_action_space(group) for group in groups]
        self._group_of: dict[str, int] = {}  # of every agent of this episode, dead or alive
        self._live_agents: dict[str, AgentEntry] = {}

    @property
    def world(self) -> World:
        """Return the wrapped world, which must only be stepped through this adapter."""
        return self.single_world.world

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Return the observation space of the agent's group: one object per group, at every call."""
        return self.group_observation_spaces[self._group(agent)]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Return the action space of the agent's group: one object per group, at every call."""
        return self.group_action_spaces[self._group(agent)]

    def _group(self, agent: str) -> int:
        group = self._group_of.get(agent)
        if group is None:
            raise UsageError(
                f"No agent was called '{agent}' in this episode.{self._suggest_agent(agent)}"
            )
        return group

    def _suggest_agent(self, agent: str) -> str:
        """Return a hint with the closest of the first agents; listing all would be too long."""
        return format_suggestion(agent, self.agents[:8]).removesuffix(".") + ", ..."

    def reset(
        self,
        seed: int | None = None,
        options: dict[str, Any] | None = None,  # noqa: ARG002 - part of the contract
    ) -> tuple[dict[str, Observation], dict[str, dict[str, Any]]]:
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
                raise UsageError(
                    f"'{agent}' {reason}, so it cannot act.{self._suggest_agent(agent)}"
                )
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
        return (
            {
                entry.name: self.single_world.observation(entry.row, entry.group)
                for entry in entries
            },
            {entry.name: reward[entry.row] for entry in entries},
            {entry.name: terminated[entry.row] for entry in entries},
            {entry.name: truncated[entry.row] for entry in entries},
            {entry.name: infos[entry.uid] for entry in entries},
        )

    def render(self) -> str | None:
        """Return the world as text in mode "ansi", else None."""
        return self.single_world.render_text(self.render_mode)
