"""What came of every life: who played it, how long it lived, what it earned."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinfolk.core.arrays import Bools, Ints
from kinfolk.play.seating import Seats
from kinfolk.worlds.base import World


class Life(NamedTuple):
    """One life in one episode; `group` and `slot` are numbers."""

    uid: int
    group: int
    slot: int
    born: int  # the tick it was first asked in, counted from 0
    ticks: int  # how long it was asked
    earned: float


class LifeLog:
    """Collects lives as they end, by episode."""

    def __init__(self) -> None:
        self._lives: dict[int, list[Life]] = {}

    def harvest(self, world: World, seats: Seats, episodes: Ints, playing: Bools) -> None:
        """After a step: write down whose life has ended, and in worlds that are done, all."""
        columns, rows = world.columns, world.spec.rows
        over = columns.terminated | (np.repeat(world.done, rows) & columns.alive)
        over &= np.repeat(playing, rows) & (seats.uid == columns.uid) & (columns.uid >= 0)
        for place in np.flatnonzero(over).tolist():
            game = place // rows
            ticks = int(seats.age[place])
            life = Life(
                uid=int(columns.uid[place]),
                group=int(columns.group[place]),
                slot=int(seats.slot[place]),
                born=int(world.tick[game]) - ticks,
                ticks=ticks,
                earned=float(seats.earned[place]),
            )
            self._lives.setdefault(int(episodes[game]), []).append(life)

    def take(self, episode: int) -> list[Life]:
        """The lives of an episode that is over, by uid; they are forgotten here."""
        return sorted(self._lives.pop(episode, []))
