"""A policy that is played and written down: what it saw, said and did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Bools, Bytes, Ints
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.base import Cell, Memory, MemoryLayout, Policy, part, prefixed
from kinfolk.policies.base import Rows as Asked
from kinfolk.policies.neural.policy import Neural
from kinfolk.training.experience import LIGHT, NOBODY, Buffer, Rows, Width, learnt_columns
from kinfolk.worlds.base import Columns


@dataclass(frozen=True)
class Labels:
    """What every row of a slot is marked with: written from the table of slots."""

    slot_id: int
    learner_slot: int
    loss_profile_id: int
    is_trainable_agent: bool


class Recorder:
    """Plays as `actor` does and keeps the rows.

    Others may be asked beside it, each with a memory of its own: a teacher, who says what it
    would have done, and a student that remembers, who watches what the actor does.
    """

    def __init__(
        self,
        actor: Policy,
        labels: Labels,
        spec: WorldSpec,
        capacity: int,
        teacher: Policy | None = None,
        student: Neural | None = None,
        taught: bool = False,
    ) -> None:
        self.actor, self.labels, self._teacher, self._student = actor, labels, teacher, student
        self._taught = taught or teacher is not None
        self._net = actor if isinstance(actor, Neural) else None
        learner = student or (self._net if labels.is_trainable_agent else None)
        self._learner = learner
        source = teacher or actor
        self._width = Width(
            spec.row_bytes if learner is None else learner.shown.row_bytes,
            spec.heads,
            source.reader.shape.outputs if isinstance(source, Neural) else 0,
            learner.memory_size if learner else 0,
        )
        self._learnt = labels.learner_slot != NOBODY
        self._columns = learnt_columns(self._width, self._taught) if self._learnt else LIGHT
        self._buffers: dict[int, Buffer] = {}
        self._now: dict[str, AnyArray] = {}  # the rows of this tick
        self._capacity = capacity
        self.start(0)

    @property
    def memory(self) -> MemoryLayout:
        """What all of them remember, under names of their own."""
        layout: dict[str, Cell] = {}
        for role, policy in self._all():
            layout |= prefixed(role, policy.memory)
        return layout

    def _all(self) -> list[tuple[str, Policy]]:
        named = (("actor", self.actor), ("teacher", self._teacher), ("student", self._student))
        return [(role, policy) for role, policy in named if policy is not None]

    def begin(self, rows: Asked, memory: Memory, keys: Ints) -> None:
        """Lives that start now."""
        for role, policy in self._all():
            policy.begin(rows, part(memory, role), keys)

    def ask(self, observations: Bytes, rows: Asked, memory: Memory, keys: Ints) -> None:
        """Note what is seen, and ask everybody."""
        self._asked, self._memory = rows, memory
        now = self._now = self._buffer.extend(len(keys))
        now["slot_id"][:] = self.labels.slot_id
        now["learner_slot"][:] = self.labels.learner_slot
        now["loss_profile_id"][:] = self.labels.loss_profile_id
        now["is_trainable_agent"][:] = self.labels.is_trainable_agent
        now["uid"][:], now["place"][:], now["alive"][:] = rows.uid, rows.place, True
        if self._learnt:
            now["group"][:] = rows.group
            if self._width.state:
                role = "student" if self._student else "actor"
                now["state"][:] = memory[f"{role}/state"][rows.place]
        for role, policy in self._all():
            policy.ask(observations, rows, part(memory, role), keys)
        if self._learnt:
            now["observations"][:] = observations if self._learner is None else self._learner.seen

    def answer(self) -> Ints:
        """The actor's answer; what the others said is noted."""
        actions = self.actor.answer()
        if not self._learnt:
            return actions
        now = self._now
        now["action"][:] = actions
        now["tail"][:] = NOBODY
        if self._net is not None:
            now["log_chance"][:], now["value"][:] = self._net.said.log_chance, self._net.said.value
        else:
            now["log_chance"][:], now["value"][:] = 0.0, 0.0
        if self._taught:
            self._note_teacher(actions)
        if self._student is not None:
            self._student.answer()
        return actions

    def _note_teacher(self, actions: Ints) -> None:
        now, teacher = self._now, self._teacher or self.actor
        now["teacher_action"][:] = actions if self._teacher is None else self._teacher.answer()
        said = teacher.said if isinstance(teacher, Neural) else None
        now["teacher_value"][:] = np.nan if said is None else said.value
        if said is not None:
            now["teacher_scores"][:] = said.scores

    def close(self) -> None:
        """Close all of them."""
        for _, policy in self._all():
            policy.close()

    def start(self, chunk: int) -> None:
        """Begin a gathering; chunks have room of their own, so that results can wait side by side."""
        if chunk not in self._buffers:
            self._buffers[chunk] = Buffer(self._columns, self._capacity)
        self._buffer = self._buffers[chunk]
        self._buffer.clear()
        self._now = {}
        self._tails: list[tuple[Bytes, Ints, AnyArray | None]] = []
        self._tail_count = 0

    def settle(self, columns: Columns, done: Bools, lost: Bools, seen: Bytes, last: bool) -> None:
        """After a step: what the rows of this tick earned, and how they go on.

        Args:
            columns: Of the world.
            done: `[places]`, whose episode has ended.
            lost: `[places]`, whose episode has ended for good: nothing is expected after it.
            seen: `[places, bytes]`, what is seen after the step.
            last: Whether the gathering stops here.
        """
        if not self._now:
            return
        now, self._now = self._now, {}
        place = self._asked.place
        now["reward"][:] = columns.reward[place]
        terminated, cut = columns.terminated[place], columns.truncated[place] | done[place]
        now["ended"][:] = terminated | cut
        if self._learnt and self._net is not None:
            going_on = ~terminated & ~lost[place]
            self._add_tails(np.flatnonzero(going_on if last else cut & going_on), place, seen, now)

    def _add_tails(self, at: Ints, place: Ints, seen: Bytes, now: Mapping[str, Any]) -> None:
        if not len(at):
            return
        now["tail"][at] = self._tail_count + np.arange(len(at))
        self._tail_count += len(at)
        places = place[at]
        assert self._net is not None  # only nets have values
        own = part(self._memory, "actor")
        state = own["state"][places] if self._net.memory_size else None
        rows = Asked(*(column[at] for column in self._asked))
        self._tails.append((self._net.foresee(seen[places], rows, own), rows.group, state))

    def rows(self) -> Rows:
        """All rows of the gathering, and the values of what follows where it was cut."""
        found = self._buffer.rows()
        if not self._learnt:
            return found
        value = np.zeros(0, dtype=np.float32)
        if self._tails and self._net is not None:
            seen, group, state = zip(*self._tails, strict=True)
            states = None if state[0] is None else np.concatenate(state)
            _, value, _ = self._net.look(np.concatenate(seen), np.concatenate(group), states)
        return {**found, "tail_value": value}
