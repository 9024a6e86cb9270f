"""Policy slots: their settings, the assignment of agents to them, the registry of loaded policies.

Playing, evaluation and training all use slots and a map from agents to slots. Two teachers and two
students in a world of four agents:

>>> slots = [PolicySlot(id="teacher", policy_uri="kin://noop", trainable=False),
...          PolicySlot(id="student", policy_uri="kin://random")]
>>> agent_slot_map = ["teacher", "teacher", "student", "student"]
>>> [find_slot_index(["teacher", "student"], name) for name in agent_slot_map]
[0, 0, 1, 1]
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from pydantic import Field, model_validator

from kinfolk.core.arrays import Ints
from kinfolk.core.errors import SettingsError, format_suggestion, require
from kinfolk.core.settings import Settings, parse_value, setting, validate_settings
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.base import Policy
from kinfolk.policies.build import ResolvedPolicy, build_policy
from kinfolk.policies.resolve import resolve, resolve_class

SlotName: TypeAlias = str | int

SlotMap: TypeAlias = Mapping[str, SlotName] | Sequence[SlotName]


class Founders(NamedTuple):
    """The agents that live at the start of an episode, in the order of their rows."""

    row: Ints
    group: Ints  # index


IsolationMode: TypeAlias = Literal["none", "slot", "agent"]


class LoadedSlot(NamedTuple):
    """A slot with its policy, ready to play; results refer to the slot by its id."""

    id: str
    policy: Policy


class PolicySlot(Settings):
    """Settings of a slot: which policy plays it, how it is isolated and trained."""

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
    device: str = setting(
        "cpu", "Torch device of the slot's policy; jobs run policies on the CPU only."
    )
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
        """Check that the slot has an id, and either `policy_uri` or `class_path`.

        Raises:
            SettingsError: The id is empty, or both or none of the two are given.
        """
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
        """Resolve the policy of a job; `trusted` allows importing its code to check it.

        Raises:
            UsageError: There is no such policy, or the slot asks for another device than the CPU.
        """
        require(
            self.device == "cpu",
            f"Slot '{self.id}' asks for the device '{self.device}', which is not available: policies "
            f"play and learn on the CPU. Set device = 'cpu'.",
        )
        return self.find_policy(trusted)

    def find_policy(self, trusted: bool = True) -> ResolvedPolicy:
        """Resolve the policy, reading its weights, for any device; see `resolve_policy`."""
        if self.class_path is not None:
            return resolve_class(self.class_path, self.policy_kwargs, trusted)
        return resolve(str(self.policy_uri), self.policy_kwargs, trusted)


# How slots may be written: a table of URIs, tables or, in Python, policies; or a list of slots.
SlotsLike: TypeAlias = (
    Mapping[str, str | Mapping[str, Any] | PolicySlot | Policy | Callable[..., Any]]
    | Sequence[PolicySlot | Mapping[str, Any]]
)

_OPTION_NAMES = "|".join(name for name in PolicySlot.model_fields if name != "id")

_OPTION_SEPARATOR = re.compile(rf",(?=(?:{_OPTION_NAMES})=)")


def parse_slot(slot_id: str, value: Any) -> PolicySlot:
    """Return a slot from `URI[,key=value,...]`, as on the command line, or a table of settings.

    Args:
        slot_id: Id of the slot.
        value: Text, table of settings, or a slot, which is returned as it is.

    Raises:
        SettingsError: The value has another type, or a setting is wrong.

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
    settings: dict[str, Any] = {"id": slot_id}
    if uri.startswith("class:") and "?" not in uri:
        settings["class_path"] = uri.removeprefix("class:")
    else:
        settings["policy_uri"] = uri
    for option in options:
        key, _, text = option.partition("=")
        settings[key] = parse_value(text)
    return validate_settings(PolicySlot, settings)


def is_founder_list(spec: WorldSpec, agent_slot_map: SlotMap | None) -> bool:
    """Return whether a slot map lists agents, but not all rows of the world: those at the start."""
    is_list = agent_slot_map is not None and not isinstance(agent_slot_map, Mapping)
    return is_list and len(agent_slot_map or ()) != spec.rows


def build_slot_assignment(
    spec: WorldSpec,
    slots: Sequence[str],
    agent_slot_map: SlotMap | None = None,
    founders: Founders | None = None,
) -> Ints:
    """Return the slot index of each group and row of a world.

    Args:
        spec: The world's spec.
        slots: Ids of the slots, in order.
        agent_slot_map: Slot, by id or index, of each group (`{"grazer": "herd"}`), of each agent at
            the start, or of each row. Groups left out are played by the first slot, and rows without
            an agent at the start by the slot of the first agent of their group. None: the first slot
            plays every agent.
        founders: The agents at the start; None: a list must have all rows.

    Returns:
        `[groups, rows]`, index of the slot that plays an agent of the group in the row.

    Raises:
        SettingsError: Two slots have the same id, or the map names an unknown slot or has a wrong
            length.
        UnknownNameError: The map names a group that the world does not have.
    """
    check_unique_ids(slots)
    assignment = np.zeros((len(spec.groups), spec.rows), dtype=np.int64)
    if agent_slot_map is None:
        return assignment
    if isinstance(agent_slot_map, Mapping):
        for group, slot in agent_slot_map.items():
            assignment[spec.group_index(group)] = find_slot_index(slots, slot)
        return assignment
    listed = np.array([find_slot_index(slots, slot) for slot in agent_slot_map], dtype=np.int64)
    if not is_founder_list(spec, agent_slot_map):
        assignment[:] = listed
        return assignment
    n, size = len(listed), f"{spec.rows} rows"
    if founders is None:
        raise SettingsError(f"The slot map has {n} entries; world {spec.world} has {size}.")
    require(
        n == len(founders.row),
        f"The slot map has {n} entries; world {spec.world} starts with {len(founders.row)} agents and "
        f"has {size}. Give a slot for each agent at the start, for each row, or for each group.",
    )
    groups, first = np.unique(founders.group, return_index=True)
    assignment[groups] = listed[first, None]
    assignment[:, founders.row] = listed
    return assignment


