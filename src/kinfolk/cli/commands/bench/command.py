"""`kinfolk bench`: speed, beside a reference measured in the same run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from kinfolk.cli.commands.bench.cogsguard import show_cogs, show_roles
from kinfolk.cli.commands.bench.engines import measure_engines, show_engines
from kinfolk.cli.commands.bench.isolation import measure_isolation, show_isolation
from kinfolk.cli.commands.bench.nets import measure_nets, show_nets
from kinfolk.cli.commands.bench.role_evolution import measure_ranks, show_ranks, show_role_job
from kinfolk.cli.commands.bench.savanna import show_savanna
from kinfolk.cli.commands.bench.train import measure_train, show_train
from kinfolk.cli.compile import compile_kernels
from kinfolk.cli.formatting import JsonOption, note, print_json
from kinfolk.core.errors import UnknownNameError, format_suggestion


def bench(
    subjects: Annotated[
        list[str] | None,
        typer.Argument(help="Of: worlds, roles, ranks, engines, nets, isolation, train."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Measure the throughput of worlds, roles, engines, nets, isolation and training."""
    chosen = subjects or list(_SUBJECTS)
    for subject in chosen:
        if subject not in _SUBJECTS:
            known = format_suggestion(subject, _SUBJECTS)
            raise UnknownNameError(f"There is no benchmark '{subject}'.{known}")
    reports = {}
    for subject in chosen:
        measure, show = _SUBJECTS[subject]
        note(f"Measuring {subject}; this takes a minute or two.")
        reports[subject] = measure()
        if not json:
            show(reports[subject])
    if json:
        print_json(reports)


def _measure_worlds() -> dict[str, Any]:
    from kinfolk.bench.worlds import bench_cogsguard, bench_savanna

    compile_kernels("savanna", {}, None, {})
    compile_kernels("cogsguard", {}, None, {})
    return {**bench_savanna(), "cogsguard": bench_cogsguard()}


def _show_worlds(report: dict[str, Any]) -> None:
    show_savanna(report)
    show_cogs(report["cogsguard"])


def _measure_roles() -> dict[str, Any]:
    from kinfolk.bench.roles import SMART_URI, TEAM_URI, bench_role_evolution, bench_roles

    for preset in ("arena", "machina_1", "edition_a", "tutorial"):
        compile_kernels("cogsguard", {}, preset, {"team": TEAM_URI, "smart": SMART_URI})
    return {**bench_roles(), "job": bench_role_evolution()}


def _show_roles(report: dict[str, Any]) -> None:
    show_roles(report)
    show_role_job(report["job"])


_SUBJECTS: dict[str, tuple[Callable[[], dict[str, Any]], Callable[[dict[str, Any]], None]]] = {
    "worlds": (_measure_worlds, _show_worlds),
    "roles": (_measure_roles, _show_roles),
    "ranks": (measure_ranks, show_ranks),
    "engines": (measure_engines, show_engines),
    "nets": (measure_nets, show_nets),
    "isolation": (measure_isolation, show_isolation),
    "train": (measure_train, show_train),
}
