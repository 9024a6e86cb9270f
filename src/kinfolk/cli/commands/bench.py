"""`kinfolk bench`: speed, beside a reference measured in the same run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from kinfolk.cli.compile import compile_kernels
from kinfolk.cli.figures import print_figures
from kinfolk.cli.output import JsonOption, echo, note, print_json, print_table
from kinfolk.cli.world_figures import measure_worlds, show_revisions, show_worlds
from kinfolk.core.errors import UnknownNameError, format_suggestion

Report = dict[str, Any]  # what a benchmark measured: figures by name, as in `--json`


def bench(
    subjects: Annotated[
        list[str] | None,
        typer.Argument(help="Of: worlds, roles, ranks, engines, nets, isolation, train."),
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(
            help="Compare the savanna with another revision instead: folder of its package's source.",
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Measure the throughput of worlds, roles, engines, nets, isolation and training."""
    if against is not None:
        _compare_revisions(against, json)
        return
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


def _compare_revisions(source: Path, json: bool) -> None:
    """Measure the savanna in turn with this revision and with the one in the folder `source`."""
    from kinfolk.bench.revisions import compare_revisions

    note("Measuring two revisions in turn; this takes a few minutes.")
    report = compare_revisions(source)
    if json:
        print_json(report)
    else:
        show_revisions(report)


def _measure_roles() -> Report:
    """Return the reports of role policies and of role evolution."""
    from kinfolk.bench.roles import SMART_URI, TEAM_URI, bench_role_evolution, bench_roles

    for preset in ("arena", "machina_1", "edition_a", "tutorial"):
        compile_kernels("cogsguard", {}, preset, {"team": TEAM_URI, "smart": SMART_URI})
    return {**bench_roles(), "job": bench_role_evolution()}


def _show_roles(report: Report) -> None:
    """Print the throughput of role policies, and games and generations per second by engine."""
    names = ("arena", "machina_1", "smart", "edition_a", "ten_games")
    print_figures(
        "Role-driven play over whole games, one core",
        "| worlds | ticks | k agent-steps/s | first fifth | last fifth | in one kernel | times",
        "{name} | {worlds} | {ticks:,} | {agent_steps_per_s:k,.0f} | {by_part[0]:k,.0f} "
        "| {by_part[4]:k,.0f} | {fused_agent_steps_per_s:k,.0f} | {speed_up:.1f}",
        *({"name": name, **report[name]} for name in names),
    )
    low, high = report["original"]
    echo(
        f"{report['ratio']:,.0f} times un-compiled code ({report['uncompiled']:,.0f} agent-steps/s);"
        f" the original's scripted roles: {low} to {high} (its note)."
    )
    for name in ("worlds", "agents", "map"):
        rows = [(p[name], f"{1e6 / p['agent_steps_per_s']:.1f}") for p in report[f"by_{name}"]]
        print_table(f"By {name}, kin://smart", (name, "us per agent-step"), rows)
    job = report["job"]
    print_figures(
        "Role evolution on the arena: whole generations, breeding and reports included",
        "engine | workers | games per generation | games/s | generations/min",
        "{engine} | {jobs} | {games_per_generation} | {games_per_s:.1f} | {generations_per_minute:.1f}",
        *job["engines"],
        job["small"],
    )
    echo(f"Two processes play {job['scaling']:.2f} times the games of one.")


def _measure_ranks() -> Report:
    """Return the report on the stability of team ranks."""
    from kinfolk.bench.roles import bench_team_ranks

    return bench_team_ranks()


def _show_ranks(report: Report) -> None:
    """Print how well ranks by few games agree with ranks by fresh games."""
    print_figures(
        f"{report['n_teams']} teams, ranked again on {report['fresh_games']} fresh games each",
        "ranked by | rank correlation | the winner is better than | selection bias",
        "{games} games | {spearman:.2f} | {percent:.0f} % of them | {selection_bias:,.0f}",
        *(
            {"games": n, "percent": 100 * row["winner"], **row}
            for n, row in report["correlation"].items()
        ),
    )


def _measure_engines() -> Report:
    """Return the report on the episode loop and the engines."""
    from kinfolk.bench.engines import bench_engines

    compile_kernels("probe", {}, None, {})
    return bench_engines()


def _show_engines(report: Report) -> None:
    """Print the cost of the episode loop and of tasks."""
    print_figures(
        "The loop's own cost, beyond world and policy",
        "worlds | rows | us per tick | ns per row | whole tick us",
        "{worlds} | {rows} | {loop_us_per_tick:.1f} | {loop_ns_per_row:.1f} | {whole_us_per_tick:.1f}",
        *report["loop"],
    )
    tasks = report["tasks"]
    print_figures(
        f"{tasks['tasks']} tasks of {tasks['task_ms']:.0f} ms on {tasks['jobs']} workers",
        "engine | seconds | times local",
        "local | {local_s:.2f} | 1.00\n processes | {processes_s:.2f} | {ratio:.2f}",
        tasks,
    )


