"""Jobs run from Python, their results and the runs that they store.

Results have typed attributes, plain values by `to_dict()` and a readable `repr`.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, fields
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from pydantic import TypeAdapter, ValidationError

from kinfolk.api.frames import Backend, list_estimates, make_frame, save_table, to_html
from kinfolk.api.run_tables import ReplayFrame, build_run_table
from kinfolk.core.errors import SettingsError, require
from kinfolk.core.events import Event, TimingEvent
from kinfolk.core.settings import Settings
from kinfolk.engines import make_engine
from kinfolk.evaluation.export import ColumnTable
from kinfolk.evaluation.failures import describe_run_failures
from kinfolk.evaluation.run_summary import RunSummary, select_runs, summarize_run
from kinfolk.evaluation.statistics import Estimate
from kinfolk.store.files import as_store_error
from kinfolk.store.run import Run, create_run, open_run
from kinfolk.store.run_job import run_and_store
from kinfolk.store.run_list import DamagedRun, list_runs


class StoredRun(Run):
    """A run of an earlier job: its settings, its events and its checkpoints."""

    @property
    def job(self) -> str:
        """Name of the job that was run."""
        return str(self.config["job"])

    @property
    def settings(self) -> Mapping[str, Any]:
        """Settings of the job as plain values."""
        settings: Mapping[str, Any] = self.config["settings"]
        return settings

    def table(self, name: str = "events") -> ColumnTable:
        """Return a table of the run as columns.

        Args:
            name: `episodes`, `agents` or `failures` of an evaluation; `rows` of a sweep, one per
                setting, seed and episode; or a kind of event, such as `update`: a row per event,
                with its numbers as columns. `events` is the kind that is most frequent.

        Raises:
            UsageError: The run has no such table.
        """
        return build_run_table(self.job, self.settings, list(self.events()), name)

    def frame(self, name: str = "events", backend: Backend | None = None) -> Any:
        """Return a table of the run as a pandas or polars frame; see `table`.

        Raises:
            MissingLibraryError: Neither pandas nor polars is installed.
        """
        return make_frame(self.table(name), backend)

    def show(self, height: int = 600) -> Any:
        """Return the run's replays as a player for a notebook: the exported page in a frame.

        Raises:
            UsageError: The run has no replay.
        """
        return ReplayFrame(self.folder, height)

    def _repr_html_(self) -> str:
        facts = [("job", self.job), ("state", self.status), *self.settings.items()]
        return to_html(("setting", "value"), facts, str(self.folder))

    def to_dict(self) -> dict[str, Any]:
        """Return folder, status, job and settings of the run as plain values."""
        return {"folder": str(self.folder), "status": self.status, **self.config}

    def __repr__(self) -> str:
        return f"StoredRun({str(self.folder)!r}: {self.job}, {self.status})"


def load_run(folder: str | Path) -> StoredRun:
    """Open a stored run for reading.

    Raises:
        UsageError: There is no such run.
        DamagedRunError: The folder is not a whole run.
    """
    run = open_run(Path(folder))
    return StoredRun(run.folder, run.config)


class RunList(list[StoredRun]):
    """Stored runs, which a notebook shows as a table and `frame()` returns as a data frame."""

    def table(self) -> dict[str, list[Any]]:
        """Return name, date, job, world, seed, headline figure and state of each run, as columns."""
        rows = [summarize_run(run) for run in self]
        return {name: [getattr(row, name) for row in rows] for name in RunSummary._fields}

    def frame(self, backend: Backend | None = None) -> Any:
        """Return the table of runs as a pandas or polars frame."""
        return make_frame(self.table(), backend)

    def _repr_html_(self) -> str:
        table = self.table()
        return to_html(list(table), list(zip(*table.values(), strict=True)))


def runs(
    root: str | Path = "runs",
    *,
    job: str | None = None,
    world: str | None = None,
    state: str | None = None,
    sort: str = "date",
) -> RunList:
    """List the runs in a folder; warn of those that are damaged.

    Args:
        root: Folder that holds the runs.
        job: Only runs of this job, such as `evaluate`.
        world: Only runs in this world.
        state: Only runs that are `done`, `running` or `stopped`.
        sort: Field to sort by, such as `world`; `date` has the newest first.

    Raises:
        UsageError: There is no such state or field.
    """
    stored_runs = {}
    for run in list_runs(Path(root)):
        if isinstance(run, DamagedRun):
            warnings.warn(f"{run.name} is damaged. {run.problem}", stacklevel=2)
        else:
            stored_runs[run.name] = StoredRun(run.folder, run.config)
    summaries = [summarize_run(run) for run in stored_runs.values()]
    chosen = select_runs(summaries, {"job": job, "world": world, "state": state}, sort)
    return RunList(stored_runs[summary.name] for summary in chosen)


R = TypeVar("R", bound="JobResult")
_LINE = 100  # characters of a line of a repr


@dataclass(frozen=True, kw_only=True, repr=False)
class JobResult(Event):
    """What a job found: the facts of its last event, and the run that holds the rest.

    Two results are equal if the jobs found the same, wherever they were run and stored; timings are
    no part of a result.

    Args:
        run: The stored run; None if the job was not stored.
        failure_messages: A message for each policy that failed, as the command prints it.
    """

    run: StoredRun | None = field(default=None, compare=False)
    failure_messages: tuple[str, ...] = ()

    @classmethod
    def from_event(cls: type[R], event: Event, settings: Settings, run: StoredRun | None) -> R:
        """Return the result whose facts are those of a job's last event.

        Args:
            event: Last event of the job.
            settings: Settings of the job.
            run: The stored run, if there is one.
        """
        facts = {f.name: getattr(event, f.name) for f in fields(event)}
        messages: list[str] = []
        if "failed_slots" in facts:
            messages, _ = describe_run_failures(settings.model_dump(), event.to_dict())
        return cls(**facts, run=run, failure_messages=tuple(messages))

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values, with the folder of the run in place of the run."""
        folder = None if self.run is None else str(self.run.folder)
        return {**super().to_dict(), "run": folder}

    @classmethod
    def from_dict(cls: type[R], facts: Mapping[str, Any]) -> R:
        """Return the result that `to_dict` gave, also after it was written as JSON; its `run` is None.

        Raises:
            SettingsError: A fact is missing or has another type.
        """
        hints, values = get_type_hints(cls), dict[str, Any]()
        for name in [f.name for f in fields(cls) if f.name != "run"]:
            require(name in facts, f"The facts of {cls.__name__} have no '{name}'.")
            try:
                values[name] = TypeAdapter(hints[name]).validate_python(facts[name])
            except ValidationError as error:
                problem = error.errors()[0]
                place = ".".join(map(str, (name, *problem["loc"])))
                raise SettingsError(f"{cls.__name__}.{place}: {problem['msg']}.") from None
        return cls(**values)

    def frame(self, backend: Backend | None = None) -> Any:
        """Return the estimates as a pandas or polars frame: name, mean, low, high and n.

        Rows of single episodes are in `result.run.frame("episodes")`, if the job was stored (`out`).

        Raises:
            MissingLibraryError: Neither pandas nor polars is installed.
        """
        return make_frame(list_estimates(self.to_dict()), backend)

    def save(self, path: str | Path) -> None:
        """Write the estimates as CSV, Parquet or JSON, by the suffix of the file.

        Raises:
            UsageError: The suffix is another one.
        """
        save_table(list_estimates(self.to_dict()), path)

    def _repr_html_(self) -> str:
        table = list_estimates(self.to_dict())
        rows = [
            (name, Estimate(*estimate)) for name, *estimate in zip(*table.values(), strict=True)
        ]
        texts = [("failure", text) for text in self.failure_messages]
        return to_html(("result", "mean (95 %)"), [*rows, *texts], type(self).__name__)

    def __repr__(self) -> str:
        hidden = ("failed_slots", "failure_messages")  # shown as messages
        facts = {name: value for name, value in self.to_dict().items() if name not in hidden}
        failures = [f"  {line}" for text in self.failure_messages for line in text.splitlines()]
        return "\n".join([type(self).__name__, *failures, *_format_lines(facts)])


