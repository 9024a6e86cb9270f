"""Policy slots: their settings, the assignment of agents to them, and the registry that loads their policies.

One set of slots and one map from agents to slots serve playing, evaluation and training. Two teachers
and two students in a world of four:

>>> slots = [PolicySlot(id="teacher", policy_uri="kin://noop", trainable=False),
...          PolicySlot(id="student", policy_uri="kin://random")]
>>> agent_slot_map = ["teacher", "teacher", "student", "student"]
>>> [find_slot_index(["teacher", "student"], name) for name in agent_slot_map]
[0, 0, 1, 1]
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from pydantic import Field, model_validator

from kinfolk.core.arrays import Ints
from kinfolk.core.errors import SettingsError, format_suggestion, require
from kinfolk.core.settings import Settings, parse_value, setting, validate_settings
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.base import Policy
from kinfolk.policies.resolve import ResolvedPolicy, build_policy, resolve, resolve_class

SlotName: TypeAlias = str | int

SlotMap: TypeAlias = Mapping[str, SlotName] | Sequence[SlotName]

IsolationMode: TypeAlias = Literal["none", "slot", "agent"]


class LoadedSlot(NamedTuple):
    """A policy that plays, under the name its results go by."""

    id: str
    policy: Policy


class PolicySlot(Settings):
    """A policy by name, and how it takes part."""

    id: str = Field(description="Name of the slot in maps and results.")
    policy_uri: str | None = setting(None, "Policy of the slot as a URI; see `kinfolk policies`.")
    class_path: str | None = setting(
        None, "Policy of the slot as the import path of a class, instead of a URI."
    )
    policy_kwargs: dict[str, Any] = setting({}, "Keyword arguments of the policy.")
    trainable: bool = setting(True, "Whether training updates the slot's policy.")
    loss_profile: str | None = setting(
        None, "Loss profile of the slot's rows; by default the first one."
    )
    device: str = setting("cpu", "Torch device of the slot's net.")
    isolate: IsolationMode | None = setting(
        None, "Processes of the slot's policy; by default as the evaluation says."
    )
    train_every: int = setting(1, "Length in updates of the slot's training cycle.", ge=1)
    train_for: int | None = setting(
        None, "Updates of each cycle in which the slot trains; by default all of them.", ge=1
    )
    learning_rate: float | None = setting(
        None, "Learning rate of the slot; by default that of the training.", gt=0
    )

    @model_validator(mode="after")
    def _check_policy_source(self) -> PolicySlot:
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

    def resolve_policy(self, trusted: bool = True) -> ResolvedPolicy:
        """What the slot's name stands for now; weights are read here, code runs if `trusted`."""
        if self.class_path is not None:
            return resolve_class(self.class_path, self.policy_kwargs, trusted)
        return resolve(str(self.policy_uri), self.policy_kwargs, trusted)


# How slots may be written: a table of URIs or of tables, or a list of slots.
SlotsLike: TypeAlias = (
    Mapping[str, str | Mapping[str, Any] | PolicySlot] | Sequence[PolicySlot | Mapping[str, Any]]
)

_OPTION_NAMES = "|".join(name for name in PolicySlot.model_fields if name != "id")

_OPTION_SEPARATOR = re.compile(rf",(?=(?:{_OPTION_NAMES})=)")


def parse_slot(slot_id: str, value: Any) -> PolicySlot:
    """A slot from `URI[,key=value,...]`, as on the command line, or from a table of settings.

    >>> slot = parse_slot("pack", "kin://roles?miner=4,trainable=false,isolate=agent")
    >>> slot.policy_uri, slot.trainable, slot.isolate
    ('kin://roles?miner=4', False, 'agent')
    >>> parse_slot("mine", "class:my.Policy").class_path
    'my.Policy'
    """
    if isinstance(value, PolicySlot):
        return value
    if isinstance(value, Mapping):
        return validate_settings(PolicySlot, {"id": slot_id, **value})
    require(isinstance(value, str), f"Slot '{slot_id}' must be a URI or a table, not {value!r}.")
    uri, *options = _OPTION_SEPARATOR.split(value)
    named: dict[str, Any] = {"id": slot_id}
    if uri.startswith("class:") and "?" not in uri:
        named["class_path"] = uri.removeprefix("class:")
    else:
        named["policy_uri"] = uri
    for option in options:
        key, _, text = option.partition("=")
        named[key] = parse_value(text)
    return validate_settings(PolicySlot, named)


