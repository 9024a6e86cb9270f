"""Write policies one agent at a time, with the interface that users of mettagrid know.

Write a class that makes agents, and an agent that has `reset` and `step`; kinfolk plays it like any
other policy:

    class Forager(MultiAgentPolicy):
        def agent_policy(self, agent_id):
            return ForagingAgent(self.policy_env_info, agent_id)

    class ForagingAgent(AgentPolicy):
        def reset(self, seed=0, episode=0, uid=0):
            self.random = random.Random(seed)
        def step(self, observation):
            return Action(self.random.choice(["left", "right"]), observation.group)

`reset` may leave out the arguments that it does not need; `step` may return indices of choices instead
of an `Action`. `single_agent.py` has the other direction, which plays one agent with a batched policy.
"""

from __future__ import annotations

import inspect
import reprlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from kinfolk.core.arrays import AnyArray, Bytes, Ints
from kinfolk.core.errors import (
    ContractError,
    SettingsError,
    find_definition,
    format_suggestion,
    require,
)
from kinfolk.core.imports import import_own
from kinfolk.core.spaces import ActionHead, AgentGroup, WorldSpec, decode_numbers, encode_numbers
from kinfolk.policies.base import (
    AgentBatch,
    Memory,
    StatelessPolicy,
    find_noop,
    single_agent_batch,
)
from kinfolk.policies.build import ResolvedPolicy

PolicyEnvInterface = WorldSpec  # what a policy may know of the world before it plays


class _NamedArray(np.ndarray):
    """An array that knows the group of its agent; what is computed from it is a plain array."""

    group: AgentGroup

    def __array_wrap__(
        self, array: AnyArray, context: Any = None, return_scalar: bool = False
    ) -> Any:
        """Return the result of a computation as a plain array or number."""
        plain = np.asarray(array)
        return plain[()] if return_scalar else plain


class AgentObservation(_NamedArray):
    """What one agent sees in one step: its encoded row, `[bytes]` of uint8, and who it is.

    Args:
        row: `[bytes]`, the encoded observation.
        agent_id: The agent's row in the world.
        group: Observation and action space of the agent.
    """

    agent_id: int

    def __new__(cls, row: Any, agent_id: int, group: AgentGroup) -> AgentObservation:
        """Make an observation that shares its bytes with `row`."""
        self = np.asarray(row, dtype=np.uint8).view(cls)
        self.agent_id = agent_id
        self.group = group
        return self

    def __array_finalize__(self, source: Any) -> None:
        """Let copies and parts keep the agent."""
        self.agent_id = getattr(source, "agent_id", -1)
        self.group = getattr(source, "group", _NO_GROUP)

    def __reduce__(self) -> tuple[Any, ...]:
        """Let pickles keep the agent."""
        return AgentObservation, (np.asarray(self), self.agent_id, self.group)

    @property
    def fields(self) -> dict[str, AnyArray]:
        """The observation as arrays by name, as `group.fields` describes them."""
        rows = np.asarray(self)[None]
        return {
            field.name: self.group.read_field(rows, field.name)[0] for field in self.group.fields
        }


