"""Engines run tasks: in this process, in worker processes or on a Ray cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from inspect import signature

from kinfolk.core.errors import UsageError, require
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


_DEFAULT_JOBS = 2  # of engines with workers


def make_engine(
    name: str | None = None, jobs: int | None = None, address: str | None = None
) -> Engine:
    """Create an engine by its registered name.

    Args:
        name: A name in `ENGINES`. None: `ray` if there is an address, `processes` if `jobs` is more
            than 1, else `local`.
        jobs: How many tasks may run at once; by default 1 for `local`, and 2 for the others.
        address: Address of the cluster to join, for engines that take one.

    Raises:
        UnknownNameError: No engine has this name.
        UsageError: An address was given for an engine that runs on this machine only.
        SettingsError: `jobs` is less than 1, or more than 1 for `local`.
    """
    if name is None and address is not None:
        name = "ray"
    elif name is None and (jobs is None or jobs <= 1):
        name = "local"
    elif name is None:
        name = "processes"
    if jobs is None:
        jobs = 1 if name == "local" else _DEFAULT_JOBS
    engine_class = ENGINES.load(name)
    if address is not None and "address" not in signature(engine_class).parameters:
        raise UsageError(f"The engine {name} runs on this machine and takes no address; ray does.")
    options = {} if address is None else {"address": address}
    engine: Engine = engine_class(jobs, **options)
    return engine


@contextmanager
def opened_engine(
    engine: str | Engine | None, jobs: int | None, address: str | None = None
) -> Iterator[Engine]:
    """Give an engine to a `with` block, and close it at the end unless the caller made it.

    Args:
        engine: Name of an engine, None for that of `jobs`, or an engine.
        jobs: How many tasks may run at once.
        address: Address of the cluster to join.

    Raises:
        UsageError: Jobs were given with an engine that was made for another number of them.
    """
    if engine is None or isinstance(engine, str):
        with closing(make_engine(engine, jobs, address)) as made:
            yield made
        return
    require(
        hasattr(engine, "map") and hasattr(engine, "share"),
        f"An engine is local, processes, ray or what kf.make_engine(...) returns, not {engine!r}.",
    )
    require(
        jobs is None or jobs == engine.jobs,
        f"The engine was made for {engine.jobs} jobs, not {jobs}. Leave out jobs.",
    )
    yield engine
