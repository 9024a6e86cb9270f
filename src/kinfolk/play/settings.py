"""Settings of all jobs that play episodes: world, rules, seed, slots and who plays which agents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import field_serializer, field_validator, model_validator

from kinfolk.core.arrays import Ints
from kinfolk.core.errors import SettingsError, format_suggestion, require
from kinfolk.core.settings import Flag, Settings, setting
from kinfolk.play.slots import (
    PolicySlot,
    SlotMap,
    build_slot_assignment,
    check_unique_ids,
    parse_slot,
)
from kinfolk.play.task import WorldRef
from kinfolk.worlds import WORLDS

DEFAULT_SLOT_ID = "main"  # id of the only slot if the settings name none
DEFAULT_URI = "kin://random"
SLOT_FLAG, MAP_FLAG = Flag("--slot", "ID=URI", "slot", repeats=True), Flag("--map", "GROUP=ID")


def _parse_listed_slot(slot: Any) -> PolicySlot:
    """Return a slot from an item of a list, which holds its own id."""
    if isinstance(slot, PolicySlot):
        return slot
    named = isinstance(slot, Mapping) and "id" in slot
    require(named, f"A slot in a list needs an id; this one has none: {slot!r}.")
    return parse_slot(slot["id"], slot)


class SlotConfig(Settings):
    """The slots and which agents each of them plays; by default one trainable slot plays all.

    `slots` is a table of URIs (`{"herd": "kin://grazer"}`), a table of tables, or a list of slots
    with ids. `agent_slot_map` gives a slot per group or per agent at the start; `world_slot_maps`
    overrides it for single environments: worlds of a training, episodes of an evaluation. A newborn takes the slot of its group; with `inherit_slot`,
    or if a map lists the agents at the start, that of its first parent.
    """

    slots: Annotated[tuple[PolicySlot, ...], SLOT_FLAG] = setting(
        (PolicySlot(id=DEFAULT_SLOT_ID, policy_uri=DEFAULT_URI),),
        "Policies that play: a slot id and a policy URI each, with options behind commas.",
        min_length=1,
    )
    agent_slot_map: Annotated[dict[str, Any] | tuple[Any, ...] | None, MAP_FLAG] = setting(
        None, "Which slot plays which group, or a list with the slot of each agent at the start."
    )
    world_slot_maps: dict[str | int, Any] = setting(
        {}, "Slot maps of single worlds or episodes by index, or by name of the world."
    )
    inherit_slot: bool = setting(
        False, "A newborn takes the slot of its first parent instead of that of its group."
    )

    @model_validator(mode="before")
    @classmethod
    def _reject_dual_policy(cls, value: Any) -> Any:
        """Refuse the former setting `dual_policy`, and show how to write it now.

        Raises:
            SettingsError: The settings have `dual_policy`.
        """
        if isinstance(value, Mapping) and "dual_policy" in value:
            raise SettingsError(
                "There is no setting 'dual_policy'. Write two slots and a map instead: slots = "
                "{student = 'URI', npc = {policy_uri = 'URI', trainable = false}}, agent_slot_map = "
                "['student', ..., 'npc', ...] with one entry per agent."
            )
        return value

    @model_validator(mode="before")
    @classmethod
    def _read_policy_slots(cls, value: Any) -> Any:
        """Accept `policy_slots`, the name in the design of slots, for `slots`.

        Raises:
            SettingsError: The settings have both.
        """
        if not (isinstance(value, Mapping) and "policy_slots" in value):
            return value
        require(
            "slots" not in value,
            "There are both 'slots' and 'policy_slots', two names of one table. Give one of them.",
        )
        return {("slots" if name == "policy_slots" else name): v for name, v in value.items()}

    @field_validator("slots", mode="before")
    @classmethod
    def _read_slots(cls, value: Any) -> tuple[PolicySlot, ...]:
        """Return slots from a table or list of them, each with its own id."""
        if isinstance(value, Mapping):
            slots = tuple(parse_slot(str(slot_id), slot) for slot_id, slot in value.items())
        else:
            is_list = isinstance(value, Sequence) and not isinstance(value, str)
            name = f"{cls.__name__}.slots"
            require(is_list, f"{name} must be a table or a list of slots, not {value!r}.")
            slots = tuple(_parse_listed_slot(slot) for slot in value)
        check_unique_ids([slot.id for slot in slots])
        return slots

    @field_validator("agent_slot_map", "world_slot_maps", mode="before")
    @classmethod
    def _check_slot_map(cls, value: Any) -> Any:
        """Check that a slot map is a table or a list."""
        require(
            value is None or isinstance(value, (Mapping, list, tuple)),
            f"A slot map is a table of groups or a list of agents, not {value!r}.",
        )
        return value

    @field_validator("world_slot_maps")
    @classmethod
    def _check_environment_names(cls, value: dict[str | int, Any]) -> dict[str | int, Any]:
        """Return the maps by text, as they are in a file, all of an index or of a known world.

        Raises:
            SettingsError: There is no such world.
        """
        maps: dict[str | int, Any] = {str(name): slot_map for name, slot_map in value.items()}
        for name in map(str, maps):
            is_known = name.isdecimal() or name in WORLDS or ":" in name
            hint = format_suggestion(name, WORLDS)
            require(is_known, f"world_slot_maps names no known world '{name}'.{hint}")
        return maps

    @field_serializer("slots")
    def _serialize_slots(self, slots: tuple[PolicySlot, ...]) -> dict[str, Any]:
        """Return the slots as a user would write them: a table without default values."""
        tables = {slot.id: slot.model_dump(exclude_defaults=True, exclude={"id"}) for slot in slots}
        return {
            name: table["policy_uri"] if list(table) == ["policy_uri"] else table
            for name, table in tables.items()
        }

    @property
    def slot_ids(self) -> list[str]:
        """The ids of the slots, in order."""
        return [slot.id for slot in self.slots]

    @property
    def policy_uris(self) -> dict[str, str]:
        """The policy URIs by slot id, without slots that name a class path."""
        return {s.id: s.policy_uri for s in self.slots if s.policy_uri is not None}

    def slot_map_for(self, world: str) -> SlotMap | None:
        """Return the slot map of a world; None if the first slot plays every agent."""
        slot_map: SlotMap | None = self.world_slot_maps.get(world, self.agent_slot_map)
        return slot_map

    @property
    def environment_slot_maps(self) -> dict[int, SlotMap]:
        """The slot maps of single environments, by the environment's index."""
        maps = self.world_slot_maps.items()
        return {int(name): slot_map for name, slot_map in maps if str(name).isdecimal()}

    def check_environments(self, n_environments: int, what: str) -> None:
        """Check that slot maps are of environments that there are.

        Args:
            n_environments: How many there are.
            what: What they are, such as "worlds of the training".

        Raises:
            SettingsError: There is no such environment.
        """
        for index in self.environment_slot_maps:
            require(
                index < n_environments,
                f"world_slot_maps has a map for environment {index}; the {what} are 0 to "
                f"{n_environments - 1}.",
            )

    def require_trainable(self) -> None:
        """Check that training has a slot to train.

        Raises:
            SettingsError: No slot is trainable.
        """
        require(
            any(slot.trainable for slot in self.slots),
            f"No slot is trainable, so there is nothing to train. Set trainable = true for one of: "
            f"{', '.join(self.slot_ids)}.",
        )


