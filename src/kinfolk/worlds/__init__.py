"""Worlds by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kinfolk.core.arrays import AnyArray
from kinfolk.core.errors import UnknownNameError, format_suggestion
from kinfolk.core.registry import Registry, RegistryEntry

GYM_PREFIX = "gym:"


class WorldRegistry(Registry):
    """The table, and every Gymnasium task by its id."""

    def __contains__(self, name: object) -> bool:
        return str(name).startswith(GYM_PREFIX) or super().__contains__(name)

    def get_entry(self, name: str) -> RegistryEntry:
        """The row named `name`; `gym:ID` is one for any id, as is `gym:MODULE:ID`."""
        if name.startswith(GYM_PREFIX):
            return RegistryEntry(
                "kinfolk.worlds.gymnasium_task.world:GymWorld",
                f"the Gymnasium task {name[len(GYM_PREFIX) :]}",
            )
        if name not in self and _is_gymnasium_task(name):
            raise UnknownNameError(
                f"No world is named '{name}'. Did you mean '{GYM_PREFIX}{name}'?"
            )
        return super().get_entry(name)


def _is_gymnasium_task(name: str) -> bool:
    """Whether it is one, which takes a moment to find out: only asked of names nobody else has."""
    try:
        from gymnasium import registry
    except ModuleNotFoundError:
        return False
    return name in registry


WORLDS = WorldRegistry(
    "world",
    "worlds",
    {
        "savanna": RegistryEntry(
            "kinfolk.worlds.savanna.world:SavannaWorld",
            "predators, prey and grass: team capture, carcasses, lineages, caps",
        ),
        "cogsguard": RegistryEntry(
            "kinfolk.worlds.cogsguard.world:CogsguardWorld",
            "teams mine, make hearts, change gear and hold junctions against clips",
        ),
        "gym:CartPole-v1": RegistryEntry(
            "kinfolk.worlds.gymnasium_task.world:GymWorld",
            "a Gymnasium task as a world of one agent; any other by gym:ID or gym:MODULE:ID",
        ),
        "probe": RegistryEntry(
            "kinfolk.testing.probe.world:ProbeWorld",
            "a ring of grazers and hunters; tiny, for tests and first steps",
        ),
    },
)


def get_presets(name: str) -> Mapping[str, Mapping[str, Any]]:
    """The named sets of rules of a world: settings that differ from its defaults."""
    found: Mapping[str, Mapping[str, Any]] = getattr(WORLDS.load(name), "presets", {})
    return found


def get_preset_descriptions(name: str) -> Mapping[str, str]:
    """A line about each preset of a world."""
    found: Mapping[str, str] = getattr(WORLDS.load(name), "preset_descriptions", {})
    return found


def compute_world_metrics(
    name: str, full_length: AnyArray, values: Mapping[str, AnyArray]
) -> Mapping[str, AnyArray]:
    """What a world's users measure, worked out from what was counted, an entry per episode.

    A world offers them as a static method `compute_metrics(full_length, values)`; NaN marks an episode to which
    a measure does not apply.
    """
    measures = getattr(WORLDS.load(name), "compute_metrics", None)
    found: Mapping[str, AnyArray] = {} if measures is None else measures(full_length, values)
    return found


def build_world(
    name: str,
    settings: Mapping[str, Any],
    n_worlds: int,
    preset: str | None = None,
    threads: int = 1,
) -> Any:
    """A batch of `n_worlds` worlds of the kind `name`, not yet reset.

    `settings` go before those of the preset; tables within are merged. `threads` is for worlds
    that can use them; it changes no result.

    Raises:
        UnknownNameError: There is no such world or preset.
        SettingsError: A setting is wrong.
    """
    from kinfolk.core.settings import merge_settings, validate_settings

    kind = WORLDS.load(name)
    chosen: Mapping[str, Any] = {}
    if preset is not None:
        known = get_presets(name)
        if preset not in known:
            hint = format_suggestion(preset, known)
            raise UnknownNameError(f"World {name} has no preset '{preset}'.{hint}")
        chosen = known[preset]
    named = {"task": name[len(GYM_PREFIX) :]} if name.startswith(GYM_PREFIX) else {}
    asked = validate_settings(kind.settings_type, merge_settings(chosen, {**settings, **named}))
    return kind(asked, n_worlds, threads) if threads > 1 else kind(asked, n_worlds)
