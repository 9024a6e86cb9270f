"""A line-up: the slots of a game and the map from agents to them, as settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import field_serializer, field_validator, model_validator

from kinfolk.core.arrays import Ints
from kinfolk.core.errors import SettingsError, require
from kinfolk.core.settings import Flag, Settings, setting
from kinfolk.core.spaces import WorldSpec
from kinfolk.play.slots import (
    PolicySlot,
    SlotMap,
    build_slot_assignment,
    check_unique_ids,
    parse_slot,
)

DEFAULT_SLOT_ID = "main"  # the slot there is when none is named
DEFAULT_URI = "kin://random"


class SlotConfig(Settings):
    """Who plays whom. Without settings one trainable slot `main` plays everybody.

    `slots` may be written as a table of URIs (`{"herd": "kin://grazer"}`), as a table of tables, or
    as a list of slots with ids. `agent_slot_map` gives a slot per group or per agent;
    `world_slot_maps` others for worlds by name. A newborn takes the slot of its group, or with
    `inherit_slot` that of its first parent.
    """

    slots: Annotated[tuple[PolicySlot, ...], Flag("--slot", "ID=URI", "slot", repeats=True)] = (
        setting(
            (PolicySlot(id=DEFAULT_SLOT_ID, policy_uri=DEFAULT_URI),),
            "Policies that play: a slot id and a policy URI each, with options behind commas.",
            min_length=1,
        )
    )
    agent_slot_map: Annotated[
        dict[str, Any] | tuple[Any, ...] | None, Flag("--map", "GROUP=ID")
    ] = setting(None, "Which slot plays which group, or a list with the slot of each agent.")
    world_slot_maps: dict[str, Any] = setting(
        {}, "Slot maps of single worlds by name, instead of the general one."
    )
    inherit_slot: bool = setting(
        False, "A newborn takes the slot of its first parent instead of that of its group."
    )

    @model_validator(mode="before")
    @classmethod
    def _reject_dual_policy(cls, given: Any) -> Any:
        if isinstance(given, Mapping) and "dual_policy" in given:
            raise SettingsError(
                "There is no setting 'dual_policy'. Write two slots and a map instead: slots = "
                "{student = 'URI', npc = {policy_uri = 'URI', trainable = false}}, agent_slot_map = "
                "['student', ..., 'npc', ...] with one entry per agent."
            )
        return given

    @field_validator("slots", mode="before")
    @classmethod
    def _read_slots(cls, given: Any) -> Any:
        if isinstance(given, Mapping):
            return tuple(parse_slot(str(name), slot) for name, slot in given.items())
        require(
            isinstance(given, Sequence) and not isinstance(given, str),
            f"{cls.__name__}.slots must be a table or a list of slots, not {given!r}.",
        )
        for slot in given:
            named = isinstance(slot, PolicySlot) or (isinstance(slot, Mapping) and "id" in slot)
            require(named, f"A slot in a list needs an id; this one has none: {slot!r}.")
        return tuple(s if isinstance(s, PolicySlot) else parse_slot(s["id"], s) for s in given)

    @field_validator("slots")
    @classmethod
    def _check_unique_ids(cls, slots: tuple[PolicySlot, ...]) -> tuple[PolicySlot, ...]:
        check_unique_ids([slot.id for slot in slots])
        return slots

    @field_validator("agent_slot_map", "world_slot_maps", mode="before")
    @classmethod
    def _check_slot_map(cls, given: Any) -> Any:
        require(
            given is None or isinstance(given, (Mapping, list, tuple)),
            f"A slot map is a table of groups or a list of agents, not {given!r}.",
        )
        return given

    @field_serializer("slots")
    def _serialize_slots(self, slots: tuple[PolicySlot, ...]) -> dict[str, Any]:
        """As a person would write them: what is not said otherwise is left out."""
        tables = {slot.id: slot.model_dump(exclude_defaults=True, exclude={"id"}) for slot in slots}
        return {
            name: table["policy_uri"] if list(table) == ["policy_uri"] else table
            for name, table in tables.items()
        }

    @property
    def slot_ids(self) -> list[str]:
        """The names of the slots, in order."""
        return [slot.id for slot in self.slots]

    @property
    def policy_uris(self) -> dict[str, str]:
        """The policies that slots name by URI."""
        return {s.id: s.policy_uri for s in self.slots if s.policy_uri is not None}

    def slot_map_for(self, world: str) -> SlotMap | None:
        """The map that holds in a world; None is everybody to the first slot."""
        found: SlotMap | None = self.world_slot_maps.get(world, self.agent_slot_map)
        return found

    def build_assignment(self, spec: WorldSpec) -> Ints:
        """`[groups, rows]`: who plays whom in a world."""
        return build_slot_assignment(spec, self.slot_ids, self.slot_map_for(spec.world))

    def require_trainable(self) -> None:
        """For training: somebody has to learn.

        Raises:
            SettingsError: No slot is trainable.
        """
        require(
            any(slot.trainable for slot in self.slots),
            f"No slot is trainable, so there is nothing to train. Set trainable = true for one of: "
            f"{', '.join(self.slot_ids)}.",
        )
