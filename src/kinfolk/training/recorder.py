"""A recorder wraps a policy and writes its observations, actions and rewards to a buffer."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import cast

import numpy as np

from kinfolk.core.arrays import AnyArray, Bools, Bytes, Floats, Ints
from kinfolk.core.spaces import WorldSpec
from kinfolk.play.loop import EpisodeLoop
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
    RolloutBuffer,
    RolloutColumns,
    learner_columns,
)
from kinfolk.training.potential import Shaping

_LABELS = ("slot_id", "learner_slot", "loss_profile_id", "is_trainable_agent")


@dataclass(frozen=True, kw_only=True)
class SlotPlan:
    """How the rows of a slot are recorded; the first four fields are written to every row.

    Attributes:
        slot_id: Index of the slot that acts.
        learner_slot: Index of the slot that learns from the rows, or `NO_SLOT`.
        loss_profile_id: Index of the loss profile of the rows.
        is_trainable_agent: Whether the slot is trained.
        teacher: Id of the slot whose policy labels the rows with its own actions; None: no labels.
        student: Id of the slot that learns from this one's rows. A recurrent student sees every
            row, so that its hidden states can be recorded.
        is_demonstration: Whether this slot's own actions are the teacher's labels.
    """

    slot_id: int
    learner_slot: int
    loss_profile_id: int
    is_trainable_agent: bool
    teacher: str | None = None
    student: str | None = None
    is_demonstration: bool = False


class RolloutRecorder:
    """Policy that acts as `actor` does and records its rows.

    A teacher and a student may run beside the actor, each with its own memory: the teacher to label
    the rows with its actions, a recurrent student to record its hidden states.

    Args:
        actor: The policy that acts.
        plan: Labels of the rows, and whether the actor's own actions are the teacher's labels.
        spec: Spec of the world.
        capacity: Rows of a rollout at most.
        teacher: Policy that labels the rows; None: no labels, or the actor's own.
        student: Learner of rows that another policy plays.
        shaping: Potential that shapes the rewards of rows that somebody learns from; None: none.
    """

    def __init__(
        self,
        actor: Policy,
        plan: SlotPlan,
        spec: WorldSpec,
        capacity: int,
        teacher: Policy | None = None,
        student: Policy | None = None,
        shaping: Shaping | None = None,
    ) -> None:
        self._actor, self._plan, self._teacher = actor, plan, teacher
        is_recurrent = isinstance(student, NeuralPolicy) and student.needs_sequence
        # Copied, as it shares its module with the policy that plays, but not its last outputs.
        self._student = cast("NeuralPolicy", copy(student)) if is_recurrent else None
        named = {"actor": actor, "teacher": teacher, "student": self._student}
        self._policies = {role: policy for role, policy in named.items() if policy is not None}
        self._records_teacher = plan.is_demonstration or teacher is not None
        self._net = actor if isinstance(actor, NeuralPolicy) else None
        self._learner = self._student or (self._net if plan.is_trainable_agent else None)
        self._has_learner = plan.learner_slot != NO_SLOT
        trained = student or actor  # the net that learns from the rows
        self._has_team = isinstance(trained, NeuralPolicy) and trained.uses_team
        self._shaping = shaping if self._has_learner else None
        self._columns = BASE_COLUMNS
        if self._has_learner:
            learner, labeler = self._learner, teacher or actor
            n_logits = labeler.encoder.shape.outputs if isinstance(labeler, NeuralPolicy) else 0
            self._columns = learner_columns(
                row_bytes=spec.row_bytes if learner is None else learner.input_spec.row_bytes,
                n_heads=spec.n_heads,
                state_size=0 if learner is None else learner.memory_size,
                n_teacher_logits=n_logits if self._records_teacher else None,
                has_team=self._has_team,
                is_shaped=self._shaping is not None,
            )
        self._buffers: dict[int, RolloutBuffer] = {}
        self._step_rows: RolloutColumns = {}  # views of this tick's rows
        self._shown: Floats = np.zeros(0)  # potential of what this tick's rows were shown
        self._capacity = capacity
        self.start_chunk(0)

    @property
    def memory_layout(self) -> MemoryLayout:
        """Memory layout of actor, teacher and student, with these words as prefixes."""
        layout: dict[str, MemoryField] = {}
        for role, policy in self._policies.items():
            layout |= prefix_layout(role, policy.memory_layout)
        return layout

    def reset_agents(self, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Initialise the memory of agents that begin to live.

        Args:
            batch: The agents.
            memory: Memory of actor, teacher and student, which is written to.
            keys: `[n]`, random key of each agent.
        """
        for role, policy in self._policies.items():
            policy.reset_agents(batch, select_memory(memory, role), keys)

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Record the observations, and let actor, teacher and student choose actions.

        Args:
            observations: `[n, bytes]`, as the world gives them.
            batch: The agents that observe.
            memory: Memory of actor, teacher and student.
            keys: `[n]`, random key of each agent in this tick.
        """
        self._step_batch, self._memory = batch, memory
        rows = self._step_rows = self._buffer.reserve(len(keys))
        for label in _LABELS:
            rows[label][:] = getattr(self._plan, label)
        rows["uid"][:], rows["memory_index"][:] = batch.uid, batch.memory_index
        rows["alive"][:] = True
        if self._has_learner:
            rows["group"][:] = batch.group
        if self._shaping is not None:
            self._shown = self._shaping.potential(observations, batch.group)
        if "team" in rows:
            rows["team"][:] = self._number_teams(batch.world)
        if "state" in rows:
            role = "student" if self._student else "actor"
            rows["state"][:] = memory[f"{role}/state"][batch.memory_index]
        for role, policy in self._policies.items():
            policy.act_async(observations, batch, select_memory(memory, role), keys)
        if self._has_learner:
            learner = self._learner
            rows["observations"][:] = observations if learner is None else learner.last_inputs

    def act_wait(self) -> Ints:
        """Return the actor's actions, and record them with values and the teacher's labels."""
        actions = self._actor.act_wait()
        if not self._has_learner:
            return actions
        rows = self._step_rows
        rows["action"][:] = actions
        rows["bootstrap_index"][:] = NO_SLOT
        output = None if self._net is None else self._net.last_output
        rows["log_prob"][:] = 0.0 if output is None else output.log_prob
        rows["value"][:] = 0.0 if self._net is None else self._read_values(self._net)
        if self._records_teacher:
            self._record_teacher(actions)
        if self._student is not None:
            self._student.act_wait()
        return actions

    def _record_teacher(self, actions: Ints) -> None:
        """Write the teacher's actions, values and logits; `actions` are the actor's."""
        rows, teacher = self._step_rows, self._teacher or self._actor
        rows["teacher_action"][:] = actions if self._teacher is None else self._teacher.act_wait()
        if not isinstance(teacher, NeuralPolicy):
            rows["teacher_value"][:] = np.nan
            return
        rows["teacher_value"][:] = self._read_values(teacher)
        rows["teacher_logits"][:] = teacher.last_output.logits

    def _read_values(self, net: NeuralPolicy) -> AnyArray:
        """Return a net's values of this tick's rows; a team critic sees all agents of a world."""
        if not net.uses_team:
            return net.last_output.value
        batch = self._step_batch
        return net.team_values(net.last_inputs, batch.group, batch.world)

    def _number_teams(self, world: Ints) -> Ints:
        """Return a number for the team of each row, which no earlier tick has used."""
        worlds, index = np.unique(world, return_inverse=True)
        numbers: Ints = self._n_teams + index
        self._n_teams += len(worlds)
        return numbers

    def close(self) -> None:
        """Close the actor, the teacher and the student."""
        for policy in self._policies.values():
            policy.close()

    def start_chunk(self, chunk: int) -> None:
        """Begin a rollout of a chunk; each chunk has a buffer, so that their results coexist."""
        if chunk not in self._buffers:
            self._buffers[chunk] = RolloutBuffer(self._columns, self._capacity)
        self._buffer = self._buffers[chunk]
        self._buffer.clear()
        self._step_rows = {}
        self._bootstrap_rows: list[tuple[Bytes, Ints, AnyArray | None, Ints]] = []
        self._n_bootstrap = 0
        self._n_teams = 0  # numbers of teams given out

    def finish_step(self, loop: EpisodeLoop, no_bootstrap: Bools, is_last: bool) -> None:
        """Record the rewards of this tick's rows, and keep the inputs of bootstrap values.

        The bootstrap values themselves are computed once per rollout.

        Args:
            loop: The loop, after the step.
            no_bootstrap: `[worlds]`, whether the episode's end counts as termination.
            is_last: Whether the rollout stops here.
        """
        if not self._step_rows:
            return
        rows, self._step_rows = self._step_rows, {}
        index, world = self._step_batch.memory_index, self._step_batch.world
        columns = loop.world.columns
        terminated = columns.terminated[index]
        truncated = columns.truncated[index] | loop.world.done[world]
        rows["reward"][:], rows["done"][:] = columns.reward[index], terminated | truncated
        survives = ~terminated & ~no_bootstrap[world]
        if self._shaping is not None:
            after = self._shaping.potential(loop.observations[index], self._step_batch.group)
            rows["shaping"][:] = self._shaping.gamma * np.where(survives, after, 0.0) - self._shown
        if not self._has_learner or self._net is None:  # only nets have values
            return
        needed = np.flatnonzero(survives if is_last else truncated & survives)
        if not len(needed):
            return
        shown = needed
        if self._net.uses_team:  # a critic of the team needs all survivors of these worlds
            shown = np.flatnonzero(survives & np.isin(world, world[needed]))
        rows["bootstrap_index"][needed] = self._n_bootstrap + np.searchsorted(shown, needed)
        self._n_bootstrap += len(shown)
        batch = AgentBatch(*(column[shown] for column in self._step_batch))
        index, memory = batch.memory_index, select_memory(self._memory, "actor")
        state = memory["state"][index] if self._net.memory_size else None
        inputs = self._net.observe_next(loop.observations[index], batch, memory)
        team = self._number_teams(batch.world) if self._net.uses_team else batch.world
        self._bootstrap_rows.append((inputs, batch.group, state, team))

    def columns(self) -> RolloutColumns:
        """Return all rows of the rollout, and the bootstrap values if somebody learns from it."""
        columns = self._buffer.columns()
        if not self._has_learner:
            return columns
        value = np.zeros(0, dtype=np.float32)
        if self._bootstrap_rows and self._net is not None:
            inputs, groups, states, teams = zip(*self._bootstrap_rows, strict=True)
            shown = np.concatenate(inputs), np.concatenate(groups)
            if self._net.uses_team:
                value = self._net.team_values(*shown, np.concatenate(teams))
            else:
                state = None if states[0] is None else np.concatenate(states)
                _, value, _ = self._net.evaluate(*shown, state)
        return {**columns, "bootstrap_value": value}
