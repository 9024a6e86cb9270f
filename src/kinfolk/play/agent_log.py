"""Logs of agents: a record of every agent that acted, and the births and deaths of a world."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, get_type_hints

import numpy as np

from kinfolk.core.arrays import Bools, Ints
from kinfolk.play.assignment import RowState
from kinfolk.worlds.base import World, WorldEvent


class AgentRecord(NamedTuple):
    """One agent of one episode."""

    uid: int
    group: int  # index
    slot: int  # index
    birth_tick: int  # tick of its first action, counted from 0
    ticks: int  # number of its actions
    total_reward: float


# The fields of a record and the types of their columns.
AGENT_COLUMNS = {
    name: "float64" if hint is float else "int64"
    for name, hint in get_type_hints(AgentRecord).items()
}


class AgentLog:
    """Collects a record of each agent of a batch when it dies or its episode ends."""

    def __init__(self) -> None:
        self._records: dict[int, list[AgentRecord]] = {}

    def update(self, world: World, row_state: RowState, playing: Bools) -> None:
        """Record the agents that died, or whose episode ended, in the last step.

        Args:
            world: The batch of worlds, after the step.
            row_state: The loop's state of every row of the batch.
            playing: `[worlds]`, True for worlds that took part in the step.
        """
        columns, rows = world.columns, world.spec.rows
        ended = columns.terminated | (np.repeat(world.done, rows) & columns.alive)
        ended &= np.repeat(playing, rows) & (row_state.uid == columns.uid) & (columns.uid >= 0)
        for index in np.flatnonzero(ended).tolist():
            world_index = index // rows
            ticks = int(row_state.n_steps[index])
            record = AgentRecord(
                uid=int(columns.uid[index]),
                group=int(columns.group[index]),
                slot=int(row_state.slot[index]),
                birth_tick=int(world.tick[world_index]) - ticks,
                ticks=ticks,
                total_reward=float(row_state.total_reward[index]),
            )
            self._records.setdefault(world_index, []).append(record)

    def take(self, world: int) -> list[AgentRecord]:
        """Remove and return the records of a world's ended episode, sorted by uid."""
        return sorted(self._records.pop(world, []))


class Birth(NamedTuple):
    """The first tick in which an agent exists; the parents of an initial agent are -1."""

    uid: int
    tick: int
    group: int
    parents: tuple[int, int]


class Death(NamedTuple):
    """The tick in which an agent died, and the cause in the world's terms."""

    uid: int
    tick: int
    cause: str


class BirthDeathLog:
    """Collects the births and deaths of a single world in order of time.

    Agents that die before they act are included. Causes of death are known only while the world
    records its events (`World.record_events`).
    """

    def __init__(self) -> None:
        self.births: list[Birth] = []
        self.deaths: list[Death] = []
        self._known: Bools = np.zeros(1024, dtype=np.bool_)  # by uid

    def add_births(self, world: World) -> None:
        """Add the agents that exist now and are not in the log yet."""
        columns, tick = world.columns, int(world.tick[0])
        highest = int(columns.uid.max(initial=0))
        if highest >= len(self._known):
            self._known = np.concatenate([self._known, np.zeros(2 * highest, dtype=np.bool_)])
        indices: Ints = np.flatnonzero((columns.uid >= 0) & ~self._known[columns.uid])
        for index in indices.tolist():
            uid = int(columns.uid[index])
            self._known[uid] = True
            first, second = columns.parents[index].tolist()
            self.births.append(Birth(uid, tick, int(columns.group[index]), (first, second)))

    def add_deaths(self, world: World, events: Iterable[WorldEvent]) -> None:
        """Add the agents that died in the last step, with the causes that `events` of the world give."""
        tick = int(world.tick[0])
        causes = {event.uid: event.note for event in events if event.kind == "death"}
        for uid in world.columns.uid[world.columns.terminated].tolist():
            self.deaths.append(Death(uid, tick, causes.get(uid) or "ended"))

    def clear(self) -> None:
        """Drop the collected births and deaths, but remember which agents were born."""
        self.births, self.deaths = [], []