class Action(_NamedArray):
    """What one agent does: an index for each head, `[heads]` of int64, with the names of the choices.

    >>> from kinfolk.core.spaces import ActionHead, AgentGroup
    >>> heads = (ActionHead("move", ("stay", "left", "right")), ActionHead("call", ("no", "yes")))
    >>> action = Action("right", AgentGroup("grazer", (), heads))
    >>> action.tolist(), action.name, action.names
    ([2, 0], 'right', {'move': 'right', 'call': 'no'})

    Args:
        choice: Name of a choice of the first head, a table of names or indices by head (numbers for
            continuous heads), or one index for each head. A head that is left out does nothing.
        group: Observation and action space of the agent: `observation.group`.

    Raises:
        SettingsError: The group has no such head or choice.
    """

    def __new__(cls, choice: Any, group: AgentGroup) -> Action:
        """Make an action from names or indices."""
        heads = group.heads
        if isinstance(choice, str):
            choice = {heads[0].name: choice}
        elif not isinstance(choice, Mapping):
            indices = np.asarray(choice, dtype=np.int64).reshape(-1)
            require(
                len(indices) == len(heads),
                f"An action of a {group.name} has {len(heads)} heads, not {len(indices)}.",
            )
            return cls._from_indices(indices, group)
        names = [head.name for head in heads]
        encoded = np.array([find_noop(head.choices) for head in heads], dtype=np.int64)
        for name, value in choice.items():
            if name not in names:
                hint = format_suggestion(str(name), names)
                raise SettingsError(f"A {group.name} has no head '{name}'.{hint}")
            encoded[names.index(name)] = _encode_choice(value, heads[names.index(name)])
        return cls._from_indices(encoded, group)

    @classmethod
    def _from_indices(cls, indices: Ints, group: AgentGroup) -> Action:
        """Make an action of checked indices."""
        self = indices.view(cls)
        self.group = group
        return self

    def __array_finalize__(self, source: Any) -> None:
        """Let copies keep the group."""
        self.group = getattr(source, "group", _NO_GROUP)

    def __reduce__(self) -> tuple[Any, ...]:
        """Let pickles keep the group."""
        return Action, (np.asarray(self), self.group)

    @property
    def names(self) -> dict[str, str | float]:
        """Name of the choice of each head; a number for continuous heads."""
        values: dict[str, str | float] = {}
        for head, index in zip(self.group.heads, np.asarray(self), strict=True):
            values[head.name] = (
                float(decode_numbers(index)) if head.is_continuous else head.choices[index]
            )
        return values

    @property
    def name(self) -> str | float:
        """Name of the choice of the first head."""
        return self.names[self.group.heads[0].name]


_NO_GROUP = AgentGroup("agent", (), ())  # of arrays that are parts of no observation or action


def _encode_choice(value: Any, head: ActionHead) -> int:
    """Return the integer that stands for a choice, by name or index, or for a number."""
    if head.is_continuous:
        return int(encode_numbers(np.array(value)))
    if not isinstance(value, str):
        return int(value)
    if value not in head.choices:
        hint = format_suggestion(value, head.choices)
        raise SettingsError(f"Head '{head.name}' has no choice '{value}'.{hint}")
    return head.choices.index(value)


class AgentPolicy(Protocol):
    """Plays one agent of a `MultiAgentPolicy`."""

    def reset(self, seed: int = 0, episode: int = 0, uid: int = 0) -> None:
        """Prepare for a new life; equal arguments must lead to equal actions.

        Args:
            seed: Random key of the life.
            episode: Number of the episode; 0 in an evaluation, where `seed` follows from it.
            uid: The agent's uid in the episode.
        """

    def step(self, observation: AgentObservation) -> Any:
        """Return the action for one observation: an `Action`, or one index for each head."""


@dataclass(frozen=True)
class PolicySpec:
    """A policy named by class path or URI, weights file and keyword arguments."""

    class_path: str  # package.module.Class, package.module:Class, or a URI such as kin://hunter
    data_path: str | Path | None = None  # file of weights, passed to `load`
    init_kwargs: dict[str, Any] = field(default_factory=dict)  # of its constructor

    def resolve(self, trusted: bool = True) -> ResolvedPolicy:
        """Read the weights and return the value from which any process can build the policy.

        Args:
            trusted: Whether the class may be imported now, which runs the code of its module.
        """
        weights = {} if self.data_path is None else {"weights": str(self.data_path)}
        # Imported here: a policy derived from the classes of this file needs no URIs and files.
        resolve_named = import_own("kinfolk.policies.resolve:resolve_named")
        settings = {**self.init_kwargs, **weights}
        resolved: ResolvedPolicy = resolve_named(self.class_path, settings, trusted)
        return resolved


