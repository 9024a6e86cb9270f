"""Build the page of a run: its figures and tables, failures of policies and family of nets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from kinfolk.core.errors import UsageError
from kinfolk.store.run import Run
from kinfolk.viewer.reports.blocks import Block, EventList
from kinfolk.viewer.reports.comparison import report_comparison, report_round_robin
from kinfolk.viewer.reports.evaluation import report_evaluation, report_scenarios
from kinfolk.viewer.reports.evolution import report_nets, report_roles
from kinfolk.viewer.reports.league import report_exploit
from kinfolk.viewer.reports.meetings import report_meetings
from kinfolk.viewer.reports.study import report_study
from kinfolk.viewer.reports.training import report_sweep, report_training
from kinfolk.viewer.results import DAMAGE_ERRORS, build_failures, build_family, make_damage_error

_REPORTS: dict[str, Callable[[Mapping[str, Any], EventList], list[Block]]] = {
    "evaluate": report_evaluation,
    "scenarios": report_scenarios,
    "compare": report_comparison,
    "round_robin": report_round_robin,
    "tournament": report_meetings,
    "crossplay": report_meetings,
    "evolve_roles": report_roles,
    "evolve_nets": report_nets,
    "train": report_training,
    "exploit": report_exploit,
    "sweep": report_sweep,
    "study": report_study,
}
PAGE_FILES = ("tournament.html", "report.html")  # pages that a run may hold beside its results


def build_report(run: Run) -> dict[str, Any]:
    """Return everything that the page of a run shows of its events, also while it is running.

    Returns:
        `blocks` (see `blocks.py`), `failures` (as `build_failures` returns them), `family` of nets
        (as `build_family` does; None for other jobs) and `pages`, names of files in the run's folder.

    Raises:
        DamagedRunError: An event lacks a field, or its values are of the wrong kind.
    """
    job, settings, events = str(run.config["job"]), run.config["settings"], list(run.events())
    build = _REPORTS.get(job)
    try:
        blocks = build(settings, events) if build is not None else []
    except DAMAGE_ERRORS as error:
        raise make_damage_error(error) from None
    return {
        "blocks": blocks,
        "failures": build_failures(job, settings, events),
        "family": build_family(settings, events) if job == "evolve_nets" else None,
        "pages": [name for name in PAGE_FILES if (run.folder / name).is_file()],
    }


def find_page_file(folder: Path, name: str) -> Path:
    """Return the path of a page that a run holds.

    Raises:
        UsageError: There is no such page.
    """
    path = folder / name
    if name not in PAGE_FILES or not path.is_file() or path.is_symlink():
        raise UsageError(f"There is no page '{name}' in {folder}.")
    return path
