"""`kinfolk bench`: speed, beside a reference measured in the same run."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

from kinfolk.cli.bench_cogs import show_cogs, show_roles
from kinfolk.cli.bench_role_job import measure_ranks, show_ranks, show_role_job
from kinfolk.cli.bench_train import measure_train, show_train
from kinfolk.cli.show import JsonOption, print_json, print_table
from kinfolk.cli.warm import warm
from kinfolk.core.errors import UnknownNameError, suggestion


def bench(
    subjects: Annotated[
        list[str] | None,
        typer.Argument(help="Of: worlds, roles, ranks, engines, nets, isolation, train."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Measure throughput."""
    chosen = subjects or list(_SUBJECTS)
    for subject in chosen:
        if subject not in _SUBJECTS:
            known = suggestion(subject, _SUBJECTS)
            raise UnknownNameError(f"There is no benchmark '{subject}'.{known}")
    reports = {}
    for subject in chosen:
        measure, show = _SUBJECTS[subject]
        print(f"Measuring {subject}; this takes a minute or two.", file=sys.stderr, flush=True)
        reports[subject] = measure()
        if not json:
            show(reports[subject])
    if json:
        print_json(reports)


def _measure_worlds() -> dict[str, Any]:
    from kinfolk.jobs.bench_cogs import bench_cogs
    from kinfolk.jobs.bench_worlds import bench_worlds

    warm("savanna", {}, None, {})
    warm("cogsguard", {}, None, {})
    return {**bench_worlds(), "cogsguard": bench_cogs()}


def _show_worlds(report: dict[str, Any]) -> None:
    _show_savanna(report)
    show_cogs(report["cogsguard"])


def _measure_roles() -> dict[str, Any]:
    from kinfolk.jobs.bench_role_job import bench_role_job
    from kinfolk.jobs.bench_roles import LINEUP, SMART, bench_roles

    for preset in ("arena", "machina_1", "edition_a", "tutorial"):
        warm("cogsguard", {}, preset, {"lineup": LINEUP, "smart": SMART})
    return {**bench_roles(), "job": bench_role_job()}


def _show_roles(report: dict[str, Any]) -> None:
    show_roles(report)
    show_role_job(report["job"])


def _show_savanna(report: dict[str, Any]) -> None:
    plain = report["uncompiled"]
    print_table(
        f"savanna, {report['worlds']} worlds, {report['alive_per_world']:.0f} alive in each, one core",
        ("", "M agent-steps/s", "times un-compiled"),
        [
            ("rules alone", f"{report['rules'] / 1e6:.2f}", f"{report['ratio_rules']:,.0f}"),
            ("with compact observations", f"{report['compact'] / 1e6:.2f}", ""),
            (
                "with float32 observations",
                f"{report['float32'] / 1e6:.2f}",
                f"{report['ratio_float32']:,.0f}",
            ),
            ("un-compiled, float32", f"{plain['float32'] / 1e6:.5f}", "1"),
        ],
    )
    threads = report["threads"]
    print_table(
        f"{threads['worlds']} worlds, compact observations",
        ("threads", "M agent-steps/s", "times one"),
        [
            (1, f"{threads['one'] / 1e6:.2f}", "1.00"),
            (2, f"{threads['two'] / 1e6:.2f}", f"{threads['ratio']:.2f}"),
        ],
    )
    for name in ("worlds", "agents", "grid"):
        print_table(
            f"Cost by {name}, compact observations",
            (name, "alive per world", "ns per agent-step", "of that rules", "KB per world"),
            [
                (
                    point[name],
                    f"{point['alive_per_world']:.0f}",
                    f"{point['ns_per_agent_step']:.0f}",
                    f"{point['ns_rules']:.0f}",
                    f"{point['bytes_per_world'] / 1024:,.0f}",
                )
                for point in report[f"by_{name}"]
            ],
        )


def _measure_engines() -> dict[str, Any]:
    from kinfolk.jobs.bench_engines import bench_engines

    warm("probe", {}, None, {})
    return bench_engines()


