"""Worlds by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kinfolk.core.arrays import AnyArray
from kinfolk.core.errors import UnknownNameError, suggestion
from kinfolk.core.registry import Entry, Registry

GYM = "gym:"


class Worlds(Registry):
    """The table, and every Gymnasium task by its id."""

    def __contains__(self, name: object) -> bool:
        return str(name).startswith(GYM) or super().__contains__(name)

    def entry(self, name: str) -> Entry:
        """The row named `name`; `gym:ID` is one for any id, as is `gym:MODULE:ID`."""
        if name.startswith(GYM):
            return Entry("kinfolk.worlds.gym:GymWorld", f"the Gymnasium task {name[len(GYM) :]}")
        if name not in self and _is_gym_task(name):
            raise UnknownNameError(f"No world is named '{name}'. Did you mean '{GYM}{name}'?")
        return super().entry(name)


def _is_gym_task(name: str) -> bool:
    """Whether it is one, which takes a moment to find out: only asked of names nobody else has."""
    try:
        from gymnasium import registry
    except ModuleNotFoundError:
        return False
    return name in registry


WORLDS = Worlds(
    "world",
    "worlds",
    {
        "savanna": Entry(
            "kinfolk.worlds.savanna.world:SavannaWorld",
            "predators, prey and grass: team capture, carcasses, lineages, caps",
        ),
        "cogsguard": Entry(
            "kinfolk.worlds.cogsguard.world:CogsguardWorld",
            "teams mine, make hearts, change gear and hold junctions against clips",
        ),
        "gym:CartPole-v1": Entry(
            "kinfolk.worlds.gym:GymWorld",
            "a Gymnasium task as a world of one agent; any other by gym:ID or gym:MODULE:ID",
        ),
        "probe": Entry(
            "kinfolk.testing.probe.world:ProbeWorld",
            "a ring of grazers and hunters; tiny, for tests and first steps",
        ),
    },
)


def presets_of(name: str) -> Mapping[str, Mapping[str, Any]]:
    """The named sets of rules of a world: settings that differ from its defaults."""
    found: Mapping[str, Mapping[str, Any]] = getattr(WORLDS.load(name), "presets", {})
    return found


def notes_of(name: str) -> Mapping[str, str]:
    """A line about each preset of a world."""
    found: Mapping[str, str] = getattr(WORLDS.load(name), "preset_notes", {})
    return found


def measures_of(
    name: str, full_length: AnyArray, values: Mapping[str, AnyArray]
) -> Mapping[str, AnyArray]:
    """What a world's users measure, worked out from what was counted, an entry per episode.

    A world offers them as a static method `measures(full_length, values)`; NaN marks an episode to which
    a measure does not apply.
    """
    measures = getattr(WORLDS.load(name), "measures", None)
    found: Mapping[str, AnyArray] = {} if measures is None else measures(full_length, values)
    return found


def build(
    name: str, settings: Mapping[str, Any], worlds: int, preset: str | None = None, threads: int = 1
) -> Any:
    """A batch of `worlds` worlds of the kind `name`, not yet reset.

    `settings` go before those of the preset; tables within are merged. `threads` is for worlds
    that can use them; it changes no result.

    Raises:
        UnknownNameError: There is no such world or preset.
        SettingsError: A setting is wrong.
    """
    from kinfolk.core.settings import merged, read

    kind = WORLDS.load(name)
    chosen: Mapping[str, Any] = {}
    if preset is not None:
        known = presets_of(name)
        if preset not in known:
            hint = suggestion(preset, known)
            raise UnknownNameError(f"World {name} has no preset '{preset}'.{hint}")
        chosen = known[preset]
    named = {"task": name[len(GYM) :]} if name.startswith(GYM) else {}
    asked = read(kind.settings_type, merged(chosen, {**settings, **named}))
    return kind(asked, worlds, threads) if threads > 1 else kind(asked, worlds)