def _measure_nets() -> Report:
    """Return the report on populations of nets."""
    from kinfolk.bench.nets import bench_nets

    return bench_nets()


def _show_nets(report: Report) -> None:
    """Print the cost of forward passes, mutation and generations."""
    from kinfolk.bench.net_oracles import compare_figures

    print_figures(
        "A forward pass of a whole population, one core",
        "nets | members | batch | us | reference | us | times faster",
        "{kind} | {population} | {batch} | {us:,.0f} | {reference} | {reference_us:,.0f} | {ratio:.1f}",
        *report["forward"],
    )
    print_figures(
        f"A generation of {report['mutation']['population']}",
        "| figure",
        """
        clone and mutate dynamic nets of {nodes:.0f} nodes, ms | {dynamic_ms:.1f}
        clone and mutate static nets of {parameters:,} parameters, ms | {static_ms:.1f}
        generations per second on CartPole | {generations_per_second:.1f}
        of that, share outside of the kernels that play | {overhead:.0%}
        of that, ticks of a member per generation | {ticks_per_member:.0f}
        """,
        {**report["mutation"], **report["cartpole"]},
    )
    title = "Beside other libraries, populations of 256"
    headings = ("", "kinfolk", "other", "figure", "times as long")
    print_table(title, headings, compare_figures(report))


def _measure_isolation() -> Report:
    """Return the report on worker processes for agents."""
    from kinfolk.bench.isolation import bench_isolation

    return bench_isolation()


def _show_isolation(report: Report) -> None:
    """Print the cost of worker processes per step, per life and in parallel."""
    print_figures(
        "A process per agent: microseconds per agent and step",
        "agents | ours, gathered | queue, one by one | queue, gathered | times | times",
        "{agents} | {gathered_us:.1f} | {queue_one_by_one_us:.0f} | {queue_gathered_us:.0f} "
        "| {times_one_by_one:.0f} | {times_gathered:.0f}",
        *report["by_agents"],
    )
    print_figures(
        "The cost by number of agents, per agent",
        "agents | us per step | times bare | start ms | initialise ms | clean up ms | own MB | all MB",
        "{agents} | {us:.1f} | {times_bare:.1f} | {start_ms:.1f} | {initialise_ms:.1f} "
        "| {clean_up_ms:.1f} | {own_megabytes:.1f} | {all_megabytes:.0f}",
        *report["scaling"],
    )
    first_ms = min(row["first_ms"] for row in report["scaling"])
    echo(
        f"A bare process is woken by a pipe and replies. The first worker takes {first_ms:.0f} ms."
    )
    print_figures(
        "The start of a slot in a sandbox, ms",
        "policy | slot | without sandbox | times | each agent | without sandbox | times",
        "{policy} | {slot_ms:.0f} | {plain_slot_ms:.0f} | {slot_times:.1f} | {agent_ms:.1f} "
        "| {plain_agent_ms:.1f} | {agent_times:.1f}",
        *(row for row in report["slots"] if "skipped" not in row),
    )
    for row in report["slots"]:
        if "skipped" in row:
            echo(f"The {row['policy']} policy was skipped. {row['skipped']}")
    busy = report["busy"]
    print_figures(
        f"{busy['agents']} agents that work for a millisecond, {busy['cores']} cores",
        "| us per agent-step | times",
        """
        in this process, in turn | {in_process_us:.0f} | 1.00
        a process each | {isolated_us:.0f} | {times_faster:.2f}
        """,
        busy,
    )


def _measure_train() -> Report:
    """Return the report on the speed of training."""
    from kinfolk.bench.training import bench_training

    compile_kernels("savanna", {"observation": "compact"}, None, {})
    return bench_training()


def _show_train(report: Report) -> None:
    """Print rates of training, and their ratios."""
    net, rates = report["net"], report["agent_steps_per_second"]
    sizes = "-".join(str(n) for n in (net["inputs"], *net["hidden"], net["outputs"]))
    title = f"Training on savanna, {report['worlds']} worlds, nets of {sizes}, one core"
    rows = [(name, f"{rate / 1e3:,.0f}") for name, rate in rates.items()]
    print_table(title, ("", "k agent-steps/s"), rows)
    print_figures(
        "Two slots",
        "| ratio",
        """
        of the ceiling, 1 epoch | {share_of_ceiling[1 epoch]:.2f}
        of the ceiling, 4 epochs | {share_of_ceiling[4 epochs]:.2f}
        their cost, times that of one | {two_slots_cost:.2f}
        their rate with the prey frozen, times without | {frozen_gain:.2f}
        """,
        report,
    )


_SUBJECTS: dict[str, tuple[Callable[[], Report], Callable[[Report], None]]] = {
    "worlds": (measure_worlds, show_worlds),
    "roles": (_measure_roles, _show_roles),
    "ranks": (_measure_ranks, _show_ranks),
    "engines": (_measure_engines, _show_engines),
    "nets": (_measure_nets, _show_nets),
    "isolation": (_measure_isolation, _show_isolation),
    "train": (_measure_train, _show_train),
}
