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
from kinfolk.cli.formatting import note, progress
from kinfolk.core.errors import KinfolkError

_PROCESSES = 2
_SECONDS_PER_SIZE = 150e-6  # of a kernel's code, on one core of 2024
_POLL_SECONDS = 0.5
_Kernels = list[Callable[..., Any]]


def compile_kernels(
    world: str, settings: Mapping[str, Any], preset: str | None, uris: Mapping[str, str]
) -> None:
    """Compile the kernels of this world and these policies that were never compiled here.

    Another process compiles half of them, so that two cores are used; and workers that start
    later find all in the cache, instead of each compiling the same.

    Args:
        world: Name of the world.
        settings: Its settings, where they differ from the defaults.
        preset: Name of a preset of the world, or None.
        uris: The policy of each slot.
    """
    from kinfolk.core.jit import missing_kernels
    from kinfolk.worlds import build_world

    game = build_world(world, settings, 1, preset)  # reports wrong settings first
    kernels = [*_world_kernels(game), *_policy_kernels(uris.values())]
    missing = missing_kernels(kernels)
    if not missing:
        return
    world_args = (world, dict(settings), preset)
    other = None
    if len(missing) > 1:
        other = _context().Process(
            target=_compile_beside, args=(*world_args, 1, list(uris.values()))
        )
        other.start()
    with _shown_progress(kernels):
        _compile(*world_args, 0, [] if other else uris.values())
        for uri in uris.values():
            _prepare(uri, game.spec)
        if other is None:
            _compile(*world_args, 1, [])
        else:
            other.join()
        _try_out(game)


def _compile_beside(*arguments: Any) -> None:
    """Compile in a second process, which ends silently when the command is stopped."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)  # a fork has the handlers of the command
    _compile(*arguments)


def _context() -> Any:
    """Return a fork context, which shares imports (1.5 s of work); spawn where forks are unsafe."""
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
    kernels = [kernel for compiled in _compiled_policies().values() for kernel in compiled()]
    for name in worlds:
        for preset in (None, *get_presets(name)):
            kernels += _world_kernels(build_world(name, {}, 1, preset))
    with _shown_progress(kernels), multiprocessing.get_context("spawn").Pool(_PROCESSES) as pool:
        pool.map(_compile_world, worlds, chunksize=1)
    print(f"{kernels_cached()} kernels are compiled.")


@contextmanager
def _shown_progress(kernels: _Kernels) -> Iterator[None]:
    """Estimate how long the missing kernels take, and count them while they are compiled."""
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


def _world_kernels(game: Any) -> _Kernels:
    from kinfolk.worlds.batched import BatchedWorld

    return [*game.kernels()] if isinstance(game, BatchedWorld) else []


def _policy_kernels(uris: Iterable[str]) -> _Kernels:
    from kinfolk.policies.resolve import load_policy_class, resolve

    return [
        kernel
        for uri in uris
        for kernel in getattr(load_policy_class(resolve(uri)), "kernels", list)()
    ]


def _compiled_policies() -> dict[str, Callable[[], _Kernels]]:
    """Return what lists the kernels of each policy that has some, by the policy's name."""
    from kinfolk.core.optional_dependencies import MissingLibraryError
    from kinfolk.policies.resolve import POLICIES

    listed = {}
    for name in POLICIES:
        with suppress(MissingLibraryError):  # a neural policy, without the extra `train`
            policy_class = POLICIES.load(name)
            if hasattr(policy_class, "kernels"):
                listed[name] = policy_class.kernels
    return listed


def _compile_world(world: str) -> None:
    """Compile a world with any of its presets, its scripted policies and observation transforms."""
    from kinfolk.policies.neural.transforms import TRANSFORMS, make_transform
    from kinfolk.worlds import build_world, get_presets

    uris = [f"kin://{name}" for name in _compiled_policies()]
    for preset in (None, *get_presets(world)):
        _compile(world, {}, preset, 0, [])
        _compile(world, {}, preset, 1, uris)
        game = build_world(world, {}, 1, preset)
        _try_out(game)
        for transform in TRANSFORMS:
            with suppress(KinfolkError):  # it is for another world
                make_transform(transform, game.spec)


def _compile(
    world: str, settings: dict[str, Any], preset: str | None, part: int, uris: Iterable[str]
) -> None:
    """Compile one part of a world's kernels, and those of policies, which compile when made.

    Args:
        world: Name of the world.
        settings: Its settings, where they differ from the defaults.
        preset: Name of a preset of the world, or None.
        part: Which half of the world's kernels.
        uris: Policies.
    """
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
            continue  # it plays another world; or the caller meets and reports it too


def _prepare(uri: str, spec: Any) -> None:
    """Compile the kernels that a policy compiles only in `prepare`, if it has any."""
    from kinfolk.policies.resolve import load_policy_class, resolve

    prepare = getattr(load_policy_class(resolve(uri)), "prepare", None)
    if prepare is not None:
        with suppress(KinfolkError):  # it plays another world, which is reported where it is made
            prepare(spec)


def _try_out(game: Any) -> None:
    """Play two ticks, which compiles the episode loop's kernels and other small ones."""
    from kinfolk.play.task import EpisodeRunner, RolloutTask, WorldRef
    from kinfolk.policies.resolve import resolve

    policies = {"noop": resolve("kin://noop")}
    task = RolloutTask[None](WorldRef(game.spec.world), policies, 0, (0,))
    runner = EpisodeRunner(task, game)
    for _ in range(2):
        runner.tick()
