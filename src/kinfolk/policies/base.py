"""Define the contract of a policy: a batch of agents in, actions out, no hidden state.

What a policy remembers of an agent lies in `memory`: arrays with one row per agent slot, owned by the
episode loop and changed in place by the policy, only at the rows of the current batch. So a batch of
any size gives the same actions, and memory can be saved and restored.

A policy may also explain its last decisions. An `Explainable` one has `explanation_schema`, which
names behaviors and outcomes, and `last_explanation()`, which gives them for the agents of the last
`act_async`, in the same order. Explanations cost nothing while they are disabled.

A policy may learn from one episode to the next: if it has a method
`end_episode(world, index, memory)`, the loop calls it when an episode of a world has ended. Only jobs
that play their episodes one at a time and in order accept such a policy, in their own process: an
evaluation, and games that are played one by one.

`StatelessPolicy` is a base class for policies; `NoopPolicy` and `RandomPolicy` play any world. An
`ObservationTransform` computes what a neural policy reads from what the world gives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np

from kinfolk.core.arrays import AnyArray, Bools, Bytes, Floats, Ints
from kinfolk.core.errors import SettingsError, format_suggestion
from kinfolk.core.imports import import_object, import_own
from kinfolk.core.random import randint, uniform
from kinfolk.core.spaces import ACTION_MASK, AgentGroup, WorldSpec

Memory: TypeAlias = Mapping[str, AnyArray]


class MemoryField(NamedTuple):
    """Shape and dtype of one array that a policy keeps per agent."""

    shape: tuple[int, ...]  # of one agent's entry; () for a scalar
    dtype: str  # numpy name, such as "float32"


MemoryLayout: TypeAlias = Mapping[str, MemoryField]


class AgentBatch(NamedTuple):
    """Identity of every agent in a batch; all arrays are int64 and have one entry per agent."""

    memory_index: Ints  # the agent's row in the arrays of `memory`
    world: Ints  # index of its world in the batch of worlds
    row: Ints  # its row in that world
    uid: Ints  # unique within an episode, also across births
    group: Ints  # index into `WorldSpec.groups`
    member: Ints  # which member of the policy's population plays it; 0 unless assigned otherwise
    parents: Ints  # [n, 2] uids, -1 for none
    parent_memory_index: Ints  # [n, 2] rows of the parents' memory; -1: none, or of another policy


class Policy(Protocol):
    """Chooses actions for batches of agents.

    Randomness comes only from `keys`, one per agent: the draws for agent `i` follow from `keys[i]`
    alone.
    """

    @property
    def memory_layout(self) -> MemoryLayout:
        """Describe the arrays that the policy keeps per agent; empty if it is stateless."""

    def reset_agents(self, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Prepare the memory of agents whose lives start now.

        Args:
            batch: The new agents.
            memory: All memory of this policy; zero at the rows of the new agents, while the rows of
                their parents hold what the parents left there.
            keys: `[n]`, the random key of each agent's whole life.
        """

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Start to compute actions; `act_wait` returns them.

        The arrays belong to the caller and stay valid only until `act_wait` returns.

        Args:
            observations: `[n, spec.row_bytes]`, one encoded observation per agent.
            batch: The agents that act.
            memory: All memory of this policy, changed in place at `batch.memory_index`.
            keys: `[n]`, the random key of each agent for this tick.
        """

    def act_wait(self) -> Ints:
        """Return the actions for the last `act_async`, int64 `[n, heads]`."""

    def close(self) -> None:
        """Release resources outside this process; safe to call twice."""


class AgentAccounts(NamedTuple):
    """Counters of an episode loop in which one slot plays all agents; `[W * N]` unless stated."""

    key: Ints  # random key of each agent's life
    n_steps: Ints  # number of its actions so far
    total_reward: Floats  # sum of its rewards so far
    returns: Floats  # [W, slots] sum of the rewards in an episode
    ticks_lived: Ints  # [W, slots] number of actions in an episode
    group_ticks: Ints  # [W, groups] the same by group
    group: Ints  # group of each agent
    reward: Floats  # reward of the last tick
    slot: int  # the slot that plays


class FusedPlayer(Protocol):
    """Plays ticks of a world with a policy without Python in between.

    A policy that can do so has a method `make_fused_player(world, memory, observations, actions)`,
    which returns one, or None where it does not apply. Results equal those of the episode loop.
    """

    def play(self, accounts: AgentAccounts, worlds: Ints, n_ticks: int) -> None:
        """Play ticks in worlds that have no new agents.

        Args:
            accounts: Counters of the loop, written.
            worlds: Worlds to play.
            n_ticks: Number of ticks; no world ends before the last of them.
        """


def allocate_memory(layout: MemoryLayout, capacity: int) -> dict[str, AnyArray]:
    """Return zeroed arrays for `capacity` agents; pages that stay untouched cost no memory."""
    return {name: np.zeros((capacity, *f.shape), dtype=f.dtype) for name, f in layout.items()}


def prefix_layout(policy_name: str, layout: MemoryLayout) -> dict[str, MemoryField]:
    """Return `layout` with every name prefixed, for a policy that contains other policies."""
    return {f"{policy_name}/{name}": entry for name, entry in layout.items()}


def select_memory(memory: Memory, policy_name: str) -> dict[str, AnyArray]:
    """Return the arrays (not copies) of a contained policy, under the names of its own layout."""
    prefix = f"{policy_name}/"
    names = [name for name in memory if name.startswith(prefix)]
    return {name.removeprefix(prefix): memory[name] for name in names}


def empty_batch() -> AgentBatch:
    """Return a batch without agents, with which a policy compiles the kernels it calls."""
    empty, pairs = np.zeros(0, dtype=np.int64), np.zeros((0, 2), dtype=np.int64)
    return AgentBatch(empty, empty, empty, empty, empty, empty, pairs, pairs)


def single_agent_batch(uid: int, group: int, member: int = 0) -> AgentBatch:
    """Return the batch of one agent that plays by itself.

    Args:
        uid: The agent's uid.
        group: Index of its group in `WorldSpec.groups`.
        member: Member of the policy's population that plays it.

    Returns:
        A batch of size 1 with memory row 0, world 0 and no parents.
    """
    zero, no_parents = np.zeros(1, dtype=np.int64), np.full((1, 2), -1, dtype=np.int64)
    identity = (zero + uid, zero + group, zero + member)
    return AgentBatch(zero, zero, zero, *identity, no_parents, no_parents)


@dataclass(frozen=True)
class ExplanationSchema:
    """Names for the indices in an `ExplanationBatch`.

    Attributes:
        behaviors: Names of the behaviors that can be considered.
        outcomes: Names of the possible outcomes of a behavior; the one that acts has `ACTED`.
        facts: Further columns by name (such as the role an agent plays), each with the names of its
            values, or with none if its values are plain numbers.
        depth: The most behaviors that are listed per agent.
    """

    behaviors: tuple[str, ...]
    outcomes: tuple[str, ...]
    facts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    depth: int = 8


@dataclass(frozen=True)
class ExplanationBatch:
    """Which behaviors each agent considered, in order, and the outcome of each.

    Attributes:
        considered: `[n, depth]`, indices into `ExplanationSchema.behaviors`; -1 ends the list.
        outcome: `[n, depth]`, indices into `ExplanationSchema.outcomes`; -1 ends the list.
        facts: `[n]` each, by the names of `ExplanationSchema.facts`.
    """

    considered: AnyArray
    outcome: AnyArray
    facts: Mapping[str, AnyArray] = field(default_factory=dict)


ACTED = "acts"  # the outcome of the behavior that acts


@runtime_checkable
class Explainable(Protocol):
    """A policy that can explain its decisions."""

    @property
    def explanation_schema(self) -> ExplanationSchema:
        """Name the behaviors, outcomes and facts of its explanations."""

    def enable_explanations(self, enabled: bool) -> None:
        """Start or stop recording an explanation with every `act_async`."""

    def last_explanation(self) -> ExplanationBatch:
        """Return the explanation for the agents of the last `act_async`."""


def find_explainable(policy: object) -> Explainable | None:
    """Return the policy, or the policy inside its failure guard, if it can explain itself.

    In an evaluation a policy is wrapped by a guard that handles its failures; the guard has it as
    `unwrapped`, which changes when the policy is restarted.
    """
    unwrapped = getattr(policy, "unwrapped", policy)
    return unwrapped if isinstance(unwrapped, Explainable) else None


_NOOP_CHOICES = ("noop", "stay", "quiet", "none", "default")


class StatelessPolicy:
    """Base class of policies without memory that compute their actions in `act_async`."""

    @property
    def memory_layout(self) -> MemoryLayout:
        """An empty layout, because nothing is remembered."""
        return {}

    def reset_agents(self, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Do nothing: there is no memory to prepare."""

    def act_wait(self) -> Ints:
        """Return the actions that `act_async` computed."""
        return self._actions

    def close(self) -> None:
        """Do nothing: no resources are held."""

    _actions: Ints


