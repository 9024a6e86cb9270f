"""Worlds and policies that are given as objects: classes, functions and instances of the user's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

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
    if _is_world_class(named.get("world")):
        from kinfolk.policies.policy_source import find_class_path

        named["world"] = f"class:{find_class_path(named['world']).replace(':', '.')}"
    elif not isinstance(named.get("world", ""), str):
        from kinfolk.worlds.gymnasium_task.own_tasks import register_env

        named["world"] = register_env(named["world"])
    for field in ("slots", "policy_slots"):
        if named.get(field) is not None:
            from kinfolk.policies.own_policies import name_policies

            named[field] = name_policies(named[field])
    return named


def _is_world_class(source: Any) -> bool:
    """Return whether a class implements the contract of a world, and is no environment."""
    return isinstance(source, type) and hasattr(source, "settings_type")