def build_slot_assignment(
    spec: WorldSpec, slots: Sequence[str], agent_slot_map: SlotMap | None = None
) -> Ints:
    """`[groups, rows]`: which slot plays a life of a group in a row.

    `agent_slot_map` gives a slot, by name or index, per group (`{"grazer": "herd"}`) or per row; without
    it the first slot plays everybody. Groups left out are played by the first slot.

    Raises:
        SettingsError: Two slots share a name, or the mapping names no slot or has a wrong length.
        UnknownNameError: The mapping names a group that the world does not have.
    """
    check_unique_ids(slots)
    table = np.zeros((len(spec.groups), spec.rows), dtype=np.int64)
    if agent_slot_map is None:
        return table
    if isinstance(agent_slot_map, Mapping):
        for group, slot in agent_slot_map.items():
            table[spec.group_index(group)] = find_slot_index(slots, slot)
        return table
    if len(agent_slot_map) != spec.rows:
        raise SettingsError(
            f"The slot map has {len(agent_slot_map)} entries; world {spec.world} has {spec.rows} rows."
        )
    table[:] = [find_slot_index(slots, slot) for slot in agent_slot_map]
    return table


def check_unique_ids(slot_ids: Sequence[str]) -> None:
    """Every slot has a name of its own."""
    for name in slot_ids:
        if list(slot_ids).count(name) > 1:
            raise SettingsError(f"Two slots are called '{name}'. Give each a name of its own.")


def find_slot_index(slot_ids: Sequence[str], name: SlotName) -> int:
    """The number of the slot that a map names, by its id or by that number."""
    if isinstance(name, int):
        if not 0 <= name < len(slot_ids):
            raise SettingsError(
                f"The slot map names slot number {name}; there are 0 to {len(slot_ids) - 1}."
            )
        return name
    if name not in slot_ids:
        raise SettingsError(
            f"The slot map names no known slot '{name}'.{format_suggestion(name, slot_ids)}"
        )
    return list(slot_ids).index(name)


class SlotRegistry:
    """Loads the policies of slots and keeps them, by content and not by the name of a slot.

    Two slots with the same class, settings and weights share one policy; a file of weights that
    has changed since is another. With `training`, a trainable slot has a policy of its own, because
    what it learns must not reach a slot that began with the same weights.

    Args:
        training: Whether trainable slots will be changed.
        batch_invariant: Refuse nets that are not, as `policies.resolve.build` does.
        keep: How many policies are held; the one asked for longest ago goes first.
    """

    def __init__(
        self, training: bool = False, max_policies: int | None = None, batch_invariant: bool = True
    ) -> None:
        self._training, self._max_policies = training, max_policies
        self._batch_invariant = batch_invariant
        self._loaded: dict[tuple[str, WorldSpec, str, str], Policy] = {}

    def __len__(self) -> int:
        return len(self._loaded)

    def ensure_capacity(self, n_policies: int) -> None:
        """Keep at least so many from now on: those that play together."""
        if self._max_policies is not None:
            self._max_policies = max(self._max_policies, n_policies)

    def get(self, slot: PolicySlot, world_spec: WorldSpec, device: str | None = None) -> Policy:
        """The policy of a slot, ready to play the world.

        Raises:
            UsageError: The slot names no policy, or one that cannot be made for this world.
        """
        owner = slot.id if self._training and slot.trainable else ""
        return self.load(slot.resolve_policy(), world_spec, device or slot.device, owner)

    def load(
        self, resolved: ResolvedPolicy, world_spec: WorldSpec, device: str = "cpu", owner: str = ""
    ) -> Policy:
        """The policy with this content; `owner` keeps it apart from others."""
        key = (resolved.sha256, world_spec, device, owner)
        policy = self._loaded.pop(key, None)
        if policy is None:
            policy = build_policy(resolved, world_spec, self._batch_invariant)
            _move(policy, resolved.class_path, device)
        self._loaded[key] = policy
        while self._max_policies is not None and len(self._loaded) > self._max_policies:
            self._loaded.pop(next(iter(self._loaded))).close()
        return policy

    def discard(self, policy: Policy) -> None:
        """Close a policy that is not to be trusted any more."""
        for key in [key for key, held in self._loaded.items() if held is policy]:
            del self._loaded[key]
        policy.close()

    def close(self) -> None:
        """Close all."""
        while self._loaded:
            self._loaded.popitem()[1].close()


def _move(policy: Policy, class_path: str, device: str) -> None:
    if device == "cpu":
        return
    to = getattr(policy, "to", None)
    if to is None:
        raise SettingsError(
            f"{class_path} runs on the cpu only, not on '{device}': it has no method to."
        )
    to(device)
