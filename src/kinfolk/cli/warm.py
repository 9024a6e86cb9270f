"""Compile what a line-up needs, once, before anything waits for it."""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Mapping
from typing import Any

from kinfolk.core.errors import KinfolkError


def warm(
    world: str, settings: Mapping[str, Any], preset: str | None, uris: Mapping[str, str]
) -> None:
    """If the world was never compiled here, say so and compile it now.

    Observations and policies compile in another process meanwhile, so that two cores are used;
    and workers that start later find all in the cache, instead of each compiling the same.
    """
    from kinfolk.core.jit import is_cold
    from kinfolk.play.episode import Play
    from kinfolk.play.slots import Slot, slot_table
    from kinfolk.policies.resolve import resolve
    from kinfolk.policies.simple import Noop
    from kinfolk.worlds import WORLDS, build

    folder = WORLDS.entry(world).path.partition(":")[0].split(".")[-2]
    if not is_cold(folder):
        return
    game = build(world, settings, 1, preset)  # what is wrong with a line-up is said first
    for uri in uris.values():
        resolve(uri)
    print("Compiling kernels, once; this takes some seconds.", file=sys.stderr, flush=True)
    context = multiprocessing.get_context("spawn")
    other = context.Process(
        target=_compile_the_rest, args=(world, dict(settings), preset, list(uris.values()))
    )
    other.start()
    slots = [Slot("still", Noop(game.spec))]
    play = Play(game, slots, slot_table(game.spec, ["still"]), 0, range(1))
    for _ in range(2):
        play.tick()
    other.join()


def _compile_the_rest(
    world: str, settings: dict[str, Any], preset: str | None, uris: list[str]
) -> None:
    """Look once, and build every policy: those with kernels compile them then."""
    import numpy as np

    from kinfolk.policies.resolve import build, resolve
    from kinfolk.worlds import build as build_world

    game = build_world(world, settings, 1, preset)
    game.reset(np.zeros(1, dtype=np.int64))
    game.observe(np.zeros((game.spec.rows, game.spec.row_bytes), dtype=np.uint8))
    for uri in uris:
        try:
            build(resolve(uri), game.spec).close()
        except KinfolkError:
            return  # the caller will meet it too, and say it