def _format_lines(facts: Mapping[str, Any], indent: str = "  ") -> Iterator[str]:
    """Yield a line for each fact; nested tables are indented, and long lines are cut.

    Args:
        facts: Values by name; empty values, `kind` and `step` are left out.
        indent: Spaces before each line.
    """
    for name, value in facts.items():
        if name in ("kind", "step") or value in (None, {}, [], ()):
            continue
        if isinstance(value, Mapping):
            yield f"{indent}{name}"
            yield from _format_lines(value, indent + "  ")
        else:
            line = f"{indent}{name}: {_format_value(value)}"
            yield line if len(line) <= _LINE else f"{line[: _LINE - 3]}..."


def _format_value(value: Any) -> str:
    """Return a value as text; estimates with confidence interval and sample size."""
    if isinstance(value, Estimate):
        if value.low is None or value.high is None:
            return f"{value.mean:.4g} (n = {value.n})"
        return f"{value.mean:.4g} [{value.low:.4g}, {value.high:.4g}] (n = {value.n})"
    if isinstance(value, list):
        return ", ".join(map(_format_value, value))
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return ", ".join(
            f"{name} {_format_value(inner)}" for name, inner in value._asdict().items()
        )
    return f"{value:.4g}" if isinstance(value, float) else str(value)


