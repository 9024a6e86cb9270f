"""`kf.sweep`: a job over settings and seeds, with a tidy table, intervals and a figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kinfolk.api.frames import Backend, make_frame, save_table, to_html
from kinfolk.api.results import JobResult, run_job
from kinfolk.core.settings import validate_settings
from kinfolk.evaluation.figures import FIGURE_FORMATS, draw_estimates, save_figure
from kinfolk.evaluation.formatting import format_estimate
from kinfolk.jobs.sweep import Sweep, SweepDone
from kinfolk.jobs.sweep import sweep as sweep_job


@dataclass(frozen=True, kw_only=True, repr=False)
class SweepResult(JobResult, SweepDone):
    """What a sweep found: an estimate of the metric for each setting, and the tidy table."""

    def frame(self, backend: Backend | None = None) -> Any:
        """Return the tidy table, a row per setting, seed and episode, as a pandas or polars frame."""
        return make_frame(self.table, backend)

    def plot(self) -> Any:
        """Return a matplotlib figure of the metric over the varied settings, with intervals."""
        return draw_estimates(self.settings, self.estimates, self.metric, self._interval)

    def save(self, path: str | Path) -> None:
        """Write the tidy table (.csv, .parquet, .json) or the figure (.svg, .pdf, .png)."""
        if Path(path).suffix.removeprefix(".") in FIGURE_FORMATS:
            save_figure(self.plot(), path)
        else:
            save_table(self.table, path)

    @property
    def _interval(self) -> str:
        return f"{len(self.seeds)} seeds" if self.over == "seeds" else self.over

    def __repr__(self) -> str:
        lines = [f"SweepResult: {self.metric}, mean (95 % over {self._interval})"]
        for setting, estimate in zip(self.settings, self.estimates, strict=True):
            name = ", ".join(f"{key} = {value}" for key, value in setting.items()) or self.job
            n = 0 if estimate is None else estimate.n
            lines.append(f"  {name}: {format_estimate(estimate)}, n = {n}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = [
            [*setting.values(), estimate]
            for setting, estimate in zip(self.settings, self.estimates, strict=True)
        ]
        headings = [*self.vary, f"mean (95 % over {self._interval})"]
        return to_html(headings, rows, self.metric)


def sweep(
    job: str = "eval",
    *,
    vary: Mapping[str, Sequence[Any]] | None = None,
    seeds: int | Sequence[int] = 1,
    metric: str | None = None,
    engine: str = "local",
    jobs: int = 1,
    out: str | Path | None = None,
    **settings: Any,
) -> SweepResult:
    """Run a job with every combination of varied settings and every seed.

    >>> result = sweep("eval", vary={"max_ticks": [4, 8]}, seeds=3, metric="ticks", episodes=2)
    >>> [estimate.n for estimate in result.estimates], len(result.table["seed"])
    ([3, 3], 12)

    Args:
        job: eval, train, evolve-roles or evolve-nets.
        vary: Values of each varied setting, of the job or of its world.
        seeds: Number of seeds, from 0 on, or the seeds themselves.
        metric: Metric of the summary and the figure; by default that of the job.
        engine: Engine that runs the points: local, processes or ray.
        jobs: Points that run at once.
        out: Folder for the run; without it nothing is stored.
        settings: Settings of the job that all points share.

    Returns:
        The estimates, with `frame()`, `plot()` and `save(path)`.

    Raises:
        UsageError: A setting, seed or metric is wrong.
    """
    chosen = validate_settings(
        Sweep,
        {
            "job": job,
            "settings": settings,
            "vary": {name: tuple(values) for name, values in (vary or {}).items()},
            "seeds": tuple(range(seeds)) if isinstance(seeds, int) else tuple(seeds),
            "metric": metric,
        },
    )
    return run_job(SweepResult, "sweep", sweep_job, chosen, engine, jobs, out)
