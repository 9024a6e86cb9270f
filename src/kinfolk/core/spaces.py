"""Observation and action spaces of a world: the layout of what agents see and choose.

Every agent's observation is one flat row of bytes. A group (a species, a team) defines the named
fields in it, so that observation windows may differ between groups. An action is one integer per
head: an index into the choices of a discrete head, or the bits of a float64 number for a continuous
one. So actions are int64 everywhere, and numbers pass through unchanged, bit by bit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Bytes, Floats, Ints
from kinfolk.core.errors import make_unknown_name_error

# Name of a field with one number per choice of all heads: 0 where the choice is not allowed now.
ACTION_MASK = "action_mask"
_ALIGNMENT = 8  # bytes; fields start at multiples of it, so that views of any dtype are aligned


@dataclass(frozen=True)
class ObservationField:
    """A named block of an observation, such as a window of cells or a feature vector.

    Attributes:
        name: Unique within its group.
        shape: Shape for one agent.
        dtype: Name of a numpy dtype.
        labels: What each index of the first axis means, such as the planes of a window; empty if
            the world does not say. Fields of the same layout are equal, whatever their labels.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    labels: tuple[str, ...] = field(default=(), compare=False)

    @property
    def n_bytes(self) -> int:
        """Size of the field for one agent, without padding."""
        return prod(self.shape) * np.dtype(self.dtype).itemsize

    @property
    def padded_bytes(self) -> int:
        """Size of the field in a row of observations, rounded up to the alignment."""
        return -(-self.n_bytes // _ALIGNMENT) * _ALIGNMENT


@dataclass(frozen=True)
class ActionHead:
    """One component of an action: an index into `choices`, or a number if there are none.

    Attributes:
        name: Unique within its group.
        choices: What each index means; empty for a continuous head.
        low: Lowest number of a continuous head; -inf if it is not bounded.
        high: Highest number of a continuous head. The world clips numbers beyond its bounds.
    """

    name: str
    choices: tuple[str, ...]
    low: float = 0.0
    high: float = 0.0

    @property
    def is_continuous(self) -> bool:
        """Whether actions are numbers, whose float64 bits are carried as int64."""
        return not self.choices


@dataclass(frozen=True)
class AgentGroup:
    """Observation and action space of one kind of agents.

    All groups of a world have heads of the same names, in the same order.

    Attributes:
        name: Unique within the world.
        fields: Fields of an observation, in the order in which they lie in a row.
        heads: Components of an action.
    """

    name: str
    fields: tuple[ObservationField, ...]
    heads: tuple[ActionHead, ...]

    @cached_property
    def offsets(self) -> dict[str, int]:
        """First byte of each field in a row, by the name of the field."""
        offsets, end = {}, 0
        for block in self.fields:
            offsets[block.name] = end
            end += block.padded_bytes
        return offsets

    @property
    def row_bytes(self) -> int:
        """Size of one observation of this group, with padding."""
        return sum(field.padded_bytes for field in self.fields)

    def read_field(self, observations: Bytes, name: str) -> AnyArray:
        """Return one field of a batch of observations, as a view.

        Args:
            observations: `[rows, bytes]`, observations of agents of this group.
            name: Name of the field.

        Returns:
            `[rows, *shape]` of the field's dtype.

        Raises:
            UnknownNameError: The group has no such field.
        """
        field = next((f for f in self.fields if f.name == name), None)
        if field is None:
            known = [f.name for f in self.fields]
            raise make_unknown_name_error(f"Group {self.name} has no field", name, known)
        start = self.offsets[name]
        block = observations[:, start : start + field.n_bytes].view(field.dtype)
        return block.reshape(len(observations), *field.shape)


@dataclass(frozen=True)
class WorldSpec:
    """Everything that a policy may know of a world before an episode starts.

    Attributes:
        world: Name of the world.
        rows: How many agents can be alive at once.
        groups: Observation and action space of each kind of agents.
        max_ticks: Length at which an episode is truncated.
        rules: Names and values of the rules that policies may know, such as prices.
    """

    world: str
    rows: int
    groups: tuple[AgentGroup, ...]
    max_ticks: int
    rules: tuple[tuple[str, int], ...] = ()

    def __post_init__(self) -> None:
        """Restore groups and rules that are given as plain values: `WorldSpec(**spec.to_dict())`."""
        groups = [g if isinstance(g, AgentGroup) else _restore_group(g) for g in self.groups]
        object.__setattr__(self, "groups", tuple(groups))
        rules = tuple((str(name), int(value)) for name, value in self.rules)
        object.__setattr__(self, "rules", rules)

    @cached_property
    def row_bytes(self) -> int:
        """Size of an observation row that fits every group."""
        return max(group.row_bytes for group in self.groups)

    @property
    def n_heads(self) -> int:
        """Number of integers that make up an action."""
        return len(self.groups[0].heads)

    @cached_property
    def n_choices(self) -> AnyArray:
        """`[groups, heads]`, number of choices of each head in each group; 0 for continuous heads."""
        return np.array([[len(h.choices) for h in g.heads] for g in self.groups], dtype=np.int64)

    @cached_property
    def action_bounds(self) -> AnyArray:
        """`[groups, heads, 2]`, lowest and highest number of each continuous head."""
        bounds = [[(h.low, h.high) for h in g.heads] for g in self.groups]
        return np.array(bounds, dtype=np.float64).reshape(len(self.groups), self.n_heads, 2)

    @cached_property
    def action_limits(self) -> AnyArray:
        """`[groups, heads]`, uint64: actions viewed as unsigned are valid below these.

        All but the last are valid for a continuous head.
        """
        limits = self.n_choices.astype(np.uint64)
        limits[self.n_choices == 0] = np.iinfo(np.uint64).max
        return limits

    def group_index(self, name: str) -> int:
        """Return the index of the group named `name`.

        Raises:
            UnknownNameError: The world has no such group.
        """
        names = [group.name for group in self.groups]
        if name not in names:
            raise make_unknown_name_error(f"World {self.world} has no group", name, names)
        return names.index(name)

    def to_dict(self) -> dict[str, Any]:
        """Return the spec as JSON values, to be sent to another process."""
        data = asdict(self)
        for group in data["groups"]:
            for head in group["heads"]:
                if head["choices"]:  # the bounds are of continuous heads only
                    del head["low"], head["high"]
        return data

    @staticmethod
    def from_dict(data: dict[str, Any]) -> WorldSpec:
        """Restore a spec from the result of `to_dict`; other keys are ignored."""
        known = {field.name for field in fields(WorldSpec)}
        return WorldSpec(**{name: value for name, value in data.items() if name in known})


def _restore_group(data: Mapping[str, Any]) -> AgentGroup:
    """Return a group from plain values, as `WorldSpec.to_dict` has them."""
    observation = [
        (f["name"], tuple(f["shape"]), f["dtype"], tuple(f.get("labels", ())))
        for f in data["fields"]
    ]
    heads = tuple(
        ActionHead(h["name"], tuple(h["choices"]), h.get("low", 0.0), h.get("high", 0.0))
        for h in data["heads"]
    )
    return AgentGroup(data["name"], tuple(ObservationField(*f) for f in observation), heads)


def encode_numbers(numbers: AnyArray) -> Ints:
    """Return numbers as actions of continuous heads: the bits of float64 as int64.

    >>> encode_numbers(np.array([[0.0], [1.0]])).tolist()
    [[0], [4607182418800017408]]
    """
    bits: Ints = np.ascontiguousarray(numbers, dtype=np.float64).view(np.int64)
    return bits


def decode_numbers(actions: Ints) -> Floats:
    """Return the numbers that actions of continuous heads carry."""
    numbers: Floats = np.ascontiguousarray(actions, dtype=np.int64).view(np.float64)
    return numbers
