"""Who plays whom: slots, and the table from agents to slots.

One table of slots and one map from agents to slots serve playing, judging and training. The first
example of the documents, two teachers and two students in a world of four:

>>> slots = [PolicySlot(id="teacher", policy_uri="kin://noop", trainable=False),
...          PolicySlot(id="student", policy_uri="kin://random")]
>>> agent_slot_map = ["teacher", "teacher", "student", "student"]
>>> [index_of(["teacher", "student"], name) for name in agent_slot_map]
[0, 0, 1, 1]
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from pydantic import Field, model_validator

from kinfolk.core.arrays import Ints
from kinfolk.core.errors import SettingsError, require, suggestion
from kinfolk.core.settings import Settings, plain_value, read
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.base import Policy
from kinfolk.policies.resolve import ResolvedPolicy, resolve, resolve_class

SlotName: TypeAlias = str | int
SlotMap: TypeAlias = Mapping[str, SlotName] | Sequence[SlotName]
Isolate: TypeAlias = Literal["none", "slot", "agent"]


class Slot(NamedTuple):
    """A policy that plays, under the name its results go by."""

    id: str
    policy: Policy


class PolicySlot(Settings):
    """A policy by name, and how it takes part."""

    id: str
    policy_uri: str | None = None
    class_path: str | None = None
    policy_kwargs: dict[str, Any] = Field(default={})
    trainable: bool = True
    loss_profile: str | None = None
    device: str = "cpu"
    isolate: Isolate | None = None  # None: as the evaluation says
    train_every: int = Field(default=1, ge=1)
    train_for: int | None = Field(default=None, ge=1)
    learning_rate: float | None = Field(default=None, gt=0)

    @model_validator(mode="after")
    def _names_one_policy(self) -> PolicySlot:
        require(bool(self.id), "A slot needs an id that is not empty.")
        require(
            self.policy_uri is None or self.class_path is None,
            f"Slot '{self.id}' has both policy_uri '{self.policy_uri}' and class_path "
            f"'{self.class_path}'. Give one of them.",
        )
        require(
            self.policy_uri is not None or self.class_path is not None,
            f"Slot '{self.id}' has neither policy_uri nor class_path. Give one of them, such as "
            f"policy_uri 'kin://random'.",
        )
        return self

    def resolved(self, trusted: bool = True) -> ResolvedPolicy:
        """What the slot's name stands for now; weights are read here, code runs if `trusted`."""
        if self.class_path is not None:
            return resolve_class(self.class_path, self.policy_kwargs, trusted)
        return resolve(str(self.policy_uri), self.policy_kwargs, trusted)


_OPTIONS = "|".join(name for name in PolicySlot.model_fields if name != "id")
_COMMA = re.compile(rf",(?=(?:{_OPTIONS})=)")


def read_slot(id: str, given: Any) -> PolicySlot:
    """A slot from `URI[,key=value,...]`, as on the command line, or from a table of settings.

    >>> slot = read_slot("pack", "kin://roles?miner=4,trainable=false,isolate=agent")
    >>> slot.policy_uri, slot.trainable, slot.isolate
    ('kin://roles?miner=4', False, 'agent')
    >>> read_slot("mine", "class:my.Policy").class_path
    'my.Policy'
    """
    if isinstance(given, PolicySlot):
        return given
    if isinstance(given, Mapping):
        return read(PolicySlot, {"id": id, **given})
    require(isinstance(given, str), f"Slot '{id}' must be a URI or a table, not {given!r}.")
    uri, *options = _COMMA.split(given)
    named: dict[str, Any] = {"id": id}
    if uri.startswith("class:") and "?" not in uri:
        named["class_path"] = uri.removeprefix("class:")
    else:
        named["policy_uri"] = uri
    for option in options:
        key, _, text = option.partition("=")
        named[key] = plain_value(text)
    return read(PolicySlot, named)


def slot_table(spec: WorldSpec, slots: Sequence[str], mapping: SlotMap | None = None) -> Ints:
    """`[groups, rows]`: which slot plays a life of a group in a row.

    `mapping` gives a slot, by name or index, per group (`{"grazer": "herd"}`) or per row; without
    it the first slot plays everybody. Groups left out are played by the first slot.

    Raises:
        SettingsError: Two slots share a name, or the mapping names no slot or has a wrong length.
        UnknownNameError: The mapping names a group that the world does not have.
    """
    refuse_twins(slots)
    table = np.zeros((len(spec.groups), spec.rows), dtype=np.int64)
    if mapping is None:
        return table
    if isinstance(mapping, Mapping):
        for group, slot in mapping.items():
            table[spec.group_index(group)] = index_of(slots, slot)
        return table
    if len(mapping) != spec.rows:
        raise SettingsError(
            f"The slot map has {len(mapping)} entries; world {spec.world} has {spec.rows} rows."
        )
    table[:] = [index_of(slots, slot) for slot in mapping]
    return table


def refuse_twins(slots: Sequence[str]) -> None:
    """Every slot has a name of its own."""
    for name in slots:
        if list(slots).count(name) > 1:
            raise SettingsError(f"Two slots are called '{name}'. Give each a name of its own.")


def index_of(slots: Sequence[str], name: SlotName) -> int:
    """The number of the slot that a map names, by its id or by that number."""
    if isinstance(name, int):
        if not 0 <= name < len(slots):
            raise SettingsError(
                f"The slot map names slot number {name}; there are 0 to {len(slots) - 1}."
            )
        return name
    if name not in slots:
        raise SettingsError(f"The slot map names no known slot '{name}'.{suggestion(name, slots)}")
    return list(slots).index(name)
