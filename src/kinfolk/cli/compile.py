"""Compile the kernels that a command needs, once, before anything waits for them."""

from __future__ import annotations

import multiprocessing
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Annotated, Any

import typer

from kinfolk.cli.completion import complete_world
from kinfolk.cli.output import echo, note, progress
from kinfolk.core.errors import KinfolkError
from kinfolk.core.trust import carry_trust
from kinfolk.engines.parent_death import exit_with_parent

_PROCESSES = 2
_SECONDS_PER_SIZE = 150e-6  # of a kernel's code, on one core of 2024
_POLL_SECONDS = 0.5
_Kernels = list[Callable[..., Any]]


def compile_kernels(
    world: str, settings: Mapping[str, Any], preset: str | None, uris: Mapping[str, str]
) -> None:
    """Compile the kernels of a world and of policies that are not in this machine's cache yet.

    A second process compiles half of them, so that two cores are used. Workers that start later
    find all kernels in the cache, instead of each compiling the same ones.

    Args:
        world: Name of the world.
        settings: Its settings, where they differ from the defaults.
        preset: Name of a preset of the world, or None.
        uris: The policy of each slot.
    """
    from kinfolk.core.jit import missing_kernels
    from kinfolk.policies.build import load_policy_class
    from kinfolk.policies.resolve import resolve
    from kinfolk.worlds import build_world

    game = build_world(world, settings, 1, preset)  # reports wrong settings first
    policies = list(uris.values())
    policy_classes = [load_policy_class(resolve(uri)) for uri in policies]
    kernels = _list_kernels(game, *policy_classes)
    missing = missing_kernels(kernels)
    if not missing:
        return
    world_args = (world, dict(settings), preset)
    other = None
    if len(missing) > 1:
        other = _process_context().Process(
            target=carry_trust(_compile_beside), args=((*world_args, 1, policies),)
        )
        other.start()
    with _show_progress(kernels):
        _compile(*world_args, 0, [] if other else policies)
        for policy_class in policy_classes:
            if hasattr(policy_class, "prepare"):  # compiles what is not compiled when it is made
                with suppress(KinfolkError):  # it plays another world, reported where it is made
                    policy_class.prepare(game.spec)
        if other is None:
            _compile(*world_args, 1, [])
        else:
            other.join()
        _compile_by_playing(game)


def _compile_beside(arguments: tuple[Any, ...]) -> None:
    """Run `_compile` in a second process, which ends silently when the command is stopped."""
    exit_with_parent(use_death_signal=True)  # a killed command leaves nobody who compiles
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)  # a fork has the handlers of the command
    _compile(*arguments)


def _process_context() -> Any:
    """Return the multiprocessing context of the second process.

    A fork shares the imports, which take 1.5 s; it is spawned where forks are unsafe.
    """
    can_fork = sys.platform == "linux" and threading.active_count() == 1
    if not can_fork:
        return multiprocessing.get_context("spawn")
    from numba.core.registry import cpu_target

    cpu_target.target_context.refresh()  # numba's tables are filled before they are shared
    return multiprocessing.get_context("fork")


def compile_command(
    world: Annotated[
        list[str] | None,
        typer.Option(help="Only this world; may be given again.", autocompletion=complete_world),
    ] = None,
) -> None:
    """Compile all kernels now, so that nothing has to wait for them later."""
    from kinfolk.core.kernel_cache import kernels_cached
    from kinfolk.worlds import WORLDS, build_world, get_presets

    worlds = world or list(WORLDS)
    kernels = _list_kernels(*_compiled_policies().values())
    for name in worlds:
        for preset in (None, *get_presets(name)):
            kernels += _list_kernels(build_world(name, {}, 1, preset))
    with _show_progress(kernels), _start_pool() as pool:
        pool.map(_compile_world, worlds, chunksize=1)
    echo(f"{kernels_cached()} kernels are compiled.")


