"""Run a job from Python: an engine, a stream of events, a run if one is asked for."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from kinfolk.api.runs import StoredRun, load_run
from kinfolk.core.events import Event, TimingEvent
from kinfolk.core.settings import Settings
from kinfolk.engines import make_engine
from kinfolk.store.run import create_run
from kinfolk.store.run_job import run_and_store

F = TypeVar("F", bound=Callable[..., Any])


def run_job(
    name: str,
    job: Callable[..., Iterator[Any]],
    settings: Settings,
    engine: str,
    jobs: int,
    out: str | Path | None,
) -> tuple[Event, StoredRun | None]:
    """Run a job to its end.

    Args:
        name: Name of the job in a run's folder.
        job: The job.
        settings: Its settings.
        engine: Name of the engine that runs its tasks: local, processes or ray.
        jobs: Tasks that run at once.
        out: Folder for the run; None stores nothing.

    Returns:
        The last event, which holds the result, and the run if there is one.
    """
    workers = make_engine(engine, jobs)
    last: Event | None = None
    try:
        run = None if out is None else create_run(Path(out), name, settings.model_dump())
        if run is None:
            stream = job(settings, workers)
        else:
            stream = run_and_store(run, lambda snapshot: job(settings, workers, snapshot))
        for item in stream:
            if isinstance(item, Event) and not isinstance(item, TimingEvent):
                last = item
    finally:
        workers.close()
    assert last is not None  # every job ends with an event
    return last, None if run is None else load_run(run.folder)


def signature_of(model: type[Settings]) -> Callable[[F], F]:
    """Return a decorator that shows the settings of a model in a function's signature.

    Type checkers read the function's declared annotations; `help()`, notebooks and `inspect` read this.
    """

    def decorate(function: F) -> F:
        declared = list(inspect.signature(function).parameters.values())
        taken = {parameter.name for parameter in declared}
        named = [parameter for parameter in declared if parameter.kind != parameter.VAR_KEYWORD]
        rest = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=field.get_default(),
                annotation=field.annotation,
            )
            for name, field in model.model_fields.items()
            if name not in taken
        ]
        function.__signature__ = inspect.Signature([*named, *rest])  # type: ignore[attr-defined]
        return function

    return decorate