class WorldSelection(Settings):
    """Select a world, its rules and the random seed of its episodes."""

    world: Annotated[str, Flag(completes="world")] = setting(
        "probe", "World to play in; see `kinfolk worlds`."
    )
    preset: Annotated[str | None, Flag(completes="preset")] = setting(
        None, "Named set of rules of the world; see `kinfolk presets`."
    )
    world_settings: Annotated[dict[str, Any], Flag("--set")] = setting(
        {}, "Rules of the world to change; see `kinfolk settings WORLD`."
    )
    seed: int = setting(0, "Random seed.", ge=0)

    @model_validator(mode="before")
    @classmethod
    def _explain_unknown(cls, data: Any) -> Any:
        """Say what was meant by the name of a flag, of a rule of the world or of a policy."""
        names = data if isinstance(data, Mapping) else ()
        for name in [name for name in names if name not in cls.model_fields]:
            hint = cls._suggest(name, data)
            require(not hint, f"{cls.__name__} has no setting '{name}'. {hint}")
        return data

    @classmethod
    def _suggest(cls, name: str, data: Mapping[str, Any]) -> str:
        """Return which setting was meant by an unknown one; "" if it is nothing that people confuse."""
        flag = f"--{name.replace('_', '-')}"
        for known, info in cls.model_fields.items():
            if any(isinstance(each, Flag) and each.name == flag for each in info.metadata):
                return f"Did you mean '{known}'? {flag} is its flag on the command line."
        world = data.get("world", cls.model_fields["world"].default)
        if world in WORLDS and name in WORLDS.load(world).settings_type.model_fields:
            return f"It is a rule of the world: world_settings={{'{name}': {data[name]!r}}}."
        if name in ("policy", "agent", "agents", "uri") and "slots" in cls.model_fields:
            return f"Policies play slots: slots={{'all': {data[name]!r}}}."
        return ""

    @property
    def world_ref(self) -> WorldRef:
        """The world with its rules, as a `RolloutTask` refers to it."""
        return WorldRef(self.world, self.preset, self.world_settings)


class EpisodeSettings(SlotConfig, WorldSelection):
    """Select a world and the policies that play it."""

    def build_assignments(self) -> Ints:
        """Return the slot of each group and row: of the general map, then of single environments.

        Returns:
            `[maps, groups, rows]`, indices of slots.

        Raises:
            UsageError: A map does not fit the world or the slots.
        """
        spec = self.world_ref.spec
        maps = [self.slot_map_for(self.world), *self.environment_slot_maps.values()]
        founders = self.world_ref.find_founders(spec, maps)
        return np.stack(
            [build_slot_assignment(spec, self.slot_ids, each, founders) for each in maps]
        )
