"""Logs of agents: what came of every agent that was played, and who was born and died when."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, get_type_hints

import numpy as np

from kinfolk.core.arrays import Bools, Ints
from kinfolk.play.assignment import RowState
from kinfolk.worlds.base import World, WorldEvent


class AgentRecord(NamedTuple):
    """One agent in one episode; `group` and `slot` are numbers."""

    uid: int
    group: int
    slot: int
    born: int  # the tick in which it first acted, counted from 0
    ticks: int  # how often it acted
    earned: float


# The fields of a record and the types of their columns.
AGENT_COLUMNS = {
    name: "float64" if hint is float else "int64"
    for name, hint in get_type_hints(AgentRecord).items()
}


class AgentLog:
    """Collects a record of each agent when it dies or its episode ends, by world of the batch."""

    def __init__(self) -> None:
        self._records: dict[int, list[AgentRecord]] = {}

    def update(self, world: World, seats: RowState, playing: Bools) -> None:
        """Record the agents whose lives ended in the last step.

        Args:
            world: The batch, after the step.
            seats: What the loop knows of each place.
            playing: `[worlds]`, which of them played this step.
        """
        columns, rows = world.columns, world.spec.rows
        over = columns.terminated | (np.repeat(world.done, rows) & columns.alive)
        over &= np.repeat(playing, rows) & (seats.uid == columns.uid) & (columns.uid >= 0)
        for place in np.flatnonzero(over).tolist():
            index = place // rows
            ticks = int(seats.n_steps[place])
            record = AgentRecord(
                uid=int(columns.uid[place]),
                group=int(columns.group[place]),
                slot=int(seats.slot[place]),
                born=int(world.tick[index]) - ticks,
                ticks=ticks,
                earned=float(seats.total_reward[place]),
            )
            self._records.setdefault(index, []).append(record)

    def take(self, world: int) -> list[AgentRecord]:
        """Return the records of a world's episode that has ended, by uid, and forget them."""
        return sorted(self._records.pop(world, []))


class Birth(NamedTuple):
    """An agent is there for the first time; a founder's parents are -1."""

    uid: int
    tick: int
    group: int
    parents: tuple[int, int]


class Death(NamedTuple):
    """An agent's life has ended, by a cause that the world names."""

    uid: int
    tick: int
    cause: str


class BirthDeathLog:
    """Collects the births and deaths of one world, in the order of time.

    Agents that never act are in it too. Causes of deaths are known while the world records its
    events (`World.watch`).
    """

    def __init__(self) -> None:
        self.births: list[Birth] = []
        self.deaths: list[Death] = []
        self._known: Bools = np.zeros(1024, dtype=np.bool_)  # by uid

    def add_births(self, world: World) -> None:
        """Note the agents that were not there before."""
        columns, tick = world.columns, int(world.tick[0])
        highest = int(columns.uid.max(initial=0))
        if highest >= len(self._known):
            self._known = np.concatenate([self._known, np.zeros(2 * highest, dtype=np.bool_)])
        places: Ints = np.flatnonzero((columns.uid >= 0) & ~self._known[columns.uid])
        for place in places.tolist():
            uid = int(columns.uid[place])
            self._known[uid] = True
            first, second = columns.parents[place].tolist()
            self.births.append(Birth(uid, tick, int(columns.group[place]), (first, second)))

    def add_deaths(self, world: World, events: Iterable[WorldEvent]) -> None:
        """Note the agents whose lives ended in the last step; `events` are those of the world."""
        tick = int(world.tick[0])
        causes = {event.uid: event.note for event in events if event.kind == "death"}
        for uid in world.columns.uid[world.columns.terminated].tolist():
            self.deaths.append(Death(uid, tick, causes.get(uid) or "ended"))

    def clear(self) -> None:
        """Forget what was collected, but not which agents are known."""
        self.births, self.deaths = [], []