def _start_pool() -> Any:
    """Return processes that compile; they end with the command, even when it is killed."""
    context = multiprocessing.get_context("spawn")
    return context.Pool(_PROCESSES, initializer=exit_with_parent, initargs=(True,))


@contextmanager
def _show_progress(kernels: _Kernels) -> Iterator[None]:
    """Print how long the missing kernels take about, and show progress while they are compiled."""
    from kinfolk.core.jit import missing_kernels

    missing = missing_kernels(kernels)
    if not missing:
        yield
        return
    # The largest is compiled by one process, whatever the others do.
    sizes = missing.values()
    seconds = _SECONDS_PER_SIZE * max(max(sizes), sum(sizes) / _PROCESSES)
    note(f"Compiling kernels, once: {len(missing)} take about {max(1, round(seconds))} s.")
    finished = threading.Event()

    def count(tell: Callable[..., None]) -> None:
        """Update the progress bar until all kernels are compiled."""
        while not finished.wait(_POLL_SECONDS):
            tell(len(missing) - len(missing_kernels(kernels)))

    with progress("Kernels", len(missing)) as tell:
        counter = threading.Thread(target=count, args=(tell,), daemon=True)
        counter.start()
        try:
            yield
        finally:
            finished.set()
            counter.join()
        tell(len(missing) - len(missing_kernels(kernels)))


def _list_kernels(*things: Any) -> _Kernels:
    """Return the kernels of worlds and policy classes; those without kernels are skipped."""
    return [kernel for thing in things for kernel in getattr(thing, "kernels", list)()]


def _compiled_policies() -> dict[str, Any]:
    """Return the classes of the named policies that have kernels, by name."""
    from kinfolk.core.imports import MissingLibraryError
    from kinfolk.policies.resolve import POLICIES

    classes = {}
    for name in POLICIES:
        with suppress(MissingLibraryError):  # a neural policy, without the extra `train`
            classes[name] = POLICIES.load(name)
    return {name: policy for name, policy in classes.items() if hasattr(policy, "kernels")}


def _compile_world(world: str) -> None:
    """Compile a world with any of its presets, its scripted policies and observation transforms."""
    from kinfolk.policies.base import TRANSFORMS, make_transform
    from kinfolk.worlds import build_world, get_presets

    uris = [f"kin://{name}" for name in _compiled_policies()]
    for preset in (None, *get_presets(world)):
        _compile(world, {}, preset, 0, [])
        _compile(world, {}, preset, 1, uris)
        game = build_world(world, {}, 1, preset)
        _compile_by_playing(game)
        for transform in TRANSFORMS:
            with suppress(KinfolkError):  # it is for another world
                make_transform(transform, game.spec)


def _compile(
    world: str, settings: dict[str, Any], preset: str | None, part: int, uris: Iterable[str]
) -> None:
    """Compile one half of a world's kernels, and build policies, which compiles theirs.

    Args:
        world: Name of the world.
        settings: Its settings, where they differ from the defaults.
        preset: Name of a preset of the world, or None.
        part: Which half of the world's kernels, 0 or 1.
        uris: URIs of the policies to build.
    """
    from kinfolk.policies.build import build_policy
    from kinfolk.policies.resolve import resolve
    from kinfolk.worlds import build_world

    game = build_world(world, settings, 1, preset)
    if hasattr(game, "compile"):  # a world of plain Python has nothing to compile
        game.compile(part)
    for uri in uris:
        with suppress(KinfolkError):  # it plays another world; or the caller reports it too
            build_policy(resolve(uri), game.spec).close()


def _compile_by_playing(game: Any) -> None:
    """Play two ticks, which compiles the episode loop's kernels and other small ones."""
    from kinfolk.play.task import EpisodeRunner, RolloutTask, WorldRef
    from kinfolk.policies.resolve import resolve

    world, policies = WorldRef(game.spec.world), {"noop": resolve("kin://noop")}
    runner = EpisodeRunner(RolloutTask[None](world, policies, 0, (0,)), game)
    for _ in range(2):
        runner.tick()