F = TypeVar("F", bound=Callable[..., Any])


def run_job(
    result_type: type[R],
    name: str,
    job: Callable[..., Iterator[Any]],
    settings: Settings,
    engine: str,
    jobs: int,
    out: str | Path | None,
) -> R:
    """Run a job to its end and return the facts of its last event.

    Args:
        result_type: Class of the result; it has the fields of the job's last event.
        name: Name of the job in a run's folder.
        job: Function of the job: takes settings, engine and snapshot, yields events.
        settings: Settings of the job.
        engine: Name of the engine that runs the tasks: local, processes or ray.
        jobs: Tasks that run at once.
        out: Folder for the run; None stores nothing.

    Returns:
        The result, with the stored run if `out` was given.

    Raises:
        UsageError: A setting, world or policy is wrong, or the folder exists; nothing is written.
    """
    last: Event | None = None
    run = None
    with closing(make_engine(engine, jobs)) as workers:
        stream = job(settings, workers)
        if out is not None:
            folder = Path(out)
            # The folder is made when the job has something to store, so that a job which refuses
            # its world or its policies leaves none. One that exists is refused before the work.
            with as_store_error(f"{folder} could not be made"):
                exists = folder.exists()
            first = None if exists else next(stream)
            run = create_run(folder, name, settings.model_dump())
            items = stream if first is None else chain([first], stream)
            stream = run_and_store(run, lambda _: items)
        for item in stream:
            if isinstance(item, Event) and not isinstance(item, TimingEvent):
                last = item
    assert last is not None  # every job ends with an event
    return result_type.from_event(last, settings, None if run is None else load_run(run.folder))


def signature_of(model: type[Settings]) -> Callable[[F], F]:
    """Return a decorator that shows the settings of a model in a function's signature.

    Type checkers read the function's declared annotations; `help()`, notebooks and `inspect` read this.
    """

    def decorate(function: F) -> F:
        """Set the function's `__signature__`, with a keyword for each setting."""
        declared = list(inspect.signature(function).parameters.values())
        taken = {parameter.name for parameter in declared}
        named = [parameter for parameter in declared if parameter.kind != parameter.VAR_KEYWORD]
        fields = {name: f for name, f in model.model_fields.items() if name not in taken}
        keyword = inspect.Parameter.KEYWORD_ONLY
        rest = [
            inspect.Parameter(name, keyword, default=f.get_default(), annotation=f.annotation)
            for name, f in fields.items()
        ]
        function.__signature__ = inspect.Signature([*named, *rest])  # type: ignore[attr-defined]
        return function

    return decorate
