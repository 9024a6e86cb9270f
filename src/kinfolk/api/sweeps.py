"""`kf.sweep`: a job over settings and seeds, with a tidy table, intervals and a figure."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from kinfolk.api.frames import to_html
from kinfolk.api.own_objects import name_objects
from kinfolk.api.results import JobResult, run_job
from kinfolk.core.settings import validate_settings
from kinfolk.engines.base import Engine
from kinfolk.evaluation.export import ColumnTable
from kinfolk.evaluation.formatting import format_estimate
from kinfolk.jobs.sweeps.job import SweepDone
from kinfolk.jobs.sweeps.job import sweep as sweep_job
from kinfolk.jobs.sweeps.settings import Sweep


@dataclass(frozen=True, kw_only=True, repr=False)
class SweepResult(JobResult, SweepDone):
    """What a sweep found: an estimate of the metric for each setting, and the tidy table.

    `frame()` and `save("x.csv")` have a row per setting, seed and, of evaluations, episode.
    """

    def columns(self) -> ColumnTable:
        """Return the tidy table as columns."""
        return self.table

    @property
    def best_settings(self) -> dict[str, Any] | None:
        """The values that a search found to be best; None without a search."""
        return None if self.best is None else self.settings[self.best]

    @property
    def _interval(self) -> str:
        return f"{len(self.seeds)} seeds" if self.over == "seeds" else self.over

    def __repr__(self) -> str:
        lines = [f"SweepResult: {self.metric}, mean (95 % over {self._interval})"]
        for number, (setting, estimate) in enumerate(
            zip(self.settings, self.estimates, strict=True)
        ):
            name = ", ".join(f"{key} = {value}" for key, value in setting.items()) or self.job
            n = 0 if estimate is None else estimate.n
            best = ", the best" if number == self.best else ""
            lines.append(f"  {name}: {format_estimate(estimate)}, n = {n}{best}")
        return "\n".join([*lines, *(f"  {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        rows = [
            [*setting.values(), estimate]
            for setting, estimate in zip(self.settings, self.estimates, strict=True)
        ]
        headings = [*self.vary, f"mean (95 % over {self._interval})"]
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes)
        return to_html(headings, rows, self.metric) + notes


def sweep(
    job: str = "eval",
    *,
    vary: Mapping[str, Sequence[Any]] | None = None,
    cases: Sequence[Mapping[str, Any]] = (),
    search: Mapping[str, str | Sequence[Any]] | None = None,
    trials: int = 20,
    batch: int = 4,
    direction: Literal["maximize", "minimize"] = "maximize",
    search_seed: int = 0,
    seeds: int | Sequence[int] = 1,
    metric: str | None = None,
    engine: str | Engine | None = None,
    jobs: int | None = None,
    out: str | Path | None = None,
    **settings: Any,
) -> SweepResult:
    """Run a job with every combination of varied settings and every seed, or search the best ones.

    >>> result = sweep("eval", vary={"max_ticks": [4, 8]}, seeds=3, metric="ticks", episodes=2)
    >>> [estimate.n for estimate in result.estimates], len(result.table["seed"])
    ([3, 3], 12)

    Args:
        job: eval, train, evolve-roles or evolve-nets.
        vary: Values of each varied setting, of the job or of its world; all combinations are run.
        cases: Instead of `vary`, a list of settings to run, each a table.
        search: Instead of `vary`, settings that Optuna searches: "LOW:HIGH", "LOW:HIGH:log", or a list
            of choices.
        trials: Settings that a search tries.
        batch: Trials that are proposed together, before their results are known.
        direction: Whether a search looks for a high or a low metric.
        search_seed: Random seed of a search.
        seeds: Number of seeds, from 0 on, or the seeds themselves.
        metric: Metric of the summary and the figure; by default that of the job.
        engine: Engine that runs the points: local, processes, ray, or one of `kf.make_engine`; by
            default processes if `jobs` is more than 1, else local.
        jobs: Points that run at once.
        out: Folder for the run; without it nothing is stored.
        settings: Settings of the job that all points share.

    Returns:
        The estimates, with `frame()`, `plot()`, `save(path)` and, after a search, `best_settings`.

    Raises:
        UsageError: A setting, seed or metric is wrong.
    """
    chosen = validate_settings(
        Sweep,
        {
            "job": job,
            "settings": name_objects(settings),
            "vary": {name: tuple(values) for name, values in (vary or {}).items()},
            "cases": tuple(dict(case) for case in cases),
            "search": {
                name: values if isinstance(values, str) else tuple(values)
                for name, values in (search or {}).items()
            },
            "trials": trials,
            "batch": batch,
            "direction": direction,
            "search_seed": search_seed,
            "seeds": tuple(range(seeds)) if isinstance(seeds, int) else tuple(seeds),
            "metric": metric,
        },
    )
    return run_job(SweepResult, "sweep", sweep_job, chosen, engine, jobs, out)
