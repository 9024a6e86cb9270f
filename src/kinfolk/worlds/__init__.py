"""Worlds by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kinfolk.core.registry import Entry, Registry

WORLDS = Registry(
    "world",
    "worlds",
    {
        "probe": Entry(
            "kinfolk.testing.probe.world:ProbeWorld",
            "a ring of grazers and hunters; tiny, for tests and first steps",
        ),
    },
)


def build(name: str, settings: Mapping[str, Any], worlds: int) -> Any:
    """A batch of `worlds` worlds of the kind `name`, not yet reset.

    Raises:
        UnknownNameError: There is no such world.
        SettingsError: A setting is wrong.
    """
    from kinfolk.core.settings import read

    kind = WORLDS.load(name)
    return kind(read(kind.settings_type, settings), worlds)
