"""Where tasks run: here, or in processes."""

from __future__ import annotations

from kinfolk.core.registry import Entry, Registry
from kinfolk.engines.base import Engine

ENGINES = Registry(
    "engine",
    "engines",
    {
        "local": Entry("kinfolk.engines.local:Local", "in this process, one task after another"),
        "processes": Entry("kinfolk.engines.processes:Processes", "in worker processes"),
    },
)


def make_engine(name: str, jobs: int) -> Engine:
    """The engine called `name`, with `jobs` tasks at once where it can."""
    engine: Engine = ENGINES.load(name)(jobs)
    return engine
