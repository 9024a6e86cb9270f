"""Names that a shell completes: worlds, presets, policies, engines and runs.

All of it is plain data or the names of folders: nothing is compiled or built for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import typer

from kinfolk.core.imports import Registry

Completions = list[tuple[str, str]]  # names, each with a line about it


def complete_world(incomplete: str) -> Completions:
    """Complete the name of a world, with a description of each."""
    from kinfolk.worlds import WORLDS

    return filter_by_prefix(incomplete, list_entries(WORLDS))


def complete_preset(context: typer.Context, incomplete: str) -> Completions:
    """Complete presets of the world that was named, or of all worlds."""
    world = context.params.get("world") or context.params.get("task")
    return filter_by_prefix(incomplete, _list_presets(str(world) if world else None))


def _list_presets(world: str | None) -> Iterator[tuple[str, str]]:
    """Yield name and description of the presets of a world, or of all worlds for None."""
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

    named = [(f"kin://{name}", about) for name, about in list_entries(POLICIES)]
    runs = [(f"run:{name}", about) for name, about in _list_run_folders()]
    return filter_by_prefix(incomplete, (*named, *runs))


def complete_slot(incomplete: str) -> Completions:
    """Complete the policy after `ID=` in the value of --slot."""
    name, equals, uri = incomplete.partition("=")
    policies = complete_policy(uri) if equals else []
    return [(f"{name}={policy}", about) for policy, about in policies]


def complete_engine(incomplete: str) -> Completions:
    """Complete the name of an engine, with a description of each."""
    from kinfolk.engines import ENGINES

    return filter_by_prefix(incomplete, list_entries(ENGINES))


def complete_run(incomplete: str) -> Completions:
    """Complete the folder of a run in `runs`, with its job."""
    return filter_by_prefix(incomplete, _list_run_folders())


def _list_run_folders() -> list[tuple[str, str]]:
    """Return the run folders in `runs`, each with the name of its job."""
    from kinfolk.store.run_list import DamagedRun, list_runs

    def describe_job(run: Any) -> str:
        return "damaged" if isinstance(run, DamagedRun) else str(run.config["job"])

    return [(str(run.folder), describe_job(run)) for run in list_runs(Path("runs"))]


def list_entries(registry: Registry) -> Completions:
    """Return the names in a registry, each with its description."""
    return [(name, registry.get_entry(name).description) for name in registry]


def filter_by_prefix(incomplete: str, names: Iterable[tuple[str, str]]) -> Completions:
    """Return those names, with their descriptions, that begin with what was typed."""
    return [(name, about) for name, about in names if name.startswith(incomplete)]
