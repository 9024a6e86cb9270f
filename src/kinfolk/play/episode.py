"""The episode loop: batched worlds, slots of policies, memory in place, endings delivered.

One `tick` is: worlds that have ended begin their next episode; new lives are seated; every slot is
asked before the first answer is taken; the worlds step; what they show next is written. Between
two ticks the last observations of ended lives and episodes can still be read.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays, Bools, Bytes, Ints
from kinfolk.core.errors import ContractError, KinfolkError, PolicyFailedError
from kinfolk.core.keys import WORLD_BRANCH, episode_key, fold
from kinfolk.core.tracebacks import explain
from kinfolk.play.lives import LifeLog
from kinfolk.play.packing import pack, unpack
from kinfolk.play.seating import (
    count_rewards,
    empty_lists,
    empty_seats,
    empty_tally,
    gather_rows,
    rows_of,
    scatter_actions,
    seat_rows,
)
from kinfolk.play.slots import Slot
from kinfolk.policies.base import Rows, allocate
from kinfolk.worlds.base import World


@dataclass(frozen=True)
class EpisodeResult:
    """What came of one episode. It follows from the seed and its number alone."""

    episode: int
    ticks: int
    full_length: bool  # it came to the world's limit of time
    returns: dict[str, float]  # per slot, summed over its lives
    lives: dict[str, int]  # per slot
    ticks_lived: dict[str, int]  # per slot, summed over its lives
    group_lives: dict[str, int]  # per group, ever alive
    mean_alive: dict[str, float]  # per group, over the episode's ticks
    counters: dict[str, float]


class Play:
    """Plays some episodes of `seed` on a batch of worlds.

    Episodes are handed to worlds as these become free; which world plays which has no effect.

    Args:
        world: The batch. It is reset here.
        slots: Who plays.
        table: `[groups, rows]`, which slot plays whom; see `slot_table`.
        seed: Where all chance comes from.
        episodes: Their numbers. With as many worlds, each plays the one in its place; then a
            number may stand twice, such as for two line-ups on the same map.
        members: `[worlds, rows]`, which member of its policy's population plays a row.
        inherit_slot: A newborn is played by its first parent's slot, not by its group's.
        lives: Where every life is written down when it ends, if anybody wants to know.
    """

    def __init__(
        self,
        world: World,
        slots: Sequence[Slot],
        table: Ints,
        seed: int,
        episodes: Sequence[int],
        members: Ints | None = None,
        inherit_slot: bool = False,
        lives: LifeLog | None = None,
    ) -> None:
        places = world.worlds * world.spec.rows
        self.world, self.slots, self.seed = world, tuple(slots), seed
        policies = [id(slot.policy) for slot in slots]
        self._shared = {i for i, one in enumerate(policies) if one in policies[i + 1 :]}
        self.memory = [allocate(slot.policy.memory, places) for slot in slots]
        self.observations: Bytes = np.zeros((places, world.spec.row_bytes), dtype=np.uint8)
        self.actions: Ints = np.zeros((places, world.spec.heads), dtype=np.int64)
        self._words = self.observations.view(np.uint64)
        self._gathered = [np.empty_like(self.observations) for _ in slots]
        self._table = np.ascontiguousarray(table, dtype=np.int64)
        shape = (world.worlds, world.spec.rows)
        self._members = np.zeros(shape, np.int64) if members is None else members.astype(np.int64)
        self._inherit = inherit_slot
        self._log = lives
        self.seats = empty_seats(places)
        self.lists = empty_lists(len(slots), places)
        self.tally = empty_tally(world.worlds, len(slots), len(world.spec.groups))
        self._episode = np.full(world.worlds, -1, dtype=np.int64)
        self._episode_key = np.zeros(world.worlds, dtype=np.int64)
        self._idle = np.ones(world.worlds, dtype=np.bool_)  # plays no episode at the moment
        self._numbers = episodes  # a range may be endless in all but name: it is not written out
        self._next = np.array([0, len(episodes)], dtype=np.int64)

    @property
    def episode(self) -> Ints:
        """`[W]`: the episode that each world plays, or played last."""
        return self._episode

    @property
    def resting(self) -> Bools:
        """`[W]`: which worlds play no episode at the moment."""
        return self._idle

    @property
    def members(self) -> Ints:
        """`[W, rows]`: which member of its policy's population plays a life that begins.

        May be written; it counts for lives that begin from then on.
        """
        return self._members

    @property
    def over(self) -> bool:
        """Whether every episode has been played to its end."""
        return bool(self._next[0] == self._next[1] and self._idle.all())

    def tick(self) -> list[EpisodeResult]:
        """Play one tick in every world; return the episodes that ended in it."""
        self.begin()
        seat_rows(
            self.seats, self.lists, self.tally, self.world.columns, self._idle,
            self._episode_key, self._table, self._members, self._inherit,
        )  # fmt: skip
        counts = self.lists.asked.tolist()
        asked = [(index, rows_of(self.lists, index)) for index, n in enumerate(counts) if n]
        early = {}
        for index, rows in asked:
            with self._blaming(index, "ask"):
                self._ask(index, rows)
                if index in self._shared:  # its policy is asked again before answers are taken
                    early[index] = self._answer(index, rows).copy()
        for index, rows in asked:
            with self._blaming(index, "answer"):
                answer = early[index] if index in early else self._answer(index, rows)
                scatter_actions(self.actions, rows.place, answer)
        self.world.step(self.actions)
        self.world.observe(self.observations)
        lists, earned, returns = self.lists, self.seats.earned, self.tally.returns
        reward = self.world.columns.reward
        count_rewards(lists.asked, lists.place, lists.world, earned, returns, reward)
        if self._log is not None:
            self._log.harvest(self.world, self.seats, self._episode, ~self._idle)
        return self._finish_episodes()

    def begin(self) -> None:
        """Start the next episodes in worlds that have none. `tick` does it by itself."""
        waiting = np.flatnonzero(self._idle)[: int(self._next[1] - self._next[0])]
        if not len(waiting):
            return
        first = int(self._next[0])
        self._episode[waiting] = self._numbers[first : first + len(waiting)]
        self._next[0] += len(waiting)
        for world in waiting:
            self._episode_key[world] = episode_key(self.seed, int(self._episode[world]))
        self._idle[waiting] = False
        for total in self.tally:
            total[waiting] = 0
        self.seats.uid.reshape(self.world.worlds, -1)[waiting] = -1
        self.world.reset(fold(self._episode_key[waiting], WORLD_BRANCH), waiting)
        self.world.observe(self.observations, waiting)

    @contextmanager
    def _blaming(self, index: int, method: str) -> Iterator[None]:
        """Name the slot whose policy raised."""
        try:
            yield
        except KinfolkError:
            raise
        except Exception as error:
            what, where, _ = explain(error)
            raise PolicyFailedError(
                f"Slot '{self.slots[index].id}' failed in {method}: {what} ({where})"
            ) from error

    def _ask(self, index: int, rows: Rows) -> None:
        policy, memory = self.slots[index].policy, self.memory[index]
        keys = self.lists.key[index, : len(rows.place)]
        starting = self.lists.fresh[index]
        if starting:
            at = self.lists.fresh_at[index, :starting]
            fresh = Rows(*(column[at] for column in rows))
            for array in memory.values():
                array[fresh.place] = 0
            policy.begin(fresh, memory, self.seats.key[fresh.place])
        seen = self._gathered[index][: len(rows.place)]
        gather_rows(self._words, rows.place, seen.view(np.uint64))
        policy.ask(seen, rows, memory, keys)

    def _answer(self, index: int, rows: Rows) -> Ints:
        actions = self.slots[index].policy.answer()
        shape = (len(rows.place), self.actions.shape[1])
        if getattr(actions, "shape", None) != shape or actions.dtype.kind not in "iu":
            raise ContractError(
                f"Slot '{self.slots[index].id}' answered with "
                f"{getattr(actions, 'dtype', type(actions).__name__)} of shape "
                f"{getattr(actions, 'shape', None)}; whole numbers of shape {shape} were asked for."
            )
        return np.ascontiguousarray(actions, dtype=np.int64)

    def _finish_episodes(self) -> list[EpisodeResult]:
        ended = np.flatnonzero(self.world.done & ~self._idle)
        if not len(ended):
            return []
        self._idle[ended] = True
        counters = self.world.counters()
        slots = [slot.id for slot in self.slots]
        groups = [group.name for group in self.world.spec.groups]
        tally, ticks = self.tally, self.world.tick
        alive = tally.group_ticks / np.maximum(ticks, 1)[:, None]

        def named(names: list[str], total: AnyArray, world: int) -> dict[str, Any]:
            return dict(zip(names, total[world].tolist(), strict=True))

        return [
            EpisodeResult(
                int(self._episode[world]),
                int(ticks[world]),
                bool(ticks[world] >= self.world.spec.max_ticks),
                returns=named(slots, tally.returns, world),
                lives=named(slots, tally.lives, world),
                ticks_lived=named(slots, tally.ticks_lived, world),
                group_lives=named(groups, tally.group_lives, world),
                mean_alive=named(groups, alive, world),
                counters={name: value[world].item() for name, value in counters.items()},
            )
            for world in ended.tolist()
        ]

    def snapshot(self) -> dict[str, AnyArray]:
        """Everything that the next tick depends on, copied; names are paths."""
        return {name: array.copy() for name, array in self._arrays().items()} | self._world()

    def packed(self) -> dict[str, AnyArray]:
        """A snapshot that is as small as can be, for another process; `restore` takes it too."""
        return pack(self._arrays()) | self._world()

    def restore(self, snapshot: Arrays) -> None:
        """Go on from a snapshot of a loop of the same shape.

        Raises:
            ContractError: It was taken of other worlds or other slots.
        """
        unpack(snapshot, self._arrays())
        prefix = "world/"
        inside = {k.removeprefix(prefix): v for k, v in snapshot.items() if k.startswith(prefix)}
        self.world.restore(inside)

    def _world(self) -> dict[str, AnyArray]:
        return {f"world/{name}": array for name, array in self.world.snapshot().items()}

    def _arrays(self) -> dict[str, AnyArray]:
        own: dict[str, AnyArray] = {
            "observations": self.observations, "actions": self.actions, "episode": self._episode,
            "episode_key": self._episode_key, "idle": self._idle, "next": self._next,
        }  # fmt: skip
        own |= {f"seats/{name}": array for name, array in self.seats._asdict().items()}
        own |= {f"tally/{name}": array for name, array in self.tally._asdict().items()}
        for slot, memory in zip(self.slots, self.memory, strict=True):
            own |= {f"memory/{slot.id}/{name}": array for name, array in memory.items()}
        return own


def play_episodes(play: Play) -> Iterator[EpisodeResult]:
    """Play to the end, yielding results in the order in which the episodes were given."""
    waiting: dict[int, EpisodeResult] = {}
    due = deque(play._numbers[int(play._next[0]) :])
    while not play.over:
        waiting |= {result.episode: result for result in play.tick()}
        while due and due[0] in waiting:
            yield waiting.pop(due.popleft())
