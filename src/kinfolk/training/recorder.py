"""A policy that is played and written down: what it saw, said and did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Bools, Bytes, Ints
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.base import AgentBatch as Asked
from kinfolk.policies.base import (
    Memory,
    MemoryField,
    MemoryLayout,
    Policy,
    prefix_layout,
    select_memory,
)
from kinfolk.policies.neural.policy import NeuralPolicy
from kinfolk.training.buffer import (
    BASE_COLUMNS,
    NO_SLOT,
    ColumnSizes,
    RolloutBuffer,
    RolloutColumns,
    learner_columns,
)
from kinfolk.worlds.base import AgentColumns


@dataclass(frozen=True)
class RowLabels:
    """What every row of a slot is marked with: written from the table of slots."""

    slot_id: int
    learner_slot: int
    loss_profile_id: int
    is_trainable_agent: bool


class RolloutRecorder:
    """Plays as `actor` does and keeps the rows.

    Others may be asked beside it, each with a memory of its own: a teacher, who says what it
    would have done, and a student that remembers, who watches what the actor does.
    """

    def __init__(
        self,
        actor: Policy,
        labels: RowLabels,
        spec: WorldSpec,
        capacity: int,
        teacher: Policy | None = None,
        student: NeuralPolicy | None = None,
        is_demonstration: bool = False,
    ) -> None:
        self.actor, self.labels, self._teacher, self._student = actor, labels, teacher, student
        self._records_teacher = is_demonstration or teacher is not None
        self._net = actor if isinstance(actor, NeuralPolicy) else None
        learner = student or (self._net if labels.is_trainable_agent else None)
        self._learner = learner
        source = teacher or actor
        self._sizes = ColumnSizes(
            spec.row_bytes if learner is None else learner.input_spec.row_bytes,
            spec.n_heads,
            source.encoder.shape.outputs if isinstance(source, NeuralPolicy) else 0,
            learner.memory_size if learner else 0,
        )
        self._has_learner = labels.learner_slot != NO_SLOT
        self._columns = (
            learner_columns(self._sizes, self._records_teacher)
            if self._has_learner
            else BASE_COLUMNS
        )
        self._buffers: dict[int, RolloutBuffer] = {}
        self._step_rows: dict[str, AnyArray] = {}  # the rows of this tick
        self._capacity = capacity
        self.start_chunk(0)

    @property
    def memory_layout(self) -> MemoryLayout:
        """What all of them remember, under names of their own."""
        layout: dict[str, MemoryField] = {}
        for role, policy in self._all():
            layout |= prefix_layout(role, policy.memory_layout)
        return layout

    def _all(self) -> list[tuple[str, Policy]]:
        named = (("actor", self.actor), ("teacher", self._teacher), ("student", self._student))
        return [(role, policy) for role, policy in named if policy is not None]

    def reset_agents(self, batch: Asked, memory: Memory, keys: Ints) -> None:
        """Lives that start now."""
        for role, policy in self._all():
            policy.reset_agents(batch, select_memory(memory, role), keys)

    def act_async(self, observations: Bytes, batch: Asked, memory: Memory, keys: Ints) -> None:
        """Note what is seen, and ask everybody."""
        self._step_batch, self._memory = batch, memory
        now = self._step_rows = self._buffer.reserve(len(keys))
        now["slot_id"][:] = self.labels.slot_id
        now["learner_slot"][:] = self.labels.learner_slot
        now["loss_profile_id"][:] = self.labels.loss_profile_id
        now["is_trainable_agent"][:] = self.labels.is_trainable_agent
        now["uid"][:], now["memory_index"][:], now["alive"][:] = batch.uid, batch.memory_index, True
        if self._has_learner:
            now["group"][:] = batch.group
            if self._sizes.state_size:
                role = "student" if self._student else "actor"
                now["state"][:] = memory[f"{role}/state"][batch.memory_index]
        for role, policy in self._all():
            policy.act_async(observations, batch, select_memory(memory, role), keys)
        if self._has_learner:
            now["observations"][:] = (
                observations if self._learner is None else self._learner.last_inputs
            )

    def act_wait(self) -> Ints:
        """The actor's answer; what the others said is noted."""
        actions = self.actor.act_wait()
        if not self._has_learner:
            return actions
        now = self._step_rows
        now["action"][:] = actions
        now["bootstrap_index"][:] = NO_SLOT
        if self._net is not None:
            now["log_prob"][:], now["value"][:] = (
                self._net.last_output.log_prob,
                self._net.last_output.value,
            )
        else:
            now["log_prob"][:], now["value"][:] = 0.0, 0.0
        if self._records_teacher:
            self._record_teacher(actions)
        if self._student is not None:
            self._student.act_wait()
        return actions

    def _record_teacher(self, actions: Ints) -> None:
        now, teacher = self._step_rows, self._teacher or self.actor
        now["teacher_action"][:] = actions if self._teacher is None else self._teacher.act_wait()
        said = teacher.last_output if isinstance(teacher, NeuralPolicy) else None
        now["teacher_value"][:] = np.nan if said is None else said.value
        if said is not None:
            now["teacher_logits"][:] = said.logits

    def close(self) -> None:
        """Close all of them."""
        for _, policy in self._all():
            policy.close()

    def start_chunk(self, chunk: int) -> None:
        """Begin a gathering; chunks have room of their own, so that results can wait side by side."""
        if chunk not in self._buffers:
            self._buffers[chunk] = RolloutBuffer(self._columns, self._capacity)
        self._buffer = self._buffers[chunk]
        self._buffer.clear()
        self._step_rows = {}
        self._bootstrap_rows: list[tuple[Bytes, Ints, AnyArray | None]] = []
        self._n_bootstrap = 0

    def finish_step(
        self,
        columns: AgentColumns,
        done: Bools,
        no_bootstrap: Bools,
        observations: Bytes,
        is_last: bool,
    ) -> None:
        """After a step: what the rows of this tick earned, and how they go on.

        Args:
            columns: Of the world.
            done: `[places]`, whose episode has ended.
            no_bootstrap: `[places]`, whose episode has ended for good: nothing is expected after it.
            observations: `[places, bytes]`, what is seen after the step.
            is_last: Whether the gathering stops here.
        """
        if not self._step_rows:
            return
        now, self._step_rows = self._step_rows, {}
        place = self._step_batch.memory_index
        now["reward"][:] = columns.reward[place]
        terminated, cut = columns.terminated[place], columns.truncated[place] | done[place]
        now["done"][:] = terminated | cut
        if self._has_learner and self._net is not None:
            going_on = ~terminated & ~no_bootstrap[place]
            self._add_bootstrap_rows(
                np.flatnonzero(going_on if is_last else cut & going_on), place, observations, now
            )

    def _add_bootstrap_rows(
        self, at: Ints, place: Ints, seen: Bytes, now: Mapping[str, Any]
    ) -> None:
        if not len(at):
            return
        now["bootstrap_index"][at] = self._n_bootstrap + np.arange(len(at))
        self._n_bootstrap += len(at)
        places = place[at]
        assert self._net is not None  # only nets have values
        own = select_memory(self._memory, "actor")
        state = own["state"][places] if self._net.memory_size else None
        rows = Asked(*(column[at] for column in self._step_batch))
        self._bootstrap_rows.append(
            (self._net.observe_next(seen[places], rows, own), rows.group, state)
        )

    def columns(self) -> RolloutColumns:
        """All rows of the gathering, and the values of what follows where it was cut."""
        found = self._buffer.columns()
        if not self._has_learner:
            return found
        value = np.zeros(0, dtype=np.float32)
        if self._bootstrap_rows and self._net is not None:
            seen, group, state = zip(*self._bootstrap_rows, strict=True)
            states = None if state[0] is None else np.concatenate(state)
            _, value, _ = self._net.evaluate(np.concatenate(seen), np.concatenate(group), states)
        return {**found, "bootstrap_value": value}
