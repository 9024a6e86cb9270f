"""A recorder wraps a policy and writes its observations, actions and rewards to a buffer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Bools, Bytes, Ints
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.base import (
    AgentBatch,
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
    """Labels that every row of a slot has in common."""

    slot_id: int  # index of the slot that acts
    learner_slot: int  # index of the slot that learns from the rows, or `NO_SLOT`
    loss_profile_id: int
    is_trainable_agent: bool


class RolloutRecorder:
    """Policy that acts as `actor` does and records its rows.

    A teacher and a student may run beside the actor, each with its own memory: the teacher to label
    the rows with its actions, a recurrent student to record its hidden states.

    Args:
        actor: The policy that acts.
        labels: Written to every row.
        spec: Spec of the world.
        capacity: Rows of a rollout at most.
        teacher: Policy that labels the rows; None: no labels, or the actor's own.
        student: Recurrent learner of rows that another policy plays.
        is_demonstration: Whether the actor's own actions are the teacher's labels.
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
        labeler = teacher or actor
        self._sizes = ColumnSizes(
            spec.row_bytes if learner is None else learner.input_spec.row_bytes,
            spec.n_heads,
            labeler.encoder.shape.outputs if isinstance(labeler, NeuralPolicy) else 0,
            learner.memory_size if learner else 0,
        )
        self._has_learner = labels.learner_slot != NO_SLOT
        self._columns = (
            learner_columns(self._sizes, self._records_teacher)
            if self._has_learner
            else BASE_COLUMNS
        )
        self._buffers: dict[int, RolloutBuffer] = {}
        self._step_rows: dict[str, AnyArray] = {}  # views of this tick's rows
        self._capacity = capacity
        self.start_chunk(0)

    @property
    def memory_layout(self) -> MemoryLayout:
        """Return the memory of actor, teacher and student, prefixed by these names."""
        layout: dict[str, MemoryField] = {}
        for role, policy in self._policies():
            layout |= prefix_layout(role, policy.memory_layout)
        return layout

    def _policies(self) -> list[tuple[str, Policy]]:
        """Return the policies that run, by name."""
        named = (("actor", self.actor), ("teacher", self._teacher), ("student", self._student))
        return [(role, policy) for role, policy in named if policy is not None]

    def reset_agents(self, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Initialise the memory of agents that begin to live."""
        for role, policy in self._policies():
            policy.reset_agents(batch, select_memory(memory, role), keys)

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Record the observations, and let actor, teacher and student choose actions."""
        self._step_batch, self._memory = batch, memory
        rows = self._step_rows = self._buffer.reserve(len(keys))
        rows["slot_id"][:] = self.labels.slot_id
        rows["learner_slot"][:] = self.labels.learner_slot
        rows["loss_profile_id"][:] = self.labels.loss_profile_id
        rows["is_trainable_agent"][:] = self.labels.is_trainable_agent
        rows["uid"][:], rows["memory_index"][:], rows["alive"][:] = (
            batch.uid,
            batch.memory_index,
            True,
        )
        if self._has_learner:
            rows["group"][:] = batch.group
            if self._sizes.state_size:
                role = "student" if self._student else "actor"
                rows["state"][:] = memory[f"{role}/state"][batch.memory_index]
        for role, policy in self._policies():
            policy.act_async(observations, batch, select_memory(memory, role), keys)
        if self._has_learner:
            rows["observations"][:] = (
                observations if self._learner is None else self._learner.last_inputs
            )

    def act_wait(self) -> Ints:
        """Return the actor's actions, and record them with values and the teacher's labels."""
        actions = self.actor.act_wait()
        if not self._has_learner:
            return actions
        rows = self._step_rows
        rows["action"][:] = actions
        rows["bootstrap_index"][:] = NO_SLOT
        if self._net is not None:
            rows["log_prob"][:], rows["value"][:] = (
                self._net.last_output.log_prob,
                self._net.last_output.value,
            )
        else:
            rows["log_prob"][:], rows["value"][:] = 0.0, 0.0
        if self._records_teacher:
            self._record_teacher(actions)
        if self._student is not None:
            self._student.act_wait()
        return actions

    def _record_teacher(self, actions: Ints) -> None:
        """Write the teacher's actions, values and logits; `actions` are the actor's."""
        rows, teacher = self._step_rows, self._teacher or self.actor
        rows["teacher_action"][:] = actions if self._teacher is None else self._teacher.act_wait()
        output = teacher.last_output if isinstance(teacher, NeuralPolicy) else None
        rows["teacher_value"][:] = np.nan if output is None else output.value
        if output is not None:
            rows["teacher_logits"][:] = output.logits

    def close(self) -> None:
        """Close the actor, the teacher and the student."""
        for _, policy in self._policies():
            policy.close()

    def start_chunk(self, chunk: int) -> None:
        """Begin a rollout; each chunk has a buffer, so that the results of several can coexist."""
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
        """Record the rewards of this tick's rows, and which rows need a bootstrap value.

        Args:
            columns: Agents of the worlds after the step, `[worlds * rows]` each.
            done: `[worlds * rows]`, whether the episode has ended.
            no_bootstrap: `[worlds * rows]`, whether the episode's end counts as termination.
            observations: `[worlds * rows, bytes]` after the step.
            is_last: Whether the rollout stops here.
        """
        if not self._step_rows:
            return
        rows, self._step_rows = self._step_rows, {}
        index = self._step_batch.memory_index
        rows["reward"][:] = columns.reward[index]
        terminated, truncated = columns.terminated[index], columns.truncated[index] | done[index]
        rows["done"][:] = terminated | truncated
        if self._has_learner and self._net is not None:
            survives = ~terminated & ~no_bootstrap[index]
            needed = np.flatnonzero(survives if is_last else truncated & survives)
            self._add_bootstrap_rows(needed, observations, rows)

    def _add_bootstrap_rows(
        self, needed: Ints, observations: Bytes, rows: Mapping[str, Any]
    ) -> None:
        """Keep the inputs of the bootstrap values, which are computed once per rollout.

        Args:
            needed: Which rows of this tick need a bootstrap value.
            observations: `[worlds * rows, bytes]` after the step.
            rows: Columns of this tick's rows; `bootstrap_index` is written.
        """
        if not len(needed):
            return
        rows["bootstrap_index"][needed] = self._n_bootstrap + np.arange(len(needed))
        self._n_bootstrap += len(needed)
        assert self._net is not None  # only nets have values
        batch = AgentBatch(*(column[needed] for column in self._step_batch))
        index, memory = batch.memory_index, select_memory(self._memory, "actor")
        state = memory["state"][index] if self._net.memory_size else None
        inputs = self._net.observe_next(observations[index], batch, memory)
        self._bootstrap_rows.append((inputs, batch.group, state))

    def columns(self) -> RolloutColumns:
        """Return all rows of the rollout, and the bootstrap values if somebody learns from it."""
        columns = self._buffer.columns()
        if not self._has_learner:
            return columns
        value = np.zeros(0, dtype=np.float32)
        if self._bootstrap_rows and self._net is not None:
            inputs, group, state = zip(*self._bootstrap_rows, strict=True)
            states = None if state[0] is None else np.concatenate(state)
            _, value, _ = self._net.evaluate(np.concatenate(inputs), np.concatenate(group), states)
        return {**columns, "bootstrap_value": value}
