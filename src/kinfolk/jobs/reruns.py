"""Repeat a stored run from its settings, and find where two runs differ."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Mapping
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from kinfolk.core.errors import UsageError
from kinfolk.core.events import Event
from kinfolk.core.imports import import_own
from kinfolk.core.settings import shorten_repr, validate_settings
from kinfolk.engines.base import Engine
from kinfolk.jobs.outside_policies import replace_uris
from kinfolk.store.files import read_bytes
from kinfolk.store.run import Run, create_run
from kinfolk.store.run_job import run_and_store
from kinfolk.store.run_list import list_result_files

# Settings class and function of each job that a run can hold, by its name there.
STORED_JOBS = {
    "evaluate": ("kinfolk.jobs.evaluate:Evaluate", "kinfolk.jobs.evaluate:evaluate"),
    "compare": ("kinfolk.jobs.compare:Compare", "kinfolk.jobs.compare:compare_policies"),
    "round_robin": ("kinfolk.jobs.round_robin:RoundRobin", "kinfolk.jobs.round_robin:round_robin"),
    "tournament": (
        "kinfolk.jobs.tournament.settings:Tournament",
        "kinfolk.jobs.tournament.job:tournament",
    ),
    "crossplay": ("kinfolk.jobs.crossplay:CrossPlay", "kinfolk.jobs.crossplay:crossplay"),
    "scenarios": (
        "kinfolk.jobs.scenarios.settings:EvaluateScenarios",
        "kinfolk.jobs.scenarios.job:evaluate_scenarios",
    ),
    "train": ("kinfolk.jobs.train.settings:Train", "kinfolk.jobs.train.job:train"),
    "exploit": ("kinfolk.jobs.exploit.settings:Exploit", "kinfolk.jobs.exploit.job:exploit"),
    "evolve_roles": (
        "kinfolk.jobs.evolve_roles.settings:EvolveRoles",
        "kinfolk.jobs.evolve_roles.job:evolve_roles",
    ),
    "evolve_nets": (
        "kinfolk.jobs.evolve_nets.settings:EvolveNets",
        "kinfolk.jobs.evolve_nets.job:evolve_nets",
    ),
    "study": ("kinfolk.jobs.studies.settings:Study", "kinfolk.jobs.studies.job:study"),
    "sweep": ("kinfolk.jobs.sweeps.settings:Sweep", "kinfolk.jobs.sweeps.job:sweep"),
}


class Difference(NamedTuple):
    """Where a repeated run differs from the first one."""

    location: str  # event with its step, or a file
    field: str  # of the event; "" for a file
    expected: Any
    actual: Any

    def __str__(self) -> str:
        if not self.field:
            return f"{self.location} {self.actual}"
        expected, actual = shorten_repr(self.expected), shorten_repr(self.actual)
        return f"{self.location}, {self.field}: expected {expected}, got {actual}"


def require_done(run: Run) -> None:
    """Check that a run is complete and of a job that can be repeated.

    Raises:
        UsageError: It is not.
    """
    job = run.config["job"]
    if job not in STORED_JOBS:
        raise UsageError(
            f"A run of {job} cannot be repeated; those of {', '.join(STORED_JOBS)} can."
        )
    if run.status != "done":
        raise UsageError(f"{run.folder} is {run.status}, so there is nothing to compare with yet.")


def repeat_run(
    run: Run, engine: Engine, folder: Path, policies: Mapping[str, str] | None = None
) -> Generator[Event, None, None]:
    """Run the job of a stored run again into another folder, and yield its events.

    Args:
        run: A run that is done.
        engine: Engine that runs the tasks; results do not depend on it.
        folder: Folder of the new run, which must not exist.
        policies: Where policies lie now, by the URIs under which they played; None: where they were.

    Raises:
        UsageError: The run cannot be repeated, or the folder exists.
    """
    require_done(run)
    model, job = map(import_own, STORED_JOBS[run.config["job"]])
    table = replace_uris(run.config["settings"], policies or {})
    settings = validate_settings(model, table)
    again = create_run(folder, run.config["job"], table)
    yield from run_and_store(again, lambda resume: job(settings, engine, resume))


def find_differences(
    first: Run,
    second: Run,
    policies: Mapping[str, str] | None = None,
    n_events: int | None = None,
) -> Iterator[Difference]:
    """Yield where the events and result files of two runs differ, in order.

    Args:
        first: The run that was stored.
        second: The run that repeats it.
        policies: Where policies lay in the second, by the URIs under which they played in the first.
        n_events: Compare only so many first events, and no files; None compares everything.
    """
    events = islice(first.events(), n_events), islice(second.events(), n_events)
    pairs = zip_longest(events[0], (_restore_uris(event, policies or {}) for event in events[1]))
    for number, (expected, actual) in enumerate(pairs):
        if expected is None or actual is None:
            which = "is missing" if actual is None else "is new"
            yield Difference(f"event {number}", "", None, which)
        elif expected != actual:
            location = f"event {number} ({expected.get('kind')}, step {expected.get('step')})"
            yield from (Difference(location, *parts) for parts in _compare_values(expected, actual))
    if n_events is not None:
        return
    for name in sorted({*list_result_files(first.folder), *list_result_files(second.folder)}):
        paths = first.folder / name, second.folder / name
        if not all(path.is_file() for path in paths):
            yield Difference(name, "", None, "is missing" if paths[0].is_file() else "is new")
        elif read_bytes(paths[0]) != read_bytes(paths[1]):
            yield Difference(name, "", None, "has other bytes")


def _restore_uris(event: dict[str, Any], policies: Mapping[str, str]) -> dict[str, Any]:
    """Return an event in which policies are named as in the first run, also within sentences.

    Args:
        event: Event of the second run, as JSON values.
        policies: Where policies lay in the second run, by their URIs in the first.
    """
    text = json.dumps(event)
    for before, now in policies.items():
        text = text.replace(json.dumps(now)[1:-1], json.dumps(before)[1:-1])
    restored: dict[str, Any] = json.loads(text)
    return restored


def _compare_values(expected: Any, actual: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield path, expected and actual value of everything that differs in nested JSON values.

    Args:
        expected: Value of the first run.
        actual: Value of the second run.
        path: Names that lead to the value.
    """
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        for name in sorted({*expected, *actual}):
            inner = f"{path}.{name}" if path else str(name)
            yield from _compare_values(expected.get(name), actual.get(name), inner)
    elif isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        for index, pair in enumerate(zip(expected, actual, strict=True)):
            yield from _compare_values(*pair, f"{path}[{index}]")
    elif expected != actual:
        yield path, expected, actual
