"""Names that a shell completes: worlds, presets, policies, engines and runs.

All of it is plain data or the names of folders: nothing is compiled or built for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path

import typer

Completions = list[tuple[str, str]]  # names, each with a line about it


def complete_world(incomplete: str) -> Completions:
    """Complete the name of a world, with a line about each."""
    from kinfolk.worlds import WORLDS

    return _matching(incomplete, ((name, WORLDS.get_entry(name).description) for name in WORLDS))


def complete_preset(context: typer.Context, incomplete: str) -> Completions:
    """Complete presets of the world that was named, or of all worlds."""
    world = context.params.get("world") or context.params.get("task")
    return _matching(incomplete, _presets(str(world) if world else None))


def _presets(world: str | None) -> Iterator[tuple[str, str]]:
    from kinfolk.worlds import WORLDS

    for name in WORLDS if world is None else (world,):
        if name not in WORLDS:
            continue
        # The world itself would bring the compiler with it; its presets lie beside it as data.
        package = WORLDS.get_entry(name).import_path.partition(":")[0].rpartition(".")[0]
        try:
            presets = import_module(f"{package}.presets")
        except ModuleNotFoundError:
            continue
        yield from ((preset, presets.DESCRIPTIONS.get(preset, "")) for preset in presets.PRESETS)


def complete_policy(incomplete: str) -> Completions:
    """Complete policies by URI, and runs."""
    from kinfolk.policies.resolve import POLICIES

    named = [(f"kin://{name}", POLICIES.get_entry(name).description) for name in POLICIES]
    runs = [(f"run:{name}", about) for name, about in _runs()]
    return _matching(incomplete, (*named, *runs))


def complete_slot(incomplete: str) -> Completions:
    """Complete the policy behind `ID=` of a --slot."""
    name, equals, uri = incomplete.partition("=")
    if not equals:
        return []
    return [(f"{name}={policy}", about) for policy, about in complete_policy(uri)]


def complete_engine(incomplete: str) -> Completions:
    """Complete the name of an engine, with a line about each."""
    from kinfolk.engines import ENGINES

    return _matching(incomplete, ((name, ENGINES.get_entry(name).description) for name in ENGINES))


def complete_run(incomplete: str) -> Completions:
    """Complete the folder of a run in `runs`, with its job."""
    return _matching(incomplete, _runs())


def _runs() -> list[tuple[str, str]]:
    from kinfolk.store.run_list import DamagedRun, list_runs

    return [
        (str(run.folder), "damaged" if isinstance(run, DamagedRun) else str(run.config["job"]))
        for run in list_runs(Path("runs"))
    ]


def _matching(incomplete: str, names: Iterable[tuple[str, str]]) -> Completions:
    return [(name, about) for name, about in names if name.startswith(incomplete)]