class NoopPolicy(StatelessPolicy):
    """Chooses `noop`, `stay` or the like in every head; the first choice where there is none.

    Args:
        spec: Spec of the world to play.
    """

    def __init__(self, spec: WorldSpec) -> None:
        # The bits of the number 0.0 are 0, so that continuous heads need no case of their own.
        choices = [[find_noop(head.choices) for head in group.heads] for group in spec.groups]
        self._noop_choice = np.array(choices, dtype=np.int64)

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Choose the no-op action of every agent's group."""
        self._actions = self.noop_actions(batch.group)

    def noop_actions(self, group: Ints) -> Ints:
        """Return the no-op actions `[n, heads]` of agents of these groups."""
        actions: Ints = self._noop_choice.take(group, axis=0)  # twice as fast as indexing
        return actions


def find_noop(choices: Sequence[str]) -> int:
    """Return the index of the choice that does nothing, or 0 if no choice has such a name."""
    return next((choices.index(name) for name in _NOOP_CHOICES if name in choices), 0)


class RandomPolicy(StatelessPolicy):
    """Draws every action head uniformly at random, a number without bounds between -1 and 1.

    Where observations hold an action mask (a field `action_mask`), it draws from the choices that
    are allowed; from all choices of a head if none is.

    Args:
        spec: Spec of the world to play.
    """

    def __init__(self, spec: WorldSpec) -> None:
        self._n_choices = spec.n_choices
        self._masked_groups: dict[int, AgentGroup] = {}
        for index, group in enumerate(spec.groups):
            if ACTION_MASK in group.offsets:
                self._masked_groups[index] = group
        bounds = spec.action_bounds
        self._bounds = np.where(np.isfinite(bounds), bounds, np.array([-1.0, 1.0]))
        self._continuous = np.flatnonzero((self._n_choices == 0).any(axis=0))
        # Imported here, so that policies without kernels do without numba; see `core.inline`.
        self._sample_uniform = import_own("kinfolk.policies.random_kernel:sample_uniform")

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Draw the actions from each agent's key."""
        self._actions = np.empty((len(keys), self._n_choices.shape[1]), dtype=np.int64)
        self._sample_uniform(keys, batch.group, self._n_choices, self._actions)
        for head in self._continuous.tolist():
            low, high = self._bounds[batch.group, head].T
            self._actions.view(np.float64)[:, head] = low + uniform(keys, head) * (high - low)
        for index, group in self._masked_groups.items():
            rows = np.flatnonzero(batch.group == index)
            mask = group.read_field(observations[rows], ACTION_MASK)
            self._draw_allowed(rows, mask != 0, self._n_choices[index], keys[rows])

    def _draw_allowed(self, rows: Ints, allowed: Bools, n_choices: Ints, keys: Ints) -> None:
        """Draw the choices of `rows` again, from those that are allowed, `[n, choices]`."""
        first = 0
        for head, size in enumerate(n_choices.tolist()):
            if size == 0:  # a continuous head has no choices in the mask
                continue
            choices = allowed[:, first : first + size]
            first += size
            n_allowed = np.count_nonzero(choices, axis=1)
            drawn = randint(keys, head, n_allowed)
            nth_allowed = np.argmax(np.cumsum(choices, axis=1) > drawn[:, None], axis=1)
            restricted = n_allowed > 0
            self._actions[rows[restricted], head] = nth_allowed[restricted]


