"""Write policies that read observations as named arrays and answer with names of choices.

    class Grazer(kf.DictPolicy):
        def step(self, observation, info):
            window = observation["window"]  # as `kf.make(world).spec.groups` describes it
            return "right" if window[3].sum() > window[1].sum() else "left"

`BatchDictPolicy` gets all agents of a group in one call, which is faster. Both keep the promises of
the policy contract as long as they draw from `info.key` alone and remember things in `info.memory`.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from kinfolk.core.arrays import AnyArray, Bytes, Ints
from kinfolk.core.errors import ContractError, find_definition, format_suggestion
from kinfolk.core.spaces import ActionHead, AgentGroup, WorldSpec, encode_numbers
from kinfolk.policies.base import AgentBatch, Memory, NoopPolicy, StatelessPolicy

DictObservation: TypeAlias = Mapping[str, AnyArray]


class UnknownFieldError(KeyError):
    """A policy read a field that its group's observation does not have."""

    __str__ = Exception.__str__  # KeyError prints its message in quotes


class _Fields(dict[str, AnyArray]):
    """The fields of a group's observation by name; one that is not there is refused with their list."""

    def __init__(self, group: str, fields: Mapping[str, AnyArray]) -> None:
        super().__init__(fields)
        self._group = group

    def __missing__(self, name: object) -> AnyArray:
        hint = format_suggestion(str(name), self)
        raise UnknownFieldError(f"a {self._group} has no field {name!r}.{hint}")


@dataclass
class AgentInfo:
    """Who acts: one agent, or all agents of one group in a batch.

    Attributes:
        group: Name of the group.
        agent_id: The agent's uid, unique within an episode; `[agents]` in a batch.
        key: Random key of this tick, or of the whole life in `reset`; `[agents]` in a batch. Draw from
            it with `random.Random(info.key)` or, in a batch, `kinfolk.core.random.uniform(info.key, 0)`.
        memory: Arrays that the policy keeps of the agent, by the names of `memory_layout`; with the
            agents as first axis in a batch. Change them in place or replace them.
    """

    group: str
    agent_id: Any
    key: Any
    memory: dict[str, AnyArray]


class _Call(NamedTuple):
    """Arguments of a call of the policy contract; `rows` are places in its batch, or one place."""

    batch: AgentBatch
    memory: Memory
    keys: Ints

    def split_groups(self, spec: WorldSpec) -> Iterator[tuple[AgentGroup, Ints]]:
        """Yield each group that has agents in the batch, and their rows."""
        for index in np.unique(self.batch.group).tolist():
            yield spec.groups[index], np.flatnonzero(self.batch.group == index)

    def make_info(self, group: AgentGroup, rows: Any) -> AgentInfo:
        """Return who the agents of some rows are, with copies of their memory."""
        index, uid, key = (
            column[rows] for column in (self.batch.memory_index, self.batch.uid, self.keys)
        )
        memory = {name: np.array(array[index, ...]) for name, array in self.memory.items()}
        if isinstance(rows, int):  # plain integers, which `random.Random` takes
            uid, key = int(uid), int(key)
        return AgentInfo(group.name, uid, key, memory)

    def store_memory(self, info: AgentInfo, rows: Any) -> None:
        """Store what a policy has left in `info.memory`."""
        for name, array in self.memory.items():
            array[self.batch.memory_index[rows]] = info.memory[name]


