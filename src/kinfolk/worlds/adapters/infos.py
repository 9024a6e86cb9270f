"""Names of agents and infos about them, beyond what `AgentColumns` holds.

A world with infos of its own has a provider in `INFO_PROVIDERS`, under the name in its spec. Other
packages add theirs through the entry-point group `kinfolk.info_providers`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from kinfolk.core.registry import Registry, RegistryEntry
from kinfolk.worlds.base import AgentColumns, World


@dataclass
class AgentEntry:
    """One agent, from the step of its birth to the step of its end."""

    uid: int
    name: str
    row: int
    group: int
    birth_step: int  # steps made before the one that brought it; 0 for founders too, as published
    parents: tuple[str, ...]
    cumulative_reward: float = 0.0  # all rewards so far
    event_counts: dict[str, int] = field(default_factory=dict)  # what a teller counts over a life


# The name of a life: its group's name, how many of the group came before it, its uid.
AgentNamer = Callable[[str, int, int], str]


class AgentIndex:
    """The lives in a world of a batch of one, in uid order, kept up step by step.

    Those that ended stay for one step, as their rows do.
    """

    def __init__(self, groups: tuple[str, ...], namer: AgentNamer) -> None:
        self._groups = groups
        self._namer = namer
        self._n_born = [0] * len(groups)
        self.by_uid: dict[int, AgentEntry] = {}

    def start(self, columns: AgentColumns) -> None:
        """Start over with the founders."""
        self._n_born = [0] * len(self._groups)
        self.by_uid = {}
        self.update(columns, 0)

    def update(self, columns: AgentColumns, step: int) -> None:
        """Take in the step number `step`: let go of those that had ended, enter newborns, pay."""
        uid = columns.uid
        rows = np.flatnonzero(uid >= 0)
        rows = rows[np.argsort(uid[rows])]
        before, self.by_uid = self.by_uid, {}
        for row, life, reward in zip(
            rows.tolist(), uid[rows].tolist(), columns.reward[rows].tolist(), strict=True
        ):
            known = before.get(life)
            self.by_uid[life] = known or self._add_agent(columns, before, life, row, step)
            self.by_uid[life].cumulative_reward += reward

    def _add_agent(
        self, columns: AgentColumns, before: dict[int, AgentEntry], uid: int, row: int, step: int
    ) -> AgentEntry:
        group = int(columns.group[row])
        number = self._n_born[group]
        self._n_born[group] += 1
        # A parent was there before the step, or is older and was entered just now.
        known = [
            before.get(p) or self.by_uid.get(p) for p in columns.parents[row].tolist() if p >= 0
        ]
        parents = tuple(parent.name for parent in known if parent is not None)
        return AgentEntry(
            uid, self._namer(self._groups[group], number, uid), row, group, step, parents
        )


Infos = dict[int, dict[str, Any]]

INFO_PROVIDERS = Registry(
    "info provider",
    "info_providers",
    {
        "savanna": RegistryEntry(
            "kinfolk.worlds.savanna.io.infos:SavannaInfoProvider", "published ids and infos"
        ),
    },
)


class InfoProvider(Protocol):
    """Names and infos. It has no state: what it counts over a life lies in `Life.counts`."""

    @property
    def observation_bounds(self) -> tuple[float, float]:
        """The range that spaces state for observed numbers with a fraction."""
        ...

    @property
    def needs_events(self) -> bool:
        """Whether it reads happenings, so that the world has to keep them."""
        ...

    def make_name(self, group: str, number: int, uid: int) -> str:
        """The id of a life that `number` others of its group preceded."""
        ...

    def infos(self, world: World, agents: Mapping[int, AgentEntry]) -> Infos:
        """What there is to say of each of `agents` after a step, by uid."""
        ...


def get_info_provider(world: World) -> InfoProvider:
    """The teller of a world's own, or the plain one."""
    name = world.spec.world
    teller: InfoProvider = (
        INFO_PROVIDERS.load(name)() if name in INFO_PROVIDERS else DefaultInfoProvider()
    )
    return teller


def make_final_info(world: World, agent: AgentEntry) -> dict[str, Any]:
    """What is said of a life in its last step, or in the last of the episode; else nothing.

    `lifetime_steps` is counted as published: from the number of the birth step to that of the
    last, so a founder that dies in the first step has 0. One that is cut off gets one more.
    """
    terminated, truncated = world.columns.terminated[agent.row], world.columns.truncated[agent.row]
    if not (terminated or truncated):
        return {}
    last = int(world.tick[0]) - (1 if terminated else 0)
    return {
        "final_cumulative_reward": agent.cumulative_reward,
        "lifetime_steps": max(last - agent.birth_step, 0),
        "parent_id": agent.parents[0] if agent.parents else None,
        "species": world.spec.groups[agent.group].name,
    }


class DefaultInfoProvider:
    """Agents are called `group_uid`; infos come at the end of a life."""

    observation_bounds = (float("-inf"), float("inf"))
    needs_events = False

    def make_name(self, group: str, number: int, uid: int) -> str:  # noqa: ARG002 - of the contract
        """Uids are never reused, so neither are the names."""
        return f"{group}_{uid}"

    def infos(self, world: World, agents: Mapping[int, AgentEntry]) -> Infos:
        """The ends of lives; for a world with two parents, both their names."""
        found: Infos = {}
        for uid, life in agents.items():
            found[uid] = make_final_info(world, life)
            if found[uid]:
                found[uid]["parent_ids"] = life.parents
        return found
