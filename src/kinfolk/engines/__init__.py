"""Engines run tasks: in this process, in worker processes or on a Ray cluster."""

from __future__ import annotations

from inspect import signature

from kinfolk.core.errors import UsageError
from kinfolk.core.imports import Registry, RegistryEntry
from kinfolk.engines.base import Engine

ENGINES = Registry(
    "engine",
    "engines",
    {
        "local": RegistryEntry(
            "kinfolk.engines.base:LocalEngine", "in this process, one task after another"
        ),
        "processes": RegistryEntry(
            "kinfolk.engines.processes:ProcessEngine", "in worker processes"
        ),
        "ray": RegistryEntry(
            "kinfolk.engines.ray_cluster:RayEngine", "on a Ray cluster, joined or started"
        ),
    },
)


def make_engine(name: str, jobs: int = 1, address: str | None = None) -> Engine:
    """Create an engine by its registered name.

    Args:
        name: A name in `ENGINES`.
        jobs: How many tasks may run at once; the engine `local` always runs one.
        address: Address of the cluster to join, for engines that take one.

    Raises:
        UnknownNameError: No engine has this name.
        UsageError: An address was given for an engine that runs on this machine only.
        SettingsError: `jobs` is less than 1.
    """
    engine_class = ENGINES.load(name)
    if address is not None and "address" not in signature(engine_class).parameters:
        raise UsageError(f"The engine {name} runs on this machine and takes no address; ray does.")
    options = {} if address is None else {"address": address}
    engine: Engine = engine_class(jobs, **options)
    return engine