class ResetArguments(NamedTuple):
    """Arguments of a call of `AgentPolicy.reset`; None stands for one that was not given."""

    seed: int | None = None
    episode: int | None = None
    uid: int | None = None

    def to_batch(self, agent_id: int, group: int) -> tuple[AgentBatch, Ints]:
        """Return a batch of one agent and its key, which hold the arguments as they were given.

        World -1 marks such a batch. The key holds the seed; the columns of the parents, which this
        agent does not have, hold the episode and a bit for each argument that was given.
        """
        seed, episode, uid = (value or 0 for value in self)
        given = sum(1 << i for i, value in enumerate(self) if value is not None)
        batch = single_agent_batch(uid, group)
        row, world = batch.row + agent_id, batch.world - 1
        parents = np.array([[episode, given]], dtype=np.int64)
        return batch._replace(row=row, world=world, parents=parents), np.array([seed], np.int64)

    @staticmethod
    def from_batch(batch: AgentBatch, keys: Ints, i: int) -> ResetArguments:
        """Return the arguments for agent `i` of a batch, of `to_batch` or of an episode loop."""
        seed, uid = int(keys[i]), int(batch.uid[i])
        if batch.world[i] >= 0:
            return ResetArguments(seed, 0, uid)
        episode, given = batch.parents[i].tolist()
        values = (seed, episode, uid)
        return ResetArguments(*(v if given >> bit & 1 else None for bit, v in enumerate(values)))


class MultiAgentPolicy(StatelessPolicy):
    """Base class of policies that are written per agent: override `agent_policy`.

    An agent keeps its state in itself, so a snapshot in the middle of an episode is not supported: use
    `memory` (see `kinfolk.policies.base`) where that is needed. `reset` gets as `seed` the random key
    of the life that begins, which follows from the seed of the run, the episode and the uid; agents
    that draw from it alone play the same episode each time.

    Args:
        policy_env_info: Observations, actions and public rules of the world.
    """

    _init_arguments: tuple[tuple[Any, ...], dict[str, Any]]  # to build the policy again elsewhere

    def __new__(cls, *args: Any, **kwargs: Any) -> MultiAgentPolicy:
        """Make the object, and remember the arguments with which another process can build it."""
        self = super().__new__(cls)
        self._init_arguments = (args, kwargs)
        return self

    def __init__(self, policy_env_info: PolicyEnvInterface) -> None:
        self.policy_env_info = policy_env_info
        # By memory index and row: a worker that plays one agent of many rows has one memory index.
        self._agents: dict[tuple[int, int], AgentPolicy] = {}
        self._actions: Ints = np.zeros((0, policy_env_info.n_heads), dtype=np.int64)

    def agent_policy(self, agent_id: int) -> AgentPolicy:
        """Return the agent that plays row `agent_id` of a world."""
        raise NotImplementedError(f"{type(self).__name__} must define agent_policy(agent_id).")

    def reset_agents(self, batch: AgentBatch, memory: Memory, keys: Ints) -> None:  # noqa: ARG002
        """Reset the agents whose lives start, and make those that do not exist yet."""
        for i, place in enumerate(_places(batch)):
            if place not in self._agents:
                self._agents[place] = self._make_agent(place[1])
            _reset_agent(self._agents[place], ResetArguments.from_batch(batch, keys, i))

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:  # noqa: ARG002
        """Call `step` of every agent in the batch."""
        n_heads, actions = self.policy_env_info.n_heads, []
        groups = [self.policy_env_info.groups[index] for index in batch.group.tolist()]
        for place, row, group in zip(_places(batch), observations, groups, strict=True):
            agent = self._agents[place]
            observation = AgentObservation(row, place[1], group)
            actions.append(_check_action(agent.step(observation), n_heads, agent.step))
        self._actions = np.array(actions, dtype=np.int64)

    def shutdown(self) -> None:
        """Release resources outside this process; `close` calls it."""

    def close(self) -> None:
        """Call `shutdown`, the hook for subclasses."""
        self.shutdown()

    def __enter__(self) -> MultiAgentPolicy:
        return self

    def __exit__(self, *error: object) -> None:
        self.shutdown()

    def _make_agent(self, agent_id: int) -> AgentPolicy:
        """Return the agent of a row, after a check that it can be called.

        Raises:
            ContractError: It has no `reset` or `step` that can be called as `AgentPolicy` says.
        """
        agent = self.agent_policy(agent_id)
        missing = [name for name in ("reset", "step") if not callable(getattr(agent, name, None))]
        if missing:
            raise ContractError(
                f"{_name_of(self.agent_policy)} returned {reprlib.repr(agent)}, which has no "
                f"{' and no '.join(missing)}; an agent has reset() and step(observation).",
                find_definition(self.agent_policy),
            )
        _check_parameters(agent.reset, (), ResetArguments._fields)
        _check_parameters(agent.step, ("observation",), ())
        return agent


