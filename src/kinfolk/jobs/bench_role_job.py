"""How fast roles evolve: games per second and generations per minute, by engine."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from importlib.util import find_spec
from statistics import median
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
    kinds = [("local", 1), ("processes", 1), ("processes", 2)]
    if find_spec("ray") is not None:
        kinds.append(("ray", 2))
    # Nothing is recorded: a showcase comes every ten generations, too seldom for so short a run.
    usual = EvolveRoles(generations=_TIMED + 1, showcase_every=0)
    few = {"games_per_generation": SMALL_GAMES, "chunk": SMALL_GAMES // 2}
    small = usual.model_copy(update={"generations": 4 * _TIMED + 1, **few})
    seconds = side_by_side(kinds, usual)
    [small_seconds] = side_by_side([("processes", 2)], small)
    return {
        "engines": [_row(*kind, usual, took) for kind, took in zip(kinds, seconds, strict=True)],
        "scaling": median(one / two for one, two in zip(seconds[1], seconds[2], strict=True)),
        "small": _row("processes", 2, small, small_seconds),
    }


def side_by_side(kinds: Sequence[tuple[str, int]], settings: EvolveRoles) -> list[list[float]]:
    """What each generation but the first takes, by engine and number of workers.

    The engines take turns, generation by generation, and play the same games: what else the machine
    does falls on all of them, and their ratio stays.
    """
    with ExitStack() as stack:
        engines = [stack.enter_context(closing(make_engine(*kind))) for kind in kinds]
        runs = [_generations(settings, engine) for engine in engines]
        for run in runs:
            next(run)
        rounds = [[_timed(run) for run in runs] for _ in range(settings.generations - 1)]
    return [list(took) for took in zip(*rounds, strict=True)]


def _generations(settings: EvolveRoles, engine: Engine) -> Iterator[None]:
    """Stops after each generation; what is bred and written after it belongs to the next."""
    for item in evolve_roles(settings, engine):
        if isinstance(item, Event):
            yield


def _timed(run: Iterator[None]) -> float:
    begun = time.perf_counter()
    next(run)
    return time.perf_counter() - begun


def _row(name: str, jobs: int, settings: EvolveRoles, seconds: Sequence[float]) -> dict[str, Any]:
    lineups, episodes = settings.sizes
    games, typical = (lineups + 1) * episodes, median(seconds)
    return {
        "engine": name,
        "jobs": jobs,
        "games_per_generation": games,
        "games_per_s": games / typical,
        "generations_per_minute": 60 / typical,
    }
