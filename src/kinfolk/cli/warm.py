"""Compile what a line-up needs, once, before anything waits for it."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Annotated, Any

import typer

from kinfolk.cli.completion import complete_world
from kinfolk.cli.show import note
from kinfolk.core.errors import KinfolkError

_LINE = "Compiling kernels, once; this takes some seconds."
_LINE_FOR_ALL = "Compiling all kernels, once; this takes some minutes."


def warm(
    world: str, settings: Mapping[str, Any], preset: str | None, uris: Mapping[str, str]
) -> None:
    """If kernels of this game were never compiled here, say so and compile them now.

    Another process compiles half of them, so that two cores are used; and workers that start
    later find all in the cache, instead of each compiling the same.
    """
    from kinfolk.core.jit import needs_compilation
    from kinfolk.policies.resolve import load_policy_class, resolve
    from kinfolk.worlds import build_world
    from kinfolk.worlds.batched import BatchedWorld

    game = build_world(world, settings, 1, preset)  # what is wrong with a line-up is said first
    kernels = [*game.kernels()] if isinstance(game, BatchedWorld) else []
    for uri in uris.values():
        kernels += getattr(load_policy_class(resolve(uri)), "kernels", list)()
    if not needs_compilation(kernels):
        return
    note(_LINE)
    asked = (world, dict(settings), preset)
    context = multiprocessing.get_context("spawn")
    other = context.Process(target=_compile, args=(*asked, 1, list(uris.values())))
    other.start()
    _compile(*asked, 0, [])
    for uri in uris.values():
        _prepare(uri, game.spec)
    other.join()
    _try_out(game)


def warm_command(
    world: Annotated[
        list[str] | None,
        typer.Option(help="Only this world; may be given again.", autocompletion=complete_world),
    ] = None,
) -> None:
    """Compile all kernels now, so that nothing has to wait for them later."""
    from kinfolk.core.jit import count_cached_kernels
    from kinfolk.worlds import WORLDS

    note(_LINE_FOR_ALL)
    context = multiprocessing.get_context("spawn")
    with context.Pool(2) as pool:
        pool.map(_compile_world, world or list(WORLDS), chunksize=1)
    print(f"{count_cached_kernels()} kernels are compiled.")


def _compile_world(world: str) -> None:
    """All that a world needs with any of its presets, the compiled policies that play it, and sights."""
    from kinfolk.policies.neural.transforms import TRANSFORMS, make_transform
    from kinfolk.policies.resolve import POLICIES
    from kinfolk.worlds import build_world, get_presets

    uris = [f"kin://{n}" for n in POLICIES if hasattr(POLICIES.load(n), "kernels")]
    for preset in (None, *get_presets(world)):
        _compile(world, {}, preset, 0, [])
        _compile(world, {}, preset, 1, uris)
        game = build_world(world, {}, 1, preset)
        _try_out(game)
        for sight in TRANSFORMS:
            with suppress(KinfolkError):  # it is for another world
                make_transform(sight, game.spec)


def _compile(
    world: str, settings: dict[str, Any], preset: str | None, part: int, uris: Iterable[str]
) -> None:
    """One part of the world, and policies: those with kernels compile when made."""
    from kinfolk.policies.resolve import build_policy, resolve
    from kinfolk.worlds import build_world as build_world
    from kinfolk.worlds.batched import BatchedWorld

    game = build_world(world, settings, 1, preset)
    if isinstance(game, BatchedWorld):
        game.compile(part)
    for uri in uris:
        try:
            build_policy(resolve(uri), game.spec).close()
        except KinfolkError:
            continue  # it plays another world; or the caller will meet it too, and say it


def _prepare(uri: str, spec: Any) -> None:
    """The part of a policy that it leaves for last, if it says that there is one."""
    from kinfolk.policies.resolve import load_policy_class, resolve

    prepare = getattr(load_policy_class(resolve(uri)), "prepare", None)
    if prepare is not None:
        with suppress(KinfolkError):  # it plays another world: whoever makes it will say so
            prepare(spec)


def _try_out(game: Any) -> None:
    """Two ticks, for the loop's own kernels and whatever else is small."""
    from kinfolk.play.loop import EpisodeLoop
    from kinfolk.play.slots import LoadedSlot, build_slot_assignment
    from kinfolk.policies.stateless import NoopPolicy

    slots = [LoadedSlot("still", NoopPolicy(game.spec))]
    play = EpisodeLoop(game, slots, build_slot_assignment(game.spec, ["still"]), 0, range(1))
    for _ in range(2):
        play.tick()
