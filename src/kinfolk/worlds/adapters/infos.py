"""Names and infos of agents, beyond what `AgentColumns` holds.

A world with infos of its own has a provider in `INFO_PROVIDERS`, under the name in its spec. Other
packages add theirs through the entry-point group `kinfolk.info_providers`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import compress
from typing import Any, Protocol

import numpy as np

from kinfolk.core.arrays import Ints
from kinfolk.core.errors import UsageError
from kinfolk.core.imports import Registry, RegistryEntry
from kinfolk.worlds.base import AgentColumns, World


@dataclass
class AgentEntry:
    """An agent, tracked from the step of its birth to the step of its death."""

    uid: int
    name: str  # id in the adapter's dictionaries
    row: int  # row of the world's arrays
    group: int  # index of its group in the spec
    birth_tick: int  # steps made when it was born, that of its birth included; 0 for founders
    parents: tuple[str, ...]  # names
    cumulative_reward: float = 0.0
    event_counts: dict[str, int] = field(default_factory=dict)  # kept for the info provider


# Makes an agent's name from its group's name, its number within the group, and its uid.
AgentNamer = Callable[[str, int, int], str]


class AgentIndex:
    """The agents of a single world in uid order, updated after every step.

    Agents that died stay for one step, as their rows do. `rows`, `names` and `rewards` list the
    agents in the same order as `by_uid`.

    Args:
        groups: Names of the groups, in the order of the spec.
        namer: Makes the names of agents.
    """

    def __init__(self, groups: tuple[str, ...], namer: AgentNamer) -> None:
        self._groups = groups
        self._namer = namer
        self._clear()

    def _clear(self) -> None:
        """Forget the agents of the last episode."""
        self._n_born = [0] * len(self._groups)
        self._next_uid = 0
        self._uids: Ints = np.zeros(0, dtype=np.int64)
        self.rows: Ints = np.zeros(0, dtype=np.int64)
        self.names: list[str] = []
        self.rewards: list[float] = []  # of the last step
        self.newborns: list[AgentEntry] = []  # of the last step; at first the founders
        self.by_uid: dict[int, AgentEntry] = {}

    def start(self, columns: AgentColumns) -> None:
        """Start an episode with its founders."""
        self._clear()
        self.update(columns, 0)

    def update(self, columns: AgentColumns, tick: int) -> None:
        """Remove agents that died before, add newborns and accumulate rewards after a step.

        Args:
            columns: Columns of the world after the step.
            tick: Steps made since the reset.
        """
        self.newborns = []
        stays = columns.uid[self.rows] == self._uids
        (born,) = (columns.uid >= self._next_uid).nonzero()
        if len(born) or not all(stays.tolist()):
            born = born[columns.uid[born].argsort()]
            # A parent existed before the step, or has a lower uid and was added just now.
            for row in born.tolist():
                self._add_agent(columns, int(columns.uid[row]), row, tick)
            for uid in self._uids[~stays].tolist():
                del self.by_uid[uid]
            self.names = [*compress(self.names, stays.tolist()), *self.names[len(stays) :]]
            self.rows = np.concatenate([self.rows[stays], born])
            self._uids = columns.uid[self.rows]
        self.rewards = columns.reward[self.rows].tolist()
        if any(self.rewards):
            for uid, reward in zip(self._uids.tolist(), self.rewards, strict=True):
                if reward:
                    self.by_uid[uid].cumulative_reward += reward

    def _add_agent(self, columns: AgentColumns, uid: int, row: int, tick: int) -> None:
        """Add a newborn or a founder to the index.

        Args:
            columns: Columns of the world after the step.
            uid: The newborn's uid.
            row: The newborn's row in the world's arrays.
            tick: Steps made since the reset.
        """
        group = int(columns.group[row])
        number = self._n_born[group]
        self._n_born[group] += 1
        entries = [self.by_uid.get(parent) for parent in columns.parents[row].tolist()]
        parents = tuple(entry.name for entry in entries if entry is not None)
        name = self._namer(self._groups[group], number, uid)
        self.by_uid[uid] = AgentEntry(uid, name, row, group, tick, parents)
        self.newborns.append(self.by_uid[uid])
        self.names.append(name)
        self._next_uid = max(self._next_uid, uid + 1)


Infos = dict[int, dict[str, Any]]  # by uid

INFO_PROVIDERS = Registry(
    "info provider",
    "info_providers",
    {
        "savanna": RegistryEntry(
            "kinfolk.worlds.savanna.io.infos:SavannaInfoProvider", "published ids and infos"
        )
    },
)


class AdapterLog(Protocol):
    """Keeps what happens to the agents of a single world, from `start` on."""

    def start(self) -> None:
        """Start with the founders of a new episode."""
        ...

    def update(self) -> None:
        """Add the step just made."""
        ...

    def attach(self, world: World) -> None:
        """Go on with a copy of the world, after the log itself was copied or unpickled."""
        ...

    def event_log(self) -> dict[str, dict[str, Any]]:
        """Return the events of all agents of this episode, by name."""
        ...

    def agent_stats(self) -> dict[str, dict[str, Any]]:
        """Return the statistics of all agents of this episode, by name."""
        ...

    def lineage_tracker(self) -> dict[str, dict[str, Any]]:
        """Return parents, children and live descendants of all agents of this episode, by name."""
        ...


def require_log(log: AdapterLog | None, world: World) -> AdapterLog:
    """Return a log, or raise UsageError if there is none."""
    if log is None:
        raise UsageError(
            f"This environment keeps no event log: make it with record_log=True, and of a world that "
            f"has one (this is {world.spec.world})."
        )
    return log


class InfoProvider(Protocol):
    """Provides names and infos of agents, with its state in `AgentEntry.event_counts`."""

    @property
    def observation_bounds(self) -> tuple[float, float]:
        """Bounds that spaces declare for floating-point observations."""
        ...

    @property
    def needs_events(self) -> bool:
        """Whether `infos` reads events, so that the world has to record them."""
        ...

    def make_name(self, group: str, number: int, uid: int) -> str:
        """Return the name of an agent.

        Args:
            group: Name of the agent's group.
            number: How many agents of the group were born before it in this episode.
            uid: The agent's uid.
        """
        ...

    def infos(self, world: World, agents: Mapping[int, AgentEntry]) -> Infos:
        """Return the infos of `agents` after a step, by uid; agents without any may be missing."""
        ...

    def world_info(self, world: World) -> dict[str, Any]:
        """Return what is known of the world as a whole, such as its counters."""
        ...

    def make_log(self, world: World) -> AdapterLog | None:
        """Return a log of what happens to the agents of a single world; None if it keeps none."""
        ...


def name_agents(world: str, groups: Mapping[int, str]) -> dict[int, str]:
    """Return the names of the agents of an episode, as adapters and logs have them, by uid.

    Args:
        world: Name of the world in its spec.
        groups: Names of the groups of all agents by uid, in order of uid.
    """
    provider = _make_info_provider(world)
    n_born: dict[str, int] = {}
    names = {}
    for uid, group in groups.items():
        number = n_born.get(group, 0)
        n_born[group] = number + 1
        names[uid] = provider.make_name(group, number, uid)
    return names


def get_info_provider(world: World) -> InfoProvider:
    """Return the info provider registered for a world, or the default one."""
    return _make_info_provider(world.spec.world)


def _make_info_provider(name: str) -> InfoProvider:
    """Return the info provider registered under the name of a world, or the default one."""
    provider_type = INFO_PROVIDERS.load(name) if name in INFO_PROVIDERS else DefaultInfoProvider
    provider: InfoProvider = provider_type()
    return provider


def make_final_info(world: World, agent: AgentEntry) -> dict[str, Any]:
    """Return the info of an agent in its last step; empty while its life goes on.

    `lifetime_steps` is the number of steps that it lived: a founder that dies in the first has 1.
    """
    terminated, truncated = world.columns.terminated[agent.row], world.columns.truncated[agent.row]
    if not (terminated or truncated):
        return {}
    return {
        "final_cumulative_reward": agent.cumulative_reward,
        "lifetime_steps": int(world.tick[0]) - agent.birth_tick,
        "parent_id": agent.parents[0] if agent.parents else None,
        "species": world.spec.groups[agent.group].name,
    }


class DefaultInfoProvider:
    """Name agents `group_uid`, and give infos at the end of a life only."""

    observation_bounds = (float("-inf"), float("inf"))
    needs_events = False

    def make_name(self, group: str, number: int, uid: int) -> str:  # noqa: ARG002 - part of the contract
        """Return `group_uid`, which is unique because uids are never reused."""
        return f"{group}_{uid}"

    def infos(self, world: World, agents: Mapping[int, AgentEntry]) -> Infos:
        """Return the final infos, with the names of all parents."""
        infos: Infos = {}
        for uid, agent in agents.items():
            info = make_final_info(world, agent)
            if info:
                infos[uid] = info | {"parent_ids": agent.parents}
        return infos

    def world_info(self, world: World) -> dict[str, Any]:
        """Return the counters of the world."""
        return {name: count[0].item() for name, count in world.counters().items()}

    def make_log(self, world: World) -> AdapterLog | None:  # noqa: ARG002 - part of the contract
        """Return None: worlds keep no log unless their provider has one."""
        return None
