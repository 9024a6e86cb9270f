"""What came of every life: who played it, how long it lived, what it earned."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinfolk.core.arrays import Bools, Ints
from kinfolk.play.assignment import RowState
from kinfolk.worlds.base import World


class AgentLifetime(NamedTuple):
    """One life in one episode; `group` and `slot` are numbers."""

    uid: int
    group: int
    slot: int
    birth_tick: int  # the tick it was first asked in, counted from 0
    ticks: int  # how long it was asked
    total_reward: float


class AgentLog:
    """Collects lives as they end, by episode."""

    def __init__(self) -> None:
        self._records: dict[int, list[AgentLifetime]] = {}

    def record_ended(
        self, world: World, row_state: RowState, episodes: Ints, active: Bools
    ) -> None:
        """After a step: write down whose life has ended, and in worlds that are done, all."""
        columns, rows = world.columns, world.spec.rows
        over = columns.terminated | (np.repeat(world.done, rows) & columns.alive)
        over &= np.repeat(active, rows) & (row_state.uid == columns.uid) & (columns.uid >= 0)
        for place in np.flatnonzero(over).tolist():
            game = place // rows
            ticks = int(row_state.n_steps[place])
            life = AgentLifetime(
                uid=int(columns.uid[place]),
                group=int(columns.group[place]),
                slot=int(row_state.slot[place]),
                birth_tick=int(world.tick[game]) - ticks,
                ticks=ticks,
                total_reward=float(row_state.total_reward[place]),
            )
            self._records.setdefault(int(episodes[game]), []).append(life)

    def pop_episode(self, episode: int) -> list[AgentLifetime]:
        """The lives of an episode that is over, by uid; they are forgotten here."""
        return sorted(self._records.pop(episode, []))