def check_unique_ids(slot_ids: Sequence[str]) -> None:
    """Check that no two slots have the same id.

    Raises:
        SettingsError: Two slots have the same id.
    """
    for name in slot_ids:
        unique = list(slot_ids).count(name) == 1
        require(unique, f"Two slots have the id '{name}'. Give each slot its own id.")


def find_slot_index(slot_ids: Sequence[str], name: SlotName) -> int:
    """Return the index of a slot that a map names by its id or by its index.

    Raises:
        SettingsError: There is no such slot.
    """
    if isinstance(name, int):
        last = len(slot_ids) - 1
        require(0 <= name <= last, f"The slot map names slot number {name}; there are 0 to {last}.")
        return name
    if name not in slot_ids:
        suggestion = format_suggestion(name, slot_ids)
        if "Did you mean" not in suggestion:
            suggestion += f" To add it, say who plays it: --slot {name}=POLICY."
        raise SettingsError(f"The slot map names no known slot '{name}'.{suggestion}")
    return list(slot_ids).index(name)


def check_learning(slots: Sequence[LoadedSlot], in_order: bool) -> None:
    """Check that policies which learn between episodes are played in the order of the episodes.

    Args:
        slots: The slots with their policies.
        in_order: Whether the episodes are played one at a time, in order.

    Raises:
        SettingsError: One learns, and they are not.
    """
    for slot in slots:
        policy = getattr(slot.policy, "unwrapped", slot.policy)
        require(
            in_order or not hasattr(policy, "end_episode"),
            f"The policy of slot '{slot.id}' learns between episodes, so they have to be played in order, "
            "and this job plays them at once or more than once. Evaluate it (kf.evaluate, kinfolk "
            "eval); &learn=0 plays evolved roles without learning.",
        )


class SlotRegistry:
    """Loads policies of slots and caches them by content, not by slot id.

    Slots with the same class, settings and weights share one policy; a weights file that has changed
    since counts as different. With `training`, a trainable slot has its own policy, because its
    updates must not reach a slot that started with the same weights.

    Args:
        training: Whether the policies of trainable slots will be updated.
        max_policies: Capacity of the cache, which drops the least recently used; None: unlimited.
        batch_invariant: Whether to refuse nets whose outputs depend on the batch, as
            `policies.resolve.build_policy` does.
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
        """Raise the capacity of the cache to `n_policies`, the number that play together."""
        if self._max_policies is not None:
            self._max_policies = max(self._max_policies, n_policies)

    def get(
        self, slot: PolicySlot, policy_env_info: WorldSpec, device: str | None = None
    ) -> Policy:
        """Return the policy of a slot, ready to play a world.

        Args:
            slot: Settings of the slot.
            policy_env_info: Spec of the world.
            device: Torch device; None takes that of the slot.

        Raises:
            UsageError: The slot names no policy, or one that cannot be built for this world.
        """
        owner = slot.id if self._training and slot.trainable else ""
        return self.load(slot.find_policy(), policy_env_info, device or slot.device, owner)

    def load(
        self, resolved: ResolvedPolicy, world_spec: WorldSpec, device: str = "cpu", owner: str = ""
    ) -> Policy:
        """Return the policy with this content from the cache, or build it.

        Args:
            resolved: Class, settings and weights.
            world_spec: Spec of the world.
            device: Torch device.
            owner: Policies of different owners are never shared.

        Raises:
            UsageError: The policy cannot be built for this world or moved to this device.
        """
        key = (resolved.sha256, world_spec, device, owner)
        policy = self._loaded.pop(key, None)
        if policy is None:
            policy = build_policy(resolved, world_spec, self._batch_invariant)
            if device != "cpu":
                _move_to_device(policy, resolved.class_path, device)
        self._loaded[key] = policy
        while self._max_policies is not None and len(self._loaded) > self._max_policies:
            self._loaded.pop(next(iter(self._loaded))).close()
        return policy

    def discard(self, policy: Policy) -> None:
        """Remove a policy that failed from the cache and close it."""
        for key in [key for key, cached in self._loaded.items() if cached is policy]:
            del self._loaded[key]
        policy.close()

    def close(self) -> None:
        """Close all cached policies and empty the cache."""
        while self._loaded:
            self._loaded.popitem()[1].close()


def _move_to_device(policy: Policy, class_path: str, device: str) -> None:
    """Call the policy's `to` with a torch device.

    Args:
        policy: The policy.
        class_path: Its class path, for the error message.
        device: Torch device.

    Raises:
        SettingsError: The policy has no method `to`.
    """
    move: Any = getattr(policy, "to", None)
    require(
        move is not None,
        f"{class_path} cannot be moved to device '{device}', because it has no method `to`. Set "
        f"device = 'cpu'.",
    )
    move(device)
