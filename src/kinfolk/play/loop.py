"""The episode loop: steps a batch of worlds with the policies of their slots.

A `tick` resets the worlds whose episode has ended, assigns new agents to slots, sends observations
to every slot before it waits for the first actions, steps the worlds and writes the next
observations. Between two ticks the final observations of dead agents and ended episodes can be read.

Arrays "by agent row" have one entry for each row of each world: index `world * rows + row`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays, Bools, Bytes, Ints
from kinfolk.core.errors import (
    ContractError,
    KinfolkError,
    PolicyFailedError,
    SettingsError,
    summarize_error,
)
from kinfolk.core.random import WORLD_STREAM, episode_key, fold_in
from kinfolk.play import assignment as kernels
from kinfolk.play.results import AGENT_COLUMNS, AgentLog, EpisodeResult
from kinfolk.play.slots import LoadedSlot
from kinfolk.policies.base import AgentAccounts, AgentBatch, FusedPlayer, allocate_memory
from kinfolk.worlds.base import World

# Each slot has memory for every row of the batch, but plays only some of them. Sent whole to another
# process, the map memories of six slots of CogsGuard are a hundred megabytes per task.
_SPARSE_PREFIX = "memory/"  # arrays that are packed
_ROWS_SUFFIX = "@rows"  # appended to the name of a packed array: its row indices


def pack_sparse(arrays: Arrays) -> dict[str, AnyArray]:
    """Return copies of arrays; those of policy memory with their nonzero rows only.

    >>> packed = pack_sparse({"memory/a/map": np.array([[0, 0], [3, 4], [0, 0]])})
    >>> packed["memory/a/map"].tolist(), packed["memory/a/map@rows"].tolist()
    ([[3, 4]], [1])
    """
    packed = {}
    for name, array in arrays.items():
        if not name.startswith(_SPARSE_PREFIX):
            packed[name] = array.copy()
            continue
        rows = np.flatnonzero(_nonzero_rows(array))
        packed[name], packed[name + _ROWS_SUFFIX] = array[rows], rows
    return packed


def unpack_sparse(packed: Arrays, arrays: Mapping[str, AnyArray]) -> None:
    """Write packed arrays into `arrays`; rows of memory that were not packed become zero.

    Raises:
        ContractError: An array is missing or has another shape.
    """
    for name, array in arrays.items():
        values, rows = packed.get(name), packed.get(name + _ROWS_SUFFIX)
        shape = array.shape if rows is None else (len(rows), *array.shape[1:])
        in_range = rows is None or (rows < len(array)).all()
        if values is None or values.shape != shape or not in_range:
            raise ContractError(f"The snapshot does not fit: '{name}' should be {array.shape}.")
        if rows is None:
            array[...] = values
        else:
            array[_nonzero_rows(array)] = 0
            array[rows] = values


def _nonzero_rows(array: AnyArray) -> Bools:
    """Return which rows of an array have a value other than zero, `[rows]`."""
    return np.asarray(array.reshape(len(array), -1).any(axis=1))


class EpisodeLoop:
    """Plays episodes on a batch of worlds.

    An idle world takes the next episode; which world plays which episode does not affect results.

    Args:
        world: The batch of worlds; the loop resets them.
        slots: The slots with their policies.
        assignment: `[groups, rows]`, index of the slot that plays a new agent of a group in a row;
            see `build_slot_assignment`.
        seed: Seed of all randomness.
        episodes: Numbers of the episodes. If there are as many as worlds, each world plays the one
            at its index; a number may then occur twice, such as for two teams on the same map.
        members: `[worlds, rows]`, member of the policy's population that plays each row; None: 0.
        inherit_slot: Whether a newborn is played by its first parent's slot instead of its group's.
        agent_log: Receives a record of every agent; None: agents are not logged.
        world_assignments: Assignments of single environments instead, by the environment's index.
        first_world: Index of the environment that is world 0 of the batch; None: every episode is an
            environment, and its number the index.
        founder_rows: Rows of the agents that a slot map lists; every episode must start with them.

    Attributes:
        episode: `[worlds]`, the episode that each world plays or played last; -1 before its first.
        idle: `[worlds]`, True for worlds that play no episode at the moment.
        members: `[worlds, rows]`, as the argument; may be written between ticks, but agents that
            already live keep their member.
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
        agent_log: AgentLog | None = None,
        world_assignments: Mapping[int, Ints] | None = None,
        first_world: int | None = None,
        founder_rows: Ints | None = None,
    ) -> None:
        n_agents = world.n_worlds * world.spec.rows
        self.world, self.slots, self.seed = world, tuple(slots), seed
        policy_ids = [id(slot.policy) for slot in slots]
        self._shared_policy_slots = {
            i for i, policy_id in enumerate(policy_ids) if policy_id in policy_ids[i + 1 :]
        }
        self.memory = [allocate_memory(slot.policy.memory_layout, n_agents) for slot in slots]
        self.observations: Bytes = np.zeros((n_agents, world.spec.row_bytes), dtype=np.uint8)
        self.actions: Ints = np.zeros((n_agents, world.spec.n_heads), dtype=np.int64)
        self._observation_words = self.observations.view(np.uint64)
        self._gathered_observations = [np.empty_like(self.observations) for _ in slots]
        by_environment = world_assignments or {}
        self._assignments: Ints = np.stack([assignment, *by_environment.values()]).astype(np.int64)
        self._map_of_environment = {index: 1 + i for i, index in enumerate(by_environment)}
        self._map_index: Ints = np.zeros(world.n_worlds, dtype=np.int64)
        self._first_world = first_world
        self._founder_rows = founder_rows
        shape = (world.n_worlds, world.spec.rows)
        self.members: Ints = (
            np.zeros(shape, np.int64) if members is None else members.astype(np.int64)
        )
        self._inherit_slot = inherit_slot
        self._agent_log = agent_log
        self.row_state = kernels.empty_row_state(n_agents)
        self.slot_rows = kernels.empty_slot_rows(len(slots), n_agents)
        self.totals = kernels.empty_totals(world.n_worlds, len(slots), len(world.spec.groups))
        self.episode: Ints = np.full(world.n_worlds, -1, dtype=np.int64)
        self._episode_key = np.zeros(world.n_worlds, dtype=np.int64)
        self.idle: Bools = np.ones(world.n_worlds, dtype=np.bool_)
        self._episode_numbers = episodes  # not copied to a list: a range may be very long
        # How many episodes have been started, and how many there are.
        self._cursor = np.array([0, len(episodes)], dtype=np.int64)
        self._fused: FusedPlayer | None = None
        self._accounts: AgentAccounts | None = None

    @property
    def is_done(self) -> bool:
        """Whether every episode has been played to its end."""
        return bool(self._cursor[0] == self._cursor[1] and self.idle.all())

    def tick(self) -> list[EpisodeResult]:
        """Play one tick in every world; return the episodes that ended in it."""
        self.start_episodes()
        return self.step()

    def step(self) -> list[EpisodeResult]:
        """Play one tick in the worlds that have an episode; return the episodes that ended."""
        kernels.assign_rows(
            self.row_state, self.slot_rows, self.totals, self.world.columns, self.world.living,
            self.idle, self._episode_key, self._assignments, self._map_index, self.members,
            self._inherit_slot,
        )  # fmt: skip
        slot_rows = self.slot_rows
        playing = np.flatnonzero(slot_rows.n_rows).tolist()
        batches = [(index, kernels.get_slot_batch(slot_rows, index)) for index in playing]
        early_actions: dict[int, Ints] = {}
        for index, batch in batches:
            with self._naming_slot(index, "act_async"):
                self._send_observations(index, batch)
                if index in self._shared_policy_slots:  # a later slot calls the same policy
                    early_actions[index] = self._receive_actions(index, batch).copy()
        for index, batch in batches:
            with self._naming_slot(index, "act_wait"):
                actions = early_actions.get(index)
                if actions is None:
                    actions = self._receive_actions(index, batch)
                kernels.scatter_actions(self.actions, batch.memory_index, actions)
        self.world.step(self.actions)
        self.world.observe(self.observations)
        kernels.accumulate_rewards(
            self.slot_rows.n_rows, self.slot_rows.memory_index, self.slot_rows.world,
            self.row_state.total_reward, self.totals.returns, self.world.columns.reward,
        )  # fmt: skip
        if self._agent_log is not None:
            self._agent_log.update(self.world, self.row_state, ~self.idle, self._find_slot)
        return self._finish_episodes()

    def fuse(self) -> None:
        """Let `play_ticks` play without Python, if the policy can; what is observed must not change."""
        make = getattr(self.slots[0].policy, "make_fused_player", None)
        if len(self.slots) > 1 or make is None:
            return
        row_state, totals, columns = self.row_state, self.totals, self.world.columns
        self._fused = make(self.world, self.memory[0], self.observations, self.actions)
        self._accounts = AgentAccounts(
            row_state.key, row_state.n_steps, row_state.total_reward, totals.returns,
            totals.ticks_lived, totals.group_ticks, columns.group, columns.reward, slot=0,
        )  # fmt: skip

    def play_ticks(self, most: int) -> tuple[int, list[EpisodeResult]]:
        """Play ticks without Python in between, to the end of the first episode at most.

        Args:
            most: The most ticks to play.

        Returns:
            The number of ticks, 0 if they must be played one by one (the loop is not fused, or agents
            are new), and the episodes that ended in the last of them.
        """
        worlds = np.flatnonzero(~self.idle)
        if self._fused is None or self._accounts is None or not len(worlds):
            return 0, []
        columns, shape = self.world.columns, (self.world.n_worlds, -1)
        is_known = columns.alive & (columns.uid == self.row_state.uid)
        left = self.world.spec.max_ticks - int(self.world.tick[worlds].max())
        n_ticks = min(most, left)
        if n_ticks < 1 or not is_known.reshape(shape)[worlds].all():
            return 0, []
        self._fused.play(self._accounts, worlds, n_ticks)
        if self._agent_log is not None:  # nobody is born or dies before the last tick
            self._agent_log.update(self.world, self.row_state, ~self.idle, self._find_slot)
        return n_ticks, self._finish_episodes()

    def start_episodes(self) -> None:
        """Start the next episodes in idle worlds; `tick` calls this itself."""
        first, end = self._cursor.tolist()
        idle_worlds = np.flatnonzero(self.idle)[: end - first]
        if not len(idle_worlds):
            return
        self.episode[idle_worlds] = self._episode_numbers[first : first + len(idle_worlds)]
        self._cursor[0] += len(idle_worlds)
        for world in idle_worlds:
            self._episode_key[world] = episode_key(self.seed, int(self.episode[world]))
        self.idle[idle_worlds] = False
        for total in self.totals:
            total[idle_worlds] = 0
        self.row_state.uid.reshape(self.world.n_worlds, -1)[idle_worlds] = -1
        self.world.reset(fold_in(self._episode_key[idle_worlds], WORLD_STREAM), idle_worlds)
        self.world.observe(self.observations, idle_worlds)
        self._choose_slot_maps()
        self._check_founders(idle_worlds)

    def _choose_slot_maps(self) -> None:
        """Write which slot map each world plays by."""
        if not self._map_of_environment:
            return
        for world, episode in enumerate(self.episode.tolist()):
            index = episode if self._first_world is None else self._first_world + world
            self._map_index[world] = self._map_of_environment.get(index, 0)

    def _check_founders(self, worlds: Ints) -> None:
        """Check that episodes that begin have exactly the agents that the slot map lists.

        Raises:
            SettingsError: An episode begins with other agents.
        """
        if self._founder_rows is None:
            return
        alive = self.world.columns.alive.reshape(self.world.n_worlds, -1)
        for world in worlds.tolist():
            rows = np.flatnonzero(alive[world])
            if not np.array_equal(rows, self._founder_rows):
                raise SettingsError(
                    f"The slot map lists the {len(self._founder_rows)} agents at the start, and episode "
                    f"{self.episode[world]} starts with {len(rows)}. Give a map of groups instead."
                )

    @contextmanager
    def _naming_slot(self, index: int, method: str) -> Iterator[None]:
        """Raise errors of a policy as `PolicyFailedError` with the name of its slot."""
        try:
            yield
        except KinfolkError:
            raise
        except Exception as error:
            message, location, _ = summarize_error(error)
            raise PolicyFailedError(
                f"Slot '{self.slots[index].id}' failed in {method}: {message} ({location})"
            ) from error

    def _send_observations(self, index: int, batch: AgentBatch) -> None:
        """Reset the memory of a slot's new agents and start the computation of its actions."""
        policy, memory = self.slots[index].policy, self.memory[index]
        keys = self.slot_rows.key[index, : len(batch.memory_index)]
        n_new = self.slot_rows.n_new[index]
        if n_new:
            entries = self.slot_rows.new_entries[index, :n_new]
            new_agents = AgentBatch(*(column[entries] for column in batch))
            for array in memory.values():
                array[new_agents.memory_index] = 0
            policy.reset_agents(new_agents, memory, self.row_state.key[new_agents.memory_index])
        observations = self._gathered_observations[index][: len(batch.memory_index)]
        kernels.gather_observations(
            self._observation_words, batch.memory_index, observations.view(np.uint64)
        )
        policy.act_async(observations, batch, memory, keys)

    def _receive_actions(self, index: int, batch: AgentBatch) -> Ints:
        """Wait for a slot's actions and check their shape and type."""
        actions = self.slots[index].policy.act_wait()
        shape = (len(batch.memory_index), self.actions.shape[1])
        if getattr(actions, "shape", None) != shape or actions.dtype.kind not in "iu":
            raise ContractError(
                f"Slot '{self.slots[index].id}' returned actions of type "
                f"{getattr(actions, 'dtype', type(actions).__name__)} and shape "
                f"{getattr(actions, 'shape', None)}; actions are whole numbers of shape {shape}."
            )
        return np.ascontiguousarray(actions, dtype=np.int64)

    def _find_slot(self, index: int) -> int:
        """Return the slot that plays the agent in a batch row, also one born in the last tick."""
        columns, rows = self.world.columns, self.world.spec.rows
        if self.row_state.uid[index] == columns.uid[index]:
            return int(self.row_state.slot[index])
        row, parent_row = index % rows, int(columns.parent_rows[index, 0])
        if self._inherit_slot and parent_row >= 0:
            return int(self.row_state.slot[index - row + parent_row])
        assignment = self._assignments[self._map_index[index // rows]]
        return int(assignment[columns.group[index], row])

    def _finish_episodes(self) -> list[EpisodeResult]:
        """Make worlds idle whose episode has just ended, and return the results."""
        ended = np.flatnonzero(self.world.done & ~self.idle)
        if not len(ended):
            return []
        self.idle[ended] = True
        for index, slot in enumerate(self.slots):
            if hasattr(slot.policy, "end_episode"):
                with self._naming_slot(index, "end_episode"):
                    for world in ended.tolist():
                        slot.policy.end_episode(self.world, world, self.memory[index])
        counters = self.world.counters()
        return [self._build_result(world, counters) for world in ended.tolist()]

    def _build_result(self, world: int, counters: Mapping[str, AnyArray]) -> EpisodeResult:
        """Return the result of the episode that has just ended in a world."""
        slots = [slot.id for slot in self.slots]
        groups = [group.name for group in self.world.spec.groups]
        totals, ticks, episode = self.totals, int(self.world.tick[world]), int(self.episode[world])

        def by_name(names: list[str], values: AnyArray) -> dict[str, Any]:
            """Return the values of a world by name, as plain Python numbers."""
            return dict(zip(names, values.tolist(), strict=True))

        log_fields: dict[str, Any] = {}
        if self._agent_log is not None:
            records = self._agent_log.take(world)
            group_returns = dict.fromkeys(groups, 0.0)
            for record in records:
                group_returns[groups[record.group]] += record.total_reward
            columns = {n: [getattr(record, n) for record in records] for n in AGENT_COLUMNS}
            log_fields = {
                "group_returns": group_returns,
                "agents": columns if records else {},
                "slot_counters": self._agent_log.take_counts(world),
            }
        return EpisodeResult(
            episode=episode,
            ticks=ticks,
            max_ticks=self.world.spec.max_ticks,
            full_length=ticks >= self.world.spec.max_ticks,
            returns=by_name(slots, totals.returns[world]),
            lives=by_name(slots, totals.lives[world]),
            ticks_lived=by_name(slots, totals.ticks_lived[world]),
            group_lives=by_name(groups, totals.group_lives[world]),
            mean_alive=by_name(groups, totals.group_ticks[world] / max(ticks, 1)),
            counters={name: value[world].item() for name, value in counters.items()},
            seed=int(self._episode_key[world]),
            **log_fields,
        )

    def snapshot(self) -> dict[str, AnyArray]:
        """Return copies of all arrays that the next tick depends on, by path-like names."""
        state = self._state_arrays()
        return {name: array.copy() for name, array in state.items()} | self._world_arrays()

    def sparse_snapshot(self) -> dict[str, AnyArray]:
        """Return a snapshot without zero rows of memory, to be sent to another process."""
        return pack_sparse(self._state_arrays()) | self._world_arrays()

    def restore(self, snapshot: Arrays) -> None:
        """Continue from a snapshot of a loop with the same worlds and slots, sparse or not.

        Raises:
            ContractError: The snapshot is of other worlds or slots.
        """
        unpack_sparse(snapshot, self._state_arrays())
        world_arrays = {k: array for k, array in snapshot.items() if k.startswith("world/")}
        self.world.restore({k.removeprefix("world/"): a for k, a in world_arrays.items()})
        self._choose_slot_maps()

    def _world_arrays(self) -> dict[str, AnyArray]:
        """Return copies of the state of the worlds, by name below `world/`."""
        return {f"world/{name}": array for name, array in self.world.snapshot().items()}

    def _state_arrays(self) -> dict[str, AnyArray]:
        """Return the arrays of the loop itself, by their names in a snapshot; not copied."""
        arrays: dict[str, AnyArray] = {
            "observations": self.observations, "actions": self.actions, "episode": self.episode,
            "episode_key": self._episode_key, "idle": self.idle, "next": self._cursor,
        }  # fmt: skip
        arrays |= {f"row_state/{name}": array for name, array in self.row_state._asdict().items()}
        arrays |= {f"totals/{name}": array for name, array in self.totals._asdict().items()}
        for slot, memory in zip(self.slots, self.memory, strict=True):
            arrays |= {f"memory/{slot.id}/{name}": array for name, array in memory.items()}
        return arrays
