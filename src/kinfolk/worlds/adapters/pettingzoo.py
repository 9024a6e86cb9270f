"""A world as a PettingZoo `ParallelEnv` with true births and deaths."""

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

ParallelStep = tuple[
    dict[str, Observation],
    dict[str, float],
    dict[str, bool],
    dict[str, bool],
    dict[str, dict[str, Any]],
]


def make_metadata(name: str) -> dict[str, Any]:
    """What PettingZoo and its wrappers read about an environment."""
    return {"name": name, "render_modes": ["ansi"], "is_parallelizable": True}


class ParallelEnvAdapter(ParallelEnv):  # type: ignore[misc]
    """One world; agents come at their birth and go after their death.

    A newborn is in all five dictionaries of the step that brought it. One that dies is in them
    once more, with its last observation and reward, and no longer in `agents`. On the last step
    all survivors are truncated. Names are never used again within an episode.

    There is no `possible_agents`: nobody knows who will be born. `FixedSlots` is for libraries
    that need a list.

    Args:
        world: A batch of one, of any kind.
        seed: Whose episode 0 the first `reset()` begins; see `OneWorld` for the later ones.
        render_mode: None, or "ansi" for a picture as text.
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
        self._group_of: dict[str, int] = {}  # of all who ever lived in this episode
        self._live_agents: dict[str, AgentEntry] = {}

    @property
    def world(self) -> World:
        """The world behind this face. Step it only through the face."""
        return self.single_world.world

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """The space of the agent's group: one object for all of the group, at every call."""
        return self.group_observation_spaces[self._group(agent)]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """The space of the agent's group: one object for all of the group, at every call."""
        return self.group_action_spaces[self._group(agent)]

    def _group(self, agent: str) -> int:
        group = self._group_of.get(agent)
        if group is None:
            raise UsageError(
                f"No agent was called '{agent}' in this episode.{self._suggest_agent(agent)}"
            )
        return group

    def _suggest_agent(self, agent: str) -> str:
        """The nearest names of a few; all of a herd would be no hint."""
        return format_suggestion(agent, self.agents[:8]).removesuffix(".") + ", ..."

    def reset(
        self,
        seed: int | None = None,
        options: dict[str, Any] | None = None,  # noqa: ARG002 - of the contract
    ) -> tuple[dict[str, Observation], dict[str, dict[str, Any]]]:
        """Begin episode 0 of `seed`, or the next one without; `options` are not read."""
        self.single_world.reset(seed)
        self._agent_index.start(self.world.columns)
        self._group_of = {}
        self._update_agents()
        seen = {
            n: self.single_world.observation(life.row, life.group)
            for n, life in self._live_agents.items()
        }
        return seen, {name: {} for name in self.agents}

    def _update_agents(self) -> None:
        """Look who is there now, and who of them goes on."""
        columns = self.world.columns
        goes_on = (columns.alive & ~columns.truncated).tolist()
        self._live_agents = {}
        for life in self._agent_index.by_uid.values():
            self._group_of.setdefault(life.name, life.group)
            if goes_on[life.row]:
                self._live_agents[life.name] = life
        self.agents = list(self._live_agents)

    def step(self, actions: Mapping[str, Any]) -> ParallelStep:
        """Let all agents act at once; every one of `agents` needs an action, nobody else has one.

        Raises:
            UsageError: An action is missing, wrong, or for nobody. Nothing has changed then.
        """
        self.single_world.check_can_step()
        for agent in actions:
            if agent not in self._live_agents:
                known = "has ended" if agent in self._group_of else "is nobody's name"
                raise UsageError(
                    f"'{agent}' {known}, so it cannot act.{self._suggest_agent(agent)}"
                )
        for agent, life in self._live_agents.items():
            if agent not in actions:
                raise UsageError(f"{agent} is alive and was given no action.")
            self.single_world.set_action(life.row, life.group, agent, actions[agent])
        self.single_world.step()
        columns = self.world.columns
        self._agent_index.update(columns, int(self.world.tick[0]) - 1)
        self._update_agents()
        infos = self.info_provider.infos(self.world, self._agent_index.by_uid)
        reward, terminated = columns.reward.tolist(), columns.terminated.tolist()
        truncated, there = columns.truncated.tolist(), self._agent_index.by_uid.values()
        return (
            {life.name: self.single_world.observation(life.row, life.group) for life in there},
            {life.name: reward[life.row] for life in there},
            {life.name: terminated[life.row] for life in there},
            {life.name: truncated[life.row] for life in there},
            {life.name: infos[life.uid] for life in there},
        )

    def render(self) -> str | None:
        """The world as text, if that was asked for."""
        return self.single_world.render_text(self.render_mode)
