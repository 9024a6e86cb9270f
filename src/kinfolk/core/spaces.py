"""What a world shows and what it takes: the layout of observations and actions.

Every agent's observation is one flat row of bytes. A group (a species, a team) says which named
fields lie where in it; windows may differ by group. Actions are whole numbers, one per head.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Bytes
from kinfolk.core.errors import UnknownNameError, format_suggestion

_ALIGNMENT = 8


@dataclass(frozen=True)
class ObservationField:
    """A named block of an observation, such as a window of cells or a vector of facts."""

    name: str
    shape: tuple[int, ...]
    dtype: str

    @property
    def n_bytes(self) -> int:
        """Bytes it takes."""
        return prod(self.shape) * np.dtype(self.dtype).itemsize


@dataclass(frozen=True)
class ActionHead:
    """One part of an action: an index into `choices`."""

    name: str
    choices: tuple[str, ...]


@dataclass(frozen=True)
class AgentGroup:
    """Agents of one kind. All groups of a world have the same heads by name, in one order."""

    name: str
    fields: tuple[ObservationField, ...]
    heads: tuple[ActionHead, ...]

    @cached_property
    def offsets(self) -> dict[str, int]:
        """Where each field starts in a row."""
        starts, at = {}, 0
        for field in self.fields:
            starts[field.name] = at
            at += -(-field.n_bytes // _ALIGNMENT) * _ALIGNMENT
        return starts

    @property
    def row_bytes(self) -> int:
        """Bytes of one observation of this group."""
        return sum(-(-field.n_bytes // _ALIGNMENT) * _ALIGNMENT for field in self.fields)

    def read_field(self, observations: Bytes, name: str) -> AnyArray:
        """The field `name` of every row: a view, shaped `[rows, *shape]`."""
        field = next((f for f in self.fields if f.name == name), None)
        if field is None:
            known = [f.name for f in self.fields]
            raise UnknownNameError(
                f"Group {self.name} has no field '{name}'.{format_suggestion(name, known)}"
            )
        start = self.offsets[name]
        block = observations[:, start : start + field.n_bytes].view(field.dtype)
        return block.reshape(len(observations), *field.shape)


@dataclass(frozen=True)
class WorldSpec:
    """The face of a world: all that a policy may know before it plays.

    `rows` is how many agents have a place at once; `max_ticks` when an episode is cut; `rules` are
    the numbers of its rules that players may know, such as prices and the size of the map.
    """

    world: str
    rows: int
    groups: tuple[AgentGroup, ...]
    max_ticks: int
    rules: tuple[tuple[str, int], ...] = ()

    @cached_property
    def row_bytes(self) -> int:
        """Bytes of one observation: enough for the largest group."""
        return max(group.row_bytes for group in self.groups)

    @property
    def n_heads(self) -> int:
        """How many numbers make an action."""
        return len(self.groups[0].heads)

    @cached_property
    def n_choices(self) -> AnyArray:
        """`[groups, heads]`: how many choices each head has for each group."""
        return np.array([[len(h.choices) for h in g.heads] for g in self.groups], dtype=np.int64)

    def group_index(self, name: str) -> int:
        """The number of the group called `name`."""
        names = [group.name for group in self.groups]
        if name not in names:
            raise UnknownNameError(
                f"World {self.world} has no group '{name}'.{format_suggestion(name, names)}"
            )
        return names.index(name)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for another process."""
        return asdict(self)

    @staticmethod
    def from_dict(data: dict[str, Any]) -> WorldSpec:
        """The spec that `to_dict` described."""
        return WorldSpec(
            world=data["world"],
            rows=data["rows"],
            max_ticks=data["max_ticks"],
            rules=tuple((str(name), int(value)) for name, value in data.get("rules", ())),
            groups=tuple(
                AgentGroup(
                    group["name"],
                    tuple(
                        ObservationField(f["name"], tuple(f["shape"]), f["dtype"])
                        for f in group["fields"]
                    ),
                    tuple(ActionHead(h["name"], tuple(h["choices"])) for h in group["heads"]),
                )
                for group in data["groups"]
            ),
        )
