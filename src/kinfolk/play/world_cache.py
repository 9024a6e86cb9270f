"""Batches of worlds that a process keeps from task to task."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinfolk.worlds.base import World

if TYPE_CHECKING:
    from kinfolk.play.task import WorldRef

_MAX_CACHED_WORLDS = 2
_worlds: dict[tuple[str, str | None, str, int], World] = {}


def reuse_world(ref: WorldRef, worlds: int) -> World:
    """Return a cached batch of `worlds` worlds, or build it.

    A reset overwrites the whole state, so a cached batch plays as a new one does. The caller must
    have finished with it before the next task of this process begins.
    """
    key = (ref.name, ref.preset, repr(dict(ref.settings)), worlds)
    world = _worlds.pop(key, None) or ref.build(worlds)
    while len(_worlds) >= _MAX_CACHED_WORLDS:
        _worlds.pop(next(iter(_worlds)))
    _worlds[key] = world
    return world
