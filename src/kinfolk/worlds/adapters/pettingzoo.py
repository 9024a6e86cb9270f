"""A world as a PettingZoo `ParallelEnv` with true births and deaths."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gymnasium import spaces
from pettingzoo import ParallelEnv

from kinfolk.core.errors import UsageError, suggestion
from kinfolk.worlds.adapters.gym_spaces import action_space, observation_space
from kinfolk.worlds.adapters.lives import Life, Lives
from kinfolk.worlds.adapters.one_world import Observation, OneWorld, render_mode_of
from kinfolk.worlds.adapters.telling import teller_of
from kinfolk.worlds.base import World

Step = tuple[
    dict[str, Observation],
    dict[str, float],
    dict[str, bool],
    dict[str, bool],
    dict[str, dict[str, Any]],
]


def metadata(name: str) -> dict[str, Any]:
    """What PettingZoo and its wrappers read about an environment."""
    return {"name": name, "render_modes": ["ansi"], "is_parallelizable": True}


class ParallelWorld(ParallelEnv):  # type: ignore[misc]
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
        self.teller = teller_of(world)
        self.one = OneWorld(world, seed, self.teller.watches)
        self.metadata = metadata(world.spec.world)
        self.render_mode = render_mode_of(render_mode)
        self.agents: list[str] = []
        groups = world.spec.groups
        self._lives = Lives(tuple(group.name for group in groups), self.teller.name)
        self.sees = [observation_space(group, self.teller.bounds) for group in groups]
        self.does = [action_space(group) for group in groups]
        self._group_of: dict[str, int] = {}  # of all who ever lived in this episode
        self._living: dict[str, Life] = {}

    @property
    def world(self) -> World:
        """The world behind this face. Step it only through the face."""
        return self.one.world

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """The space of the agent's group: one object for all of the group, at every call."""
        return self.sees[self._group(agent)]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """The space of the agent's group: one object for all of the group, at every call."""
        return self.does[self._group(agent)]

    def _group(self, agent: str) -> int:
        group = self._group_of.get(agent)
        if group is None:
            raise UsageError(f"No agent was called '{agent}' in this episode.{self._hint(agent)}")
        return group

    def _hint(self, agent: str) -> str:
        """The nearest names of a few; all of a herd would be no hint."""
        return suggestion(agent, self.agents[:8]).removesuffix(".") + ", ..."

    def reset(
        self,
        seed: int | None = None,
        options: dict[str, Any] | None = None,  # noqa: ARG002 - of the contract
    ) -> tuple[dict[str, Observation], dict[str, dict[str, Any]]]:
        """Begin episode 0 of `seed`, or the next one without; `options` are not read."""
        self.one.reset(seed)
        self._lives.begin(self.world.columns)
        self._group_of = {}
        self._admit()
        seen = {n: self.one.observation(life.row, life.group) for n, life in self._living.items()}
        return seen, {name: {} for name in self.agents}

    def _admit(self) -> None:
        """Look who is there now, and who of them goes on."""
        columns = self.world.columns
        goes_on = (columns.alive & ~columns.truncated).tolist()
        self._living = {}
        for life in self._lives.by_uid.values():
            self._group_of.setdefault(life.name, life.group)
            if goes_on[life.row]:
                self._living[life.name] = life
        self.agents = list(self._living)

    def step(self, actions: Mapping[str, Any]) -> Step:
        """Let all agents act at once; every one of `agents` needs an action, nobody else has one.

        Raises:
            UsageError: An action is missing, wrong, or for nobody. Nothing has changed then.
        """
        self.one.expect_a_step()
        for agent in actions:
            if agent not in self._living:
                known = "has ended" if agent in self._group_of else "is nobody's name"
                raise UsageError(f"'{agent}' {known}, so it cannot act.{self._hint(agent)}")
        for agent, life in self._living.items():
            if agent not in actions:
                raise UsageError(f"{agent} is alive and was given no action.")
            self.one.choose(life.row, life.group, agent, actions[agent])
        self.one.step()
        columns = self.world.columns
        self._lives.update(columns, int(self.world.tick[0]) - 1)
        self._admit()
        infos = self.teller.infos(self.world, self._lives.by_uid)
        reward, terminated = columns.reward.tolist(), columns.terminated.tolist()
        truncated, there = columns.truncated.tolist(), self._lives.by_uid.values()
        return (
            {life.name: self.one.observation(life.row, life.group) for life in there},
            {life.name: reward[life.row] for life in there},
            {life.name: terminated[life.row] for life in there},
            {life.name: truncated[life.row] for life in there},
            {life.name: infos[life.uid] for life in there},
        )

    def render(self) -> str | None:
        """The world as text, if that was asked for."""
        return self.one.picture(self.render_mode)
