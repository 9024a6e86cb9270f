"""The episode loop: batched worlds, slots of policies, memory in place, endings delivered.

One `tick` is: worlds that have ended begin their next episode; new lives are seated; every slot is
asked before the first answer is taken; the worlds step; what they show next is written. Between
two ticks the last observations of ended lives and episodes can still be read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays, Bools, Bytes, Ints
from kinfolk.core.errors import ContractError, KinfolkError, PolicyFailedError
from kinfolk.core.random import WORLD_STREAM, episode_key, fold_in
from kinfolk.core.tracebacks import summarize_error
from kinfolk.play.agent_log import AGENT_COLUMNS, AgentLog
from kinfolk.play.assignment import (
    accumulate_rewards,
    assign_rows,
    empty_row_state,
    empty_slot_rows,
    empty_totals,
    gather_observations,
    get_slot_batch,
    scatter_actions,
)
from kinfolk.play.results import EpisodeResult
from kinfolk.play.slots import LoadedSlot
from kinfolk.play.sparse_snapshot import pack_sparse, unpack_sparse
from kinfolk.policies.base import AgentBatch, allocate_memory
from kinfolk.worlds.base import World


class EpisodeLoop:
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
        agents: Where every agent is recorded when its life ends; None: nowhere.
    """

    def __init__(
        self,
        world: World,
        slots: Sequence[LoadedSlot],
        assignment: Ints,
        seed: int,
        episodes: Sequence[int],
        members: Ints | None = None,
        inherit_slot: bool = False,
        agents: AgentLog | None = None,
    ) -> None:
        places = world.n_worlds * world.spec.rows
        self.world, self.slots, self.seed = world, tuple(slots), seed
        policies = [id(slot.policy) for slot in slots]
        self._shared_policy_slots = {
            i for i, one in enumerate(policies) if one in policies[i + 1 :]
        }
        self.memory = [allocate_memory(slot.policy.memory_layout, places) for slot in slots]
        self.observations: Bytes = np.zeros((places, world.spec.row_bytes), dtype=np.uint8)
        self.actions: Ints = np.zeros((places, world.spec.n_heads), dtype=np.int64)
        self._observation_words = self.observations.view(np.uint64)
        self._gathered_observations = [np.empty_like(self.observations) for _ in slots]
        self._assignment = np.ascontiguousarray(assignment, dtype=np.int64)
        shape = (world.n_worlds, world.spec.rows)
        self._members = np.zeros(shape, np.int64) if members is None else members.astype(np.int64)
        self._inherit_slot = inherit_slot
        self._agent_log = agents
        self.row_state = empty_row_state(places)
        self.slot_rows = empty_slot_rows(len(slots), places)
        self.totals = empty_totals(world.n_worlds, len(slots), len(world.spec.groups))
        self._episode = np.full(world.n_worlds, -1, dtype=np.int64)
        self._episode_key = np.zeros(world.n_worlds, dtype=np.int64)
        self._idle = np.ones(world.n_worlds, dtype=np.bool_)  # plays no episode at the moment
        self._episode_numbers = (
            episodes  # a range may be endless in all but name: it is not written out
        )
        self._episode_cursor = np.array([0, len(episodes)], dtype=np.int64)

    @property
    def episode(self) -> Ints:
        """`[W]`: the episode that each world plays, or played last."""
        return self._episode

    @property
    def idle(self) -> Bools:
        """`[W]`: which worlds play no episode at the moment."""
        return self._idle

    @property
    def members(self) -> Ints:
        """`[W, rows]`: which member of its policy's population plays a life that begins.

        May be written; it counts for lives that begin from then on.
        """
        return self._members

    @property
    def is_done(self) -> bool:
        """Whether every episode has been played to its end."""
        return bool(self._episode_cursor[0] == self._episode_cursor[1] and self._idle.all())

    def tick(self) -> list[EpisodeResult]:
        """Play one tick in every world; return the episodes that ended in it."""
        self.start_episodes()
        return self.step()

    def step(self) -> list[EpisodeResult]:
        """Play one tick in the worlds that have an episode; return the episodes that ended."""
        assign_rows(
            self.row_state, self.slot_rows, self.totals, self.world.columns, self._idle,
            self._episode_key, self._assignment, self._members, self._inherit_slot,
        )  # fmt: skip
        counts = self.slot_rows.n_rows.tolist()
        asked = [
            (index, get_slot_batch(self.slot_rows, index)) for index, n in enumerate(counts) if n
        ]
        early = {}
        for index, rows in asked:
            with self._naming_slot(index, "act_async"):
                self._ask_slot(index, rows)
                if (
                    index in self._shared_policy_slots
                ):  # its policy is asked again before answers are taken
                    early[index] = self._take_answer(index, rows).copy()
        for index, rows in asked:
            with self._naming_slot(index, "act_wait"):
                answer = early[index] if index in early else self._take_answer(index, rows)
                scatter_actions(self.actions, rows.memory_index, answer)
        self.world.step(self.actions)
        self.world.observe(self.observations)
        lists, earned, returns = self.slot_rows, self.row_state.total_reward, self.totals.returns
        reward = self.world.columns.reward
        accumulate_rewards(lists.n_rows, lists.memory_index, lists.world, earned, returns, reward)
        if self._agent_log is not None:
            self._agent_log.update(self.world, self.row_state, ~self._idle)
        return self._finish_episodes()

    def start_episodes(self) -> None:
        """Start the next episodes in worlds that have none. `tick` does it by itself."""
        waiting = np.flatnonzero(self._idle)[
            : int(self._episode_cursor[1] - self._episode_cursor[0])
        ]
        if not len(waiting):
            return
        first = int(self._episode_cursor[0])
        self._episode[waiting] = self._episode_numbers[first : first + len(waiting)]
        self._episode_cursor[0] += len(waiting)
        for world in waiting:
            self._episode_key[world] = episode_key(self.seed, int(self._episode[world]))
        self._idle[waiting] = False
        for total in self.totals:
            total[waiting] = 0
        self.row_state.uid.reshape(self.world.n_worlds, -1)[waiting] = -1
        self.world.reset(fold_in(self._episode_key[waiting], WORLD_STREAM), waiting)
        self.world.observe(self.observations, waiting)

    @contextmanager
    def _naming_slot(self, index: int, method: str) -> Iterator[None]:
        """Name the slot whose policy raised."""
        try:
            yield
        except KinfolkError:
            raise
        except Exception as error:
            what, where, _ = summarize_error(error)
            raise PolicyFailedError(
                f"Slot '{self.slots[index].id}' failed in {method}: {what} ({where})"
            ) from error

    def _ask_slot(self, index: int, batch: AgentBatch) -> None:
        policy, memory = self.slots[index].policy, self.memory[index]
        keys = self.slot_rows.key[index, : len(batch.memory_index)]
        starting = self.slot_rows.n_new[index]
        if starting:
            at = self.slot_rows.new_entries[index, :starting]
            fresh = AgentBatch(*(column[at] for column in batch))
            for array in memory.values():
                array[fresh.memory_index] = 0
            policy.reset_agents(fresh, memory, self.row_state.key[fresh.memory_index])
        seen = self._gathered_observations[index][: len(batch.memory_index)]
        gather_observations(self._observation_words, batch.memory_index, seen.view(np.uint64))
        policy.act_async(seen, batch, memory, keys)

    def _take_answer(self, index: int, batch: AgentBatch) -> Ints:
        actions = self.slots[index].policy.act_wait()
        shape = (len(batch.memory_index), self.actions.shape[1])
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
        return [self._result(world, counters) for world in ended.tolist()]

    def _result(self, world: int, counters: Mapping[str, AnyArray]) -> EpisodeResult:
        """Return what came of the episode that has just ended in a world."""
        slots = [slot.id for slot in self.slots]
        groups = [group.name for group in self.world.spec.groups]
        tally, ticks, number = self.totals, int(self.world.tick[world]), int(self._episode[world])

        def named(names: list[str], totals: AnyArray) -> dict[str, Any]:
            return dict(zip(names, totals.tolist(), strict=True))

        logged: dict[str, Any] = {}
        if self._agent_log is not None:
            records = self._agent_log.take(world)
            earned = dict.fromkeys(groups, 0.0)
            for record in records:
                earned[groups[record.group]] += record.earned
            columns = {n: [getattr(record, n) for record in records] for n in AGENT_COLUMNS}
            logged = {"group_returns": earned, "agents": columns if records else {}}
        return EpisodeResult(
            episode=number,
            ticks=ticks,
            full_length=ticks >= self.world.spec.max_ticks,
            returns=named(slots, tally.returns[world]),
            lives=named(slots, tally.lives[world]),
            ticks_lived=named(slots, tally.ticks_lived[world]),
            group_lives=named(groups, tally.group_lives[world]),
            mean_alive=named(groups, tally.group_ticks[world] / max(ticks, 1)),
            counters={name: value[world].item() for name, value in counters.items()},
            seed=int(self._episode_key[world]),
            **logged,
        )

    def snapshot(self) -> dict[str, AnyArray]:
        """Everything that the next tick depends on, copied; names are paths."""
        return {
            name: array.copy() for name, array in self._state_arrays().items()
        } | self._world_arrays()

    def sparse_snapshot(self) -> dict[str, AnyArray]:
        """A snapshot that is as small as can be, for another process; `restore` takes it too."""
        return pack_sparse(self._state_arrays()) | self._world_arrays()

    def restore(self, snapshot: Arrays) -> None:
        """Go on from a snapshot of a loop of the same shape.

        Raises:
            ContractError: It was taken of other worlds or other slots.
        """
        unpack_sparse(snapshot, self._state_arrays())
        prefix = "world/"
        inside = {k.removeprefix(prefix): v for k, v in snapshot.items() if k.startswith(prefix)}
        self.world.restore(inside)

    def _world_arrays(self) -> dict[str, AnyArray]:
        return {f"world/{name}": array for name, array in self.world.snapshot().items()}

    def _state_arrays(self) -> dict[str, AnyArray]:
        own: dict[str, AnyArray] = {
            "observations": self.observations, "actions": self.actions, "episode": self._episode,
            "episode_key": self._episode_key, "idle": self._idle, "next": self._episode_cursor,
        }  # fmt: skip
        own |= {f"row_state/{name}": array for name, array in self.row_state._asdict().items()}
        own |= {f"totals/{name}": array for name, array in self.totals._asdict().items()}
        for slot, memory in zip(self.slots, self.memory, strict=True):
            own |= {f"memory/{slot.id}/{name}": array for name, array in memory.items()}
        return own