def _show_engines(report: dict[str, Any]) -> None:
    print_table(
        "The loop's own cost, beyond world and policy",
        ("worlds", "rows", "us per tick", "ns per row", "whole tick us"),
        [
            (
                r["worlds"],
                r["rows"],
                f"{r['loop_us_per_tick']:.1f}",
                f"{r['loop_ns_per_row']:.1f}",
                f"{r['whole_us_per_tick']:.1f}",
            )
            for r in report["loop"]
        ],
    )
    tasks = report["tasks"]
    print_table(
        f"{tasks['tasks']} tasks of {tasks['task_ms']:.0f} ms on {tasks['jobs']} workers",
        ("engine", "seconds", "times local"),
        [
            ("local", f"{tasks['local_s']:.2f}", "1.00"),
            ("processes", f"{tasks['processes_s']:.2f}", f"{tasks['ratio']:.2f}"),
        ],
    )


def _measure_nets() -> dict[str, Any]:
    from kinfolk.jobs.bench_nets import bench_nets

    return bench_nets()


def _show_nets(report: dict[str, Any]) -> None:
    print_table(
        "A forward pass of a whole population, one core",
        ("nets", "members", "batch", "us", "reference", "us", "times faster"),
        [
            (
                r["kind"],
                r["population"],
                r["batch"],
                f"{r['us']:,.0f}",
                r["reference"],
                f"{r['reference_us']:,.0f}",
                f"{r['ratio']:.1f}",
            )
            for r in report["forward"]
        ],
    )
    mutation, cartpole = report["mutation"], report["cartpole"]
    print_table(
        f"A generation of {mutation['population']}",
        ("", "figure"),
        [
            (f"clone and mutate dynamic nets of {mutation['nodes']:.0f} nodes, ms",
             f"{mutation['dynamic_ms']:.1f}"),
            (f"clone and mutate static nets of {mutation['parameters']:,} parameters, ms",
             f"{mutation['static_ms']:.1f}"),
            ("generations per second on CartPole", f"{cartpole['generations_per_second']:.1f}"),
            ("of that, ticks of a member per generation", f"{cartpole['ticks_per_member']:.0f}"),
        ],
    )  # fmt: skip


def _measure_isolation() -> dict[str, Any]:
    from kinfolk.jobs.bench_isolation import bench_isolation

    return bench_isolation()


def _show_isolation(report: dict[str, Any]) -> None:
    print_table(
        "A process per agent: microseconds per agent and step",
        ("agents", "ours, gathered", "queue, one by one", "queue, gathered", "times", "times"),
        [
            (
                r["agents"],
                f"{r['gathered_us']:.1f}",
                f"{r['queue_one_by_one_us']:.0f}",
                f"{r['queue_gathered_us']:.0f}",
                f"{r['times_one_by_one']:.0f}",
                f"{r['times_gathered']:.0f}",
            )
            for r in report["by_agents"]
        ],
    )
    life = report["life"]
    print_table(
        "The life of a process, per agent",
        ("", "ms"),
        [
            ("the first, with the one that starts the others", f"{life['first_ms']:.0f}"),
            ("start", f"{life['start_ms']:.1f}"),
            ("initialise", f"{life['initialise_ms']:.1f}"),
            ("clean up", f"{life['clean_up_ms']:.1f}"),
            ("memory of its own, MB", f"{life['own_megabytes']:.1f}"),
        ],
    )
    busy = report["busy"]
    print_table(
        f"{busy['agents']} agents that work for a millisecond, {busy['cores']} cores",
        ("", "us per agent-step", "times"),
        [
            ("in this process, in turn", f"{busy['in_process_us']:.0f}", "1.00"),
            ("a process each", f"{busy['apart_us']:.0f}", f"{busy['times_faster']:.2f}"),
        ],
    )


_SUBJECTS: dict[str, tuple[Callable[[], dict[str, Any]], Callable[[dict[str, Any]], None]]] = {
    "worlds": (_measure_worlds, _show_worlds),
    "roles": (_measure_roles, _show_roles),
    "ranks": (measure_ranks, show_ranks),
    "engines": (_measure_engines, _show_engines),
    "nets": (_measure_nets, _show_nets),
    "isolation": (_measure_isolation, _show_isolation),
    "train": (measure_train, show_train),
}
