"""`kf.study`: a pre-registered plan that is run as a whole and ends with a report."""

from __future__ import annotations

import html
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from kinfolk.api.frames import to_html
from kinfolk.api.results import JobResult, run_job
from kinfolk.core.errors import UsageError
from kinfolk.core.trust import untrusted
from kinfolk.engines.base import Engine
from kinfolk.evaluation.export import ColumnTable
from kinfolk.evaluation.formatting import format_estimate
from kinfolk.jobs.studies.checks import check_plan
from kinfolk.jobs.studies.job import study as study_job
from kinfolk.jobs.studies.outputs import HTML_FILE, build_table, removing_unbegun
from kinfolk.jobs.studies.packing import pack_study
from kinfolk.jobs.studies.results import StudyDone
from kinfolk.jobs.studies.settings import register_study
from kinfolk.store.run import new_run_folder, open_run


@dataclass(frozen=True, kw_only=True, repr=False)
class StudyResult(JobResult, StudyDone):
    """What a study found: a verdict on every hypothesis, and every metric in every condition.

    `frame()` and `save("x.csv")` have a row per metric, condition and seed.
    """

    @property
    def report(self) -> Path:
        """The report as one HTML page; `report.md` beside it has the same text.

        Raises:
            UsageError: The result was read from JSON, and has no run.
        """
        if self.run is None:
            raise UsageError("This result has no stored run, so it has no report.")
        return self.run.folder / HTML_FILE

    def columns(self) -> ColumnTable:
        """Return the value of every metric, condition and seed as columns."""
        return build_table(self)

    def __repr__(self) -> str:
        variant = ", a quick run that decides nothing" if self.quick else ""
        lines = [f"StudyResult: {self.title} ({len(self.seeds)} seeds{variant})"]
        for verdict in self.verdicts:
            effect = format_estimate(verdict.effect)
            lines.append(f"  {verdict.name}: {verdict.verdict}; effect {effect}. {verdict.reason}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = [
            (v.name, v.verdict, v.effect, f"{v.adjusted_p_value:.3g}", v.reason)
            for v in self.verdicts
        ]
        headings = ("hypothesis", "verdict", "effect (95 %)", "adjusted p", "why")
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes)
        return to_html(headings, rows, self.title) + notes


def study(
    plan: str | Path,
    *,
    quick: bool = False,
    engine: str | Engine | None = None,
    jobs: int | None = None,
    out: str | Path | None = None,
) -> StudyResult:
    """Run a pre-registered study to its end, and write its report.

    Args:
        plan: Name of a plan of kinfolk (`kinfolk study` lists them), or path of a TOML file.
        quick: Run the variant of about a minute, which decides nothing.
        engine: Engine that does the runs: local, processes, ray, or one of `kf.make_engine`; by
            default processes if `jobs` is more than 1, else local.
        jobs: Runs at once.
        out: Folder for the run; without it a new one in `runs`.

    Returns:
        Verdicts and estimates, with the run that holds the report.

    Raises:
        UsageError: There is no such plan, or it is wrong; nothing is written.
        UntrustedCodeError: The plan names code that is not part of kinfolk; see `kf.trust_files`.
    """
    folder = new_run_folder("study") if out is None else Path(out)
    with untrusted(plan), nullcontext() if folder.exists() else removing_unbegun(folder):
        settings = register_study(str(plan), quick)
        check_plan(settings.name, settings.text)
        result = run_job(
            StudyResult, "study", study_job, settings, engine, jobs, folder, may_rename=out is None
        )
    assert result.run is not None  # it has a folder
    pack_study(open_run(result.run.folder))
    return result
