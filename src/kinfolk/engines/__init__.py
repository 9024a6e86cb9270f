"""Where tasks run: here, in processes, or on a Ray cluster."""

from __future__ import annotations

from inspect import signature

from kinfolk.core.errors import UsageError
from kinfolk.core.registry import Registry, RegistryEntry
from kinfolk.engines.base import Engine

ENGINES = Registry(
    "engine",
    "engines",
    {
        "local": RegistryEntry(
            "kinfolk.engines.local:LocalEngine", "in this process, one task after another"
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
    """The engine called `name`, with `jobs` tasks at once where it can.

    Raises:
        UsageError: An address was given, and the engine runs on this machine only.
        SettingsError: There are fewer than one at once.
    """
    kind = ENGINES.load(name)
    if address is None:
        engine: Engine = kind(jobs)
        return engine
    if "address" not in signature(kind).parameters:
        raise UsageError(f"The engine {name} runs here and takes no address; ray does.")
    engine = kind(jobs, address=address)
    return engine