IDENTITY = "identity"  # the observation as the world gives it
TRANSFORMS = {"map_features": "kinfolk.policies.scripted.cogsguard.map_features.MapFeatures"}


class ObservationTransform(Protocol):
    """Turns observations into what a net reads; constructed with the world's `WorldSpec`.

    It may keep memory per agent, under the rules of `kinfolk.policies.base`. Its output is encoded
    as its own `spec` says.
    """

    spec: WorldSpec  # of the transformed observations

    @property
    def memory_layout(self) -> MemoryLayout:
        """Describe the arrays that the transform keeps per agent."""

    def reset_agents(self, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Prepare the memory of agents whose lives start now; see `Policy.reset_agents`."""

    def transform(
        self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints
    ) -> Bytes:
        """Return the transformed observations, `[n, spec.row_bytes]`.

        Args:
            observations: `[n, row_bytes]`, as the world encodes them.
            batch: The agents that observe.
            memory: The transform's own memory, changed in place at `batch.memory_index`.
            keys: `[n]`, the random key of each agent for this tick.
        """


def make_transform(name: str, spec: WorldSpec) -> ObservationTransform | None:
    """Return the transform of that name or class path; None for the identity.

    Raises:
        SettingsError: There is no such transform, or it does not support this world.
    """
    if name == IDENTITY:
        return None
    if name not in TRANSFORMS and "." not in name:
        hint = format_suggestion(name, [IDENTITY, *TRANSFORMS])
        message = f"There is no transform '{name}', and it is not a class path either.{hint}"
        raise SettingsError(message)
    transform: ObservationTransform = import_object(TRANSFORMS.get(name, name))(spec)
    return transform