def _places(batch: AgentBatch) -> list[tuple[int, int]]:
    """Return the memory index and row of every agent of a batch."""
    return list(zip(batch.memory_index.tolist(), batch.row.tolist(), strict=True))


def _get_parameters(method: Callable[..., Any]) -> Mapping[str, inspect.Parameter] | None:
    """Return the parameters of a method by name; None if they are unknown, as of some compiled code."""
    try:
        return inspect.signature(method).parameters
    except ValueError:
        return None


def _reset_agent(agent: AgentPolicy, arguments: ResetArguments) -> None:
    """Call `reset` of an agent with those arguments that were given and that it takes."""
    given = {name: value for name, value in arguments._asdict().items() if value is not None}
    taken = _get_parameters(agent.reset)
    if taken is not None and not any(p.kind is p.VAR_KEYWORD for p in taken.values()):
        given = {name: value for name, value in given.items() if name in taken}
    agent.reset(**given)


def _check_parameters(
    method: Callable[..., Any], positional: tuple[str, ...], keywords: tuple[str, ...]
) -> None:
    """Check that a method of an agent can be called.

    Args:
        method: The bound method.
        positional: Names of its arguments, in order.
        keywords: Names of further arguments that it may take.

    Raises:
        ContractError: It needs another argument, or takes too few.
    """
    parameters = _get_parameters(method)
    if parameters is None:
        return
    needed = [n for n, p in parameters.items() if p.default is p.empty and n in keywords]
    try:
        inspect.signature(method).bind(*positional, **dict.fromkeys(needed))
    except TypeError as error:
        takes = f"takes {', '.join(positional)}"
        if keywords:
            takes = f"may take {', '.join(keywords[:-1])} and {keywords[-1]}, and nothing else"
        message = f"{_name_of(method)} cannot be called: {error}. It {takes}."
        raise ContractError(message, find_definition(method)) from None


def _name_of(method: Callable[..., Any]) -> str:
    """Return class and name of a method."""
    return str(getattr(method, "__qualname__", "step"))


def _check_action(answer: Any, n_heads: int, step: Callable[..., Any]) -> Ints:
    """Return the answer of an agent as `[heads]` integers.

    Args:
        answer: What its `step` returned.
        n_heads: Number of integers that make up an action.
        step: The method, for the error message.

    Raises:
        ContractError: It is not one integer per head; the error names the author's class and line.
    """
    try:
        action = np.asarray(answer).reshape(-1)
    except ValueError:  # lists of different lengths
        action = np.zeros(0)
    if len(action) != n_heads or action.dtype.kind not in "iu":
        heads = "one integer" if n_heads == 1 else f"one integer for each of {n_heads} heads"
        raise ContractError(
            f"{_name_of(step)} returned {reprlib.repr(answer)}; an action is {heads}.",
            find_definition(step),
        )
    return action.astype(np.int64)
