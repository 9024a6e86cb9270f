"""How fast roles evolve: games per second and generations per minute, by engine."""

from __future__ import annotations

import time
from importlib.util import find_spec
from typing import Any

from kinfolk.core.events import Event
from kinfolk.engines import make_engine
from kinfolk.engines.base import Engine
from kinfolk.jobs.evolve_roles import evolve_roles
from kinfolk.jobs.role_settings import EvolveRoles

# The size of the original's generations, and how many of them make a run of a thousand.
SMALL_GAMES = 10
_TIMED = 8  # generations, after a first one that starts workers and reads kernels in


def bench_role_job() -> dict[str, Any]:
    """The default job on one and on two workers, and generations of ten games."""
    rows = [_measured("local", 1), _measured("processes", 1), _measured("processes", 2)]
    if find_spec("ray") is not None:
        rows.append(_measured("ray", 2))
    small = _measured("processes", 2, SMALL_GAMES, 4 * _TIMED)
    return {
        "engines": rows,
        "scaling": rows[2]["games_per_s"] / rows[1]["games_per_s"],
        "small": small,
    }


def _measured(
    name: str, jobs: int, games: int | None = None, timed: int = _TIMED
) -> dict[str, Any]:
    # Nothing is recorded: a showcase comes every ten generations, too seldom for so short a run.
    settings = EvolveRoles(generations=timed + 1, showcase_every=0)
    if games is not None:
        settings = settings.model_copy(update={"games_per_generation": games, "chunk": games // 2})
    engine = make_engine(name, jobs)
    try:
        seconds = _seconds(settings, engine)
    finally:
        engine.close()
    lineups, episodes = settings.sizes
    played = (lineups + 1) * episodes * timed
    return {
        "engine": name,
        "jobs": jobs,
        "games_per_generation": (lineups + 1) * episodes,
        "games_per_s": played / seconds,
        "generations_per_minute": 60 * timed / seconds,
    }


def _seconds(settings: EvolveRoles, engine: Engine) -> float:
    """From the end of the first generation to that of the last; nothing is judged."""
    begun = 0.0
    for item in evolve_roles(settings, engine):
        if isinstance(item, Event):
            if item.step == 0:
                begun = time.perf_counter()
            if item.step == settings.generations - 1:
                return time.perf_counter() - begun
    raise AssertionError("the last generation was not reported")
