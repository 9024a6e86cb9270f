"""Worlds and policies that are given as objects: classes, functions and instances of the user's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from kinfolk.core.errors import SettingsError

if TYPE_CHECKING:
    from kinfolk.policies.base import Policy

    PolicySource: TypeAlias = Policy | type[Policy] | Callable[..., Policy]


def name_objects(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings of a job with the user's environments and policies replaced by their names.

    Args:
        settings: Fields of the job's settings. `world` may be an environment or the class of
            a world, and the slots policies.
    """
    named = dict(settings)
    if "world" in named:
        named["world"] = name_world(named["world"])
    for field in ("slots", "policy_slots"):
        if named.get(field) is not None:
            from kinfolk.policies.own_policies import name_policies

            named[field] = name_policies(named[field])
    return named


def name_world(world: Any) -> str:
    """Return the name of a world that may be given as a class or as a Gymnasium environment.

    Raises:
        SettingsError: It is none of these.
    """
    if isinstance(world, str):
        return world
    if hasattr(type(world), "settings_type"):
        name = type(world).__name__
        raise SettingsError(
            f"A world is given by its name or its class, {name}, not as an instance."
        )
    if isinstance(world, type) and hasattr(world, "settings_type"):
        from kinfolk.policies.policy_source import find_class_path
        from kinfolk.worlds import register_local_world

        try:
            return f"class:{find_class_path(world).replace(':', '.')}"
        except SettingsError:  # a class of a notebook's cell or of a function
            return register_local_world(world)
    from kinfolk.worlds.gymnasium_task.own_tasks import register_env

    return register_env(world)