class BatchDictPolicy(StatelessPolicy):
    """Base class of policies that act for all agents of a group at once: override `step`.

    What `step` needs to remember is declared by `memory_layout`.

    Args:
        spec: Groups, observation fields and action heads of the world.
    """

    def __init__(self, spec: WorldSpec) -> None:
        self.spec = spec
        self._noop = NoopPolicy(spec)

    def reset(self, info: AgentInfo) -> None:
        """Prepare `info.memory`, which is zero, for agents whose lives start."""

    def step(self, observation: DictObservation, info: AgentInfo) -> Any:
        """Return the actions of the agents of a group.

        Args:
            observation: `[agents, *shape]` of each field of the group's observation, by name.
            info: Which agents they are.

        Returns:
            `[agents]` or `[agents, heads]` indices of choices (numbers for continuous heads), or a
            table of them by the name of a head; heads that are left out do nothing.
        """
        raise NotImplementedError(f"{type(self).__name__} must define step(observation, info).")

    def reset_agents(self, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Call `reset` for the agents of each group."""
        call = _Call(batch, memory, keys)
        for group, rows in call.split_groups(self.spec):
            self._reset_rows(call, group, rows)

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Call `step` for the agents of each group."""
        self._actions = self._noop.noop_actions(batch.group)
        call = _Call(batch, memory, keys)
        for group, rows in call.split_groups(self.spec):
            seen = observations[rows]
            fields = {field.name: group.read_field(seen, field.name) for field in group.fields}
            self._act_rows(call, group, rows, fields)

    def _reset_rows(self, call: _Call, group: AgentGroup, rows: Any) -> None:
        """Call `reset` for these rows of a batch, which are all of one group."""
        info = call.make_info(group, rows)
        self.reset(info)
        call.store_memory(info, rows)

    def _act_rows(self, call: _Call, group: AgentGroup, rows: Any, fields: DictObservation) -> None:
        """Write the actions of these rows of a batch, which are all of one group."""
        info = call.make_info(group, rows)
        answer = self.step(_Fields(group.name, fields), info)
        call.store_memory(info, rows)
        for head, actions in self._split_heads(answer, group, np.shape(rows)):
            self._actions[rows, head] = actions

    def _split_heads(
        self, answer: Any, group: AgentGroup, shape: tuple[int, ...]
    ) -> Iterator[tuple[int, Ints]]:
        """Yield the index of each head of an answer, and its int64 actions.

        Args:
            answer: What `step` returned.
            group: Group of the agents.
            shape: Of the actions of one head: `(agents,)`, or `()` for one agent.

        Raises:
            ContractError: It is no action; the error names the author's class and line.
        """
        names = [head.name for head in group.heads]
        parts: Mapping[Any, Any]
        if isinstance(answer, Mapping):
            parts = answer
        else:
            parts = dict(zip(names, self._split_columns(answer, group, shape), strict=True))
        for name, part in parts.items():
            if name not in names:
                hint = format_suggestion(str(name), names)
                raise self._make_error(answer, f"a {group.name} has no head '{name}'.{hint}")
            head = names.index(name)
            yield head, self._check_head(part, group.heads[head], group, shape)

    def _split_columns(self, answer: Any, group: AgentGroup, shape: tuple[int, ...]) -> list[Any]:
        """Return the part of each head of an answer that is no table."""
        n_heads = len(group.heads)
        try:
            # As objects, so that numbers beside names do not become strings.
            values = answer if isinstance(answer, np.ndarray) else np.asarray(answer, dtype=object)
        except ValueError:  # lists of different lengths
            values = np.empty(0, dtype=object)
        if values.shape == shape and n_heads == 1:
            return [values]
        if values.shape != (*shape, n_heads):
            expected = f"shape {(*shape, n_heads)}" if shape else f"{n_heads} values"
            raise self._make_error(answer, f"an action of a {group.name} has {expected}.")
        return [values[..., head] for head in range(n_heads)]

    def _check_head(
        self, part: Any, head: ActionHead, group: AgentGroup, shape: tuple[int, ...]
    ) -> Ints:
        """Return the choices or numbers of one head as int64 actions of `shape`."""
        values = np.asarray(part)
        if values.dtype.kind in "OU":  # names of choices, or names beside indices
            choices = [
                self._find_choice(str(v), head, group) if isinstance(v, str) else v
                for v in values.flat
            ]
            values = np.array(choices).reshape(values.shape)
        if values.shape == shape and head.is_continuous and values.dtype.kind in "iuf":
            return encode_numbers(values).reshape(shape)
        if values.shape == shape and not head.is_continuous and values.dtype.kind in "iu":
            return values.astype(np.int64)
        kind = "a number" if head.is_continuous else "the index or the name of a choice"
        raise self._make_error(part, f"head '{head.name}' takes {kind} for each agent.")

    def _find_choice(self, name: str, head: ActionHead, group: AgentGroup) -> int:
        """Return the index of a choice."""
        if name not in head.choices:
            hint = format_suggestion(name, head.choices)
            problem = f"head '{head.name}' of a {group.name} has no such choice.{hint}"
            raise self._make_error(name, problem)
        return head.choices.index(name)

    def _make_error(self, answer: Any, problem: str) -> ContractError:
        """Return the error for an answer that is no action."""
        message = f"{self.step.__qualname__} returned {reprlib.repr(answer)}; {problem}"
        return ContractError(message, find_definition(self.step))


class DictPolicy(BatchDictPolicy):
    """Base class of policies that act for one agent at a time: override `step`.

    `step(observation, info)` gets `[*shape]` of each field by name and returns the index or the name
    of a choice, one for each head in a list, or a table by head. `reset(info)` may prepare
    `info.memory`, which `memory_layout` declares.

    Args:
        spec: Groups, observation fields and action heads of the world.
    """

    def step(self, observation: DictObservation, info: AgentInfo) -> Any:
        """Return the action of one agent.

        Args:
            observation: `[*shape]` of each field of the agent's observation, by name.
            info: Which agent it is.

        Returns:
            The index or the name of a choice (a number for a continuous head) where there is one
            head, else a list with one for each head, or a table of them by the name of a head; heads
            that are left out do nothing.
        """
        return super().step(observation, info)

    def _reset_rows(self, call: _Call, group: AgentGroup, rows: Any) -> None:
        """Call `reset` for one agent after the other."""
        for row in rows.tolist():
            super()._reset_rows(call, group, row)

    def _act_rows(self, call: _Call, group: AgentGroup, rows: Any, fields: DictObservation) -> None:
        """Call `step` for one agent after the other."""
        for i, row in enumerate(rows.tolist()):
            super()._act_rows(call, group, row, {name: array[i] for name, array in fields.items()})
