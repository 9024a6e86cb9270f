"""Runs that are stored: one opened for reading, and a table of all."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kinfolk.api.frames import Backend, make_frame, save_result, to_html
from kinfolk.api.run_tables import ReplayFrame, build_run_table
from kinfolk.core.trust import untrusted
from kinfolk.evaluation.export import ColumnTable
from kinfolk.evaluation.run_summary import RunSummary, select_runs, summarize_run
from kinfolk.store.policy_references import list_policies
from kinfolk.store.run import Run, find_author, open_run
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

    def table(self, name: str | None = None) -> ColumnTable:
        """Return a table of the run as columns.

        Args:
            name: `episodes`, `agents` or `failures` of an evaluation; `rows` of a sweep, one per
                setting, seed and episode; or a kind of event, such as `update_done`: a row per event,
                with its numbers as columns. `events` is the kind that is most frequent. None takes
                `episodes` of an evaluation, `rows` of a sweep that is done, `events` of others.

        Raises:
            UsageError: The run has no such table.
        """
        with untrusted(find_author(self.folder)):
            return build_run_table(self.job, self.settings, list(self.events()), name)

    def frame(self, name: str | None = None, backend: Backend | None = None) -> Any:
        """Return a table of the run as a pandas or polars frame; see `table`.

        Raises:
            MissingLibraryError: Neither pandas nor polars is installed.
        """
        return make_frame(self.table(name), backend)

    @property
    def policies(self) -> dict[str, str]:
        """Policies that the run made, by slot or population, as URIs for `slots`."""
        return {name: f"run:{self.folder}/{name}" for name in list_policies(self.folder)}

    def plot(self, kind: str | None = None, metric: str | Sequence[str] | None = None) -> Any:
        """Return a matplotlib figure of the run, as `kinfolk plot` draws it.

        Args:
            kind: `estimates`, `curves`, `populations`, `payoffs`, `archive` or `profile`, if the job has
                it; by default what one would show first.
            metric: What is drawn, several as panels below each other; by default that of the job.

        Raises:
            UsageError: The job has no such figure or metric.
            MissingLibraryError: matplotlib is not installed.
        """
        with untrusted(find_author(self.folder)):
            return plot_runs([self], kind, metric)

    def save(self, path: str | Path, table: str | None = None) -> None:
        """Write a table as CSV, Parquet or JSON, or the figure as PDF, SVG or PNG, by the suffix.

        Args:
            path: File to write.
            table: Which table; see `table`.

        Raises:
            UsageError: The suffix is another one, or there is no such table.
        """
        save_result(path, lambda: self.table(table), self.plot)

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

    def plot(self, kind: str | None = None, metric: str | Sequence[str] | None = None) -> Any:
        """Return a figure of all runs; those that differ in their seed only are one line.

        Args:
            kind: Kind of figure, as in `StoredRun.plot`.
            metric: What is drawn, several as panels below each other; by default that of the job.
        """
        with untrusted(self[0].folder if self else None):
            return plot_runs(self, kind, metric)

    def save(self, path: str | Path) -> None:
        """Write the table of runs, or their figure, by the suffix of the file."""
        save_result(path, self.table, self.plot)

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


def plot_runs(runs: Sequence[Run], kind: str | None, metric: str | Sequence[str] | None) -> Any:
    """Return a figure of runs of one job.

    Args:
        runs: The runs.
        kind: Kind of figure; None takes what one would show first.
        metric: What is drawn, one or several; None takes that of the job.
    """
    from kinfolk.jobs.figures.kinds import draw_runs
    from kinfolk.jobs.figures.sources import FigureSource

    return draw_runs([FigureSource.of_run(run) for run in runs], kind, metric)
