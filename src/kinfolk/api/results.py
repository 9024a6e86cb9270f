"""Jobs run from Python, and their results.

Results have typed attributes, plain values by `to_dict()` and a readable `repr`.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, fields
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from pydantic import TypeAdapter, ValidationError

from kinfolk.api.frames import Backend, list_estimates, make_frame, save_result, to_html
from kinfolk.api.progress import showing_progress
from kinfolk.api.stored_runs import StoredRun, load_run
from kinfolk.core.errors import SettingsError, require
from kinfolk.core.events import Event, TimingEvent
from kinfolk.core.settings import Settings
from kinfolk.engines import make_engine
from kinfolk.evaluation.export import ColumnTable
from kinfolk.evaluation.failures import describe_run_failures
from kinfolk.evaluation.statistics import Estimate
from kinfolk.policies.own_policies import find_object_uris, make_other_process_error
from kinfolk.store.files import as_store_error
from kinfolk.store.run import create_run
from kinfolk.store.run_job import run_and_store

R = TypeVar("R", bound="JobResult")
_LINE = 100  # characters of a line of a repr
# The job of each result, by the kind of its event.
_JOBS = {
    "evaluated": "evaluate",
    "scenarios_evaluated": "scenarios",
    "compared": "compare",
    "rated": "round_robin",
    "tournament_done": "tournament",
    "crossplay_done": "crossplay",
    "champion_evaluated": "evolve_roles",
    "nets_evolved": "evolve_nets",
    "training_done": "train",
    "exploited": "exploit",
    "swept": "sweep",
    "study_done": "study",
}


@dataclass(frozen=True, kw_only=True, repr=False)
class JobResult(Event):
    """What a job found: the facts of its last event, and the run that holds the rest.

    Two results are equal if the jobs found the same, wherever they were run and stored; timings are
    no part of a result.

    Args:
        run: The stored run; None if the job was not stored.
        failure_messages: A message for each policy that failed, as the command prints it.
    """

    # The stored run; None if the job was not stored.
    run: StoredRun | None = field(default=None, compare=False)
    failure_messages: tuple[str, ...] = ()  # one for each policy that failed

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
        return make_frame(self.columns(), backend)

    def columns(self) -> ColumnTable:
        """Return what `frame()` and `save()` write, as columns."""
        return list_estimates(super().to_dict())

    def plot(self, kind: str | None = None, metric: str | Sequence[str] | None = None) -> Any:
        """Return a matplotlib figure of the result: that of its run, as `StoredRun.plot` draws it.

        Without a stored run there are the figures that need nothing but the result.

        Args:
            kind: Kind of figure; by default what one would show first.
            metric: What is drawn, several as panels below each other; by default that of the job.

        Raises:
            UsageError: The job has no such figure or metric, or it needs a stored run (`out`).
            MissingLibraryError: matplotlib is not installed.
        """
        from kinfolk.jobs.figures.kinds import draw_runs
        from kinfolk.jobs.figures.sources import FigureSource

        if self.run is not None:
            return self.run.plot(kind, metric)
        events = [json.loads(json.dumps(super().to_dict()))]
        return draw_runs([FigureSource("", _JOBS[self.kind], {}, events)], kind, metric)

    def save(self, path: str | Path) -> None:
        """Write the table as CSV, Parquet or JSON, or the figure as PDF, SVG or PNG, by the suffix.

        Raises:
            UsageError: The suffix is another one.
        """
        save_result(path, self.columns, self.plot)

    def _repr_html_(self) -> str:
        table = self.columns()
        rows = [
            (name, Estimate(*estimate)) for name, *estimate in zip(*table.values(), strict=True)
        ]
        texts = [("failure", text) for text in self.failure_messages]
        texts += [("note", text) for text in getattr(self, "notes", [])]
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
    may_rename: bool = False,
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
        may_rename: Whether a number is added to the folder's name if it exists.

    Returns:
        The result, with the stored run if `out` was given.

    Raises:
        UsageError: A setting, world or policy is wrong, or the folder exists; nothing is written.
    """
    for uri in find_object_uris(settings.model_dump()) if engine != "local" else ():
        raise make_other_process_error(uri)
    last: Event | None = None
    run = None
    with closing(make_engine(engine, jobs)) as workers:
        stream = job(settings, workers)
        if out is not None:
            folder = Path(out)
            # The folder is made when the job has something to store, so that a job which refuses
            # its world or its policies leaves none. One that exists is refused before the work.
            with as_store_error(f"{folder} could not be made"):
                is_refused = folder.exists() and not may_rename
            first = None if is_refused else next(stream)
            run = create_run(folder, name, settings.model_dump(), may_rename)
            items = stream if first is None else chain([first], stream)
            stream = run_and_store(run, lambda _: items)
        with showing_progress(name, settings) as tell:
            for item in stream:
                if isinstance(item, Event) and not isinstance(item, TimingEvent):
                    last = item
                    tell(item)
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
