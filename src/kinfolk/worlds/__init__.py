"""Look up worlds by name: the registry, presets, metrics and the factory `build_world`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kinfolk.core.arrays import AnyArray
from kinfolk.core.errors import SettingsError, UnknownNameError, UsageError, format_suggestion
from kinfolk.core.imports import Registry, RegistryEntry, import_object
from kinfolk.core.local_objects import LOCAL_PREFIX, LocalObjects

GYM_PREFIX = "gym:"
CLASS_PREFIX = "class:"
_GYM_WORLD = "kinfolk.worlds.gymnasium_task.world:GymWorld"
_local_worlds = LocalObjects()


class WorldRegistry(Registry):
    """Registry of worlds; `gym:ID` names any Gymnasium task, `class:PATH` any class of a user's."""

    def __contains__(self, name: object) -> bool:
        return str(name).startswith((GYM_PREFIX, CLASS_PREFIX)) or super().__contains__(name)

    def get_entry(self, name: str) -> RegistryEntry:
        """Return the entry named `name`; `gym:ID`, `gym:MODULE:ID` and `class:PATH` exist for any id.

        Raises:
            UnknownNameError: There is no such world; a forgotten `gym:` is suggested.
        """
        if name.startswith(GYM_PREFIX):
            task = name.removeprefix(GYM_PREFIX)
            return RegistryEntry(_GYM_WORLD, f"the Gymnasium task {task}")
        if name.startswith(CLASS_PREFIX):
            path = name.removeprefix(CLASS_PREFIX)
            return RegistryEntry(path, f"the class {path}")
        if name not in self and _is_gymnasium_task(name):
            hint = f"Did you mean '{GYM_PREFIX}{name}'?"
            raise UnknownNameError(f"No world is named '{name}'. {hint}")
        return super().get_entry(name)

    def load(self, name: str) -> Any:
        """Return the class of a world.

        Raises:
            SettingsError: The class was kept by another process.
        """
        path = name.removeprefix(CLASS_PREFIX)
        if not path.startswith(LOCAL_PREFIX):
            return import_object(path) if name.startswith(CLASS_PREFIX) else super().load(name)
        if path not in _local_worlds:
            raise SettingsError(
                f"The world {name} is a class of one process, such as one of a notebook's cell. It "
                "plays with engine='local' and without isolation. For other engines, for isolate, and "
                "to run it again later, put its class into a file and import it."
            )
        return _local_worlds[path]


def register_local_world(world_class: type) -> str:
    """Return a name of a world whose class no other process can import, valid in this one."""
    return CLASS_PREFIX + _local_worlds.register(world_class, is_instance=False)


def _is_gymnasium_task(name: str) -> bool:
    """Return whether Gymnasium has a task `name`.

    Importing Gymnasium is slow, so this is only called for names that are no world.
    """
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
            _GYM_WORLD,
            "a Gymnasium task as a world of one agent; any other by gym:ID or gym:MODULE:ID",
        ),
        "probe": RegistryEntry(
            "kinfolk.testing.probe.world:ProbeWorld",
            "a ring of grazers and hunters; tiny, for tests and first steps",
        ),
    },
)


def get_presets(name: str) -> Mapping[str, Mapping[str, Any]]:
    """Return the presets of a world: by name, the settings that differ from its defaults."""
    presets: Mapping[str, Mapping[str, Any]] = getattr(WORLDS.load(name), "presets", {})
    return presets


def get_preset_descriptions(name: str) -> Mapping[str, str]:
    """Return a one-line description of each preset of a world."""
    descriptions: Mapping[str, str] = getattr(WORLDS.load(name), "preset_descriptions", {})
    return descriptions


def compute_world_metrics(
    name: str, full_length: AnyArray, values: Mapping[str, AnyArray]
) -> Mapping[str, AnyArray]:
    """Compute the metrics that a world defines from its counters.

    A world defines them as a static method `compute_metrics(full_length, values)`.

    Args:
        name: Name of the world.
        full_length: `[episodes]`, True where the episode reached the time limit.
        values: `[episodes]` each: final counters, `ticks`, `max_ticks` (the time limit), and per group
            `group_lives/GROUP` and `mean_alive/GROUP`.

    Returns:
        `[episodes]` for each metric, NaN where a metric does not apply to an episode; empty for a
        world without metrics.
    """
    compute = getattr(WORLDS.load(name), "compute_metrics", None)
    metrics: Mapping[str, AnyArray] = {} if compute is None else compute(full_length, values)
    return metrics


def build_world(
    name: str,
    settings: Mapping[str, Any],
    n_worlds: int,
    preset: str | None = None,
    threads: int = 1,
) -> Any:
    """Build a batch of `n_worlds` worlds, which must be reset before their first step.

    Args:
        name: Name of the world, as `kinfolk worlds` lists them, or `gym:ID`.
        settings: Settings of the world by name; they override those of the preset, and nested
            tables are merged.
        n_worlds: Number of independent worlds in the batch.
        preset: Name of one of the world's presets; None for its defaults.
        threads: Threads that share the worlds, if the world supports them; does not change results.

    Raises:
        UnknownNameError: There is no such world or preset.
        SettingsError: A setting is wrong.
    """
    from kinfolk.core.settings import merge_settings, validate_settings

    world_type = WORLDS.load(name)
    if not hasattr(world_type, "settings_type"):
        raise UsageError(
            f"{name} is no world: a world's class has settings_type, as `kinfolk new world` shows."
        )
    preset_settings: Mapping[str, Any] = {}
    if preset is not None:
        presets = get_presets(name)
        if preset not in presets:
            hint = format_suggestion(preset, presets)
            raise UnknownNameError(f"World {name} has no preset '{preset}'.{hint}")
        preset_settings = presets[preset]
    if name.startswith(GYM_PREFIX):
        settings = {**settings, "task": name.removeprefix(GYM_PREFIX)}
    merged = merge_settings(preset_settings, settings)
    validated = validate_settings(world_type.settings_type, merged)
    thread_arguments = (threads,) if threads > 1 else ()  # not every world takes them
    return world_type(validated, n_worlds, *thread_arguments)
