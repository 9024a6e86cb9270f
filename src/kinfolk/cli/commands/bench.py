"""`kinfolk bench`: speed, beside a reference measured in the same run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from string import Formatter
from typing import Annotated, Any

import typer

from kinfolk.cli.compile import compile_kernels
from kinfolk.cli.output import JsonOption, note, print_json, print_table
from kinfolk.core.errors import UnknownNameError, format_suggestion

Report = dict[str, Any]  # what a benchmark measured: figures by name, as in `--json`
_UNITS = {"M": 1e6, "k": 1e3, "K": 1024}  # before the format of a figure


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


class _FigureFormatter(Formatter):
    """Formats figures as `str.format` does, with two more format specs.

    `{rate:M.2f}` formats in millions. `{rate:/.0f}` formats a rate per second as its inverse, in
    nanoseconds.
    """

    def format_field(self, value: Any, format_spec: str) -> str:
        """Format one figure; a unit or `/` may precede the usual format spec."""
        if format_spec[:1] == "/":
            value, format_spec = 1e9 / value, format_spec[1:]
        elif format_spec[:1] in _UNITS:
            value, format_spec = value / _UNITS[format_spec[0]], format_spec[1:]
        return str(super().format_field(value, format_spec))


def _print_figures(title: str, headings: str, rows: str, *points: Mapping[str, Any]) -> None:
    """Print a table of figures.

    Args:
        title: Line above the table.
        headings: Headings of the columns, with `|` between them.
        rows: Template with a row per line, `|` between cells, and figures as `{name:.2f}`.
        points: Figures by name; the rows are printed once for each of these mappings.
    """
    text = "\n".join(_FigureFormatter().vformat(rows.strip(), (), figures) for figures in points)
    cells = [[cell.strip() for cell in line.split("|")] for line in text.splitlines()]
    print_table(title, [heading.strip() for heading in headings.split("|")], cells)


def _measure_worlds() -> Report:
    """Compile the kernels, and return the reports of both worlds."""
    from kinfolk.bench.worlds import bench_cogsguard, bench_savanna

    compile_kernels("savanna", {}, None, {})
    compile_kernels("cogsguard", {}, None, {})
    return {**bench_savanna(), "cogsguard": bench_cogsguard()}


def _show_worlds(report: Report) -> None:
    """Print the throughput of savanna and CogsGuard, and how their cost grows."""
    _print_figures(
        f"savanna, {report['worlds']} worlds, {report['alive_per_world']:.0f} alive in each, one core",
        "| M agent-steps/s | times un-compiled",
        """
        rules alone | {rules:M.2f} | {ratio_rules:,.0f}
        with compact observations | {compact:M.2f} |
        with float32 observations | {float32:M.2f} | {ratio_float32:,.0f}
        un-compiled, float32 | {uncompiled[float32]:M.5f} | 1
        """,
        report,
    )
    _print_figures(
        f"{report['threads']['worlds']} worlds, compact observations",
        "threads | M agent-steps/s | times one",
        "1 | {one:M.2f} | 1.00\n 2 | {two:M.2f} | {ratio:.2f}",
        report["threads"],
    )
    for name in ("worlds", "agents", "grid"):
        _print_figures(
            f"Cost by {name}, compact observations",
            f"{name} | alive per world | ns per agent-step | of that rules | KB per world",
            f"{{{name}}} | {{alive_per_world:.0f}} | {{ns_per_agent_step:.0f}} | {{ns_rules:.0f}} "
            "| {bytes_per_world:K,.0f}",
            *report[f"by_{name}"],
        )
    cogsguard = report["cogsguard"]
    _print_figures(
        f"cogsguard, arena, {cogsguard['worlds']} worlds of {cogsguard['agents']} agents, one core",
        "| M agent-steps/s | times un-compiled",
        """
        rules alone | {rules:M.2f} |
        with observations | {whole:M.2f} | {ratio:,.0f}
        un-compiled | {uncompiled[whole]:M.5f} | 1
        the original's engine (its note) | {original[0]:M.3f} to {original[1]:M.3f} |
        """,
        cogsguard,
    )
    for name in ("worlds", "agents", "map"):
        _print_figures(
            f"Cost by {name}",
            f"{name} | ns per agent-step | of that rules | KB per world",
            f"{{{name}}} | {{whole:/,.0f}} | {{rules:/,.0f}} | {{bytes_per_world:K,.0f}}",
            *cogsguard[f"by_{name}"],
        )


def _measure_roles() -> Report:
    """Return the reports of role policies and of role evolution."""
    from kinfolk.bench.roles import SMART_URI, TEAM_URI, bench_role_evolution, bench_roles

    for preset in ("arena", "machina_1", "edition_a", "tutorial"):
        compile_kernels("cogsguard", {}, preset, {"team": TEAM_URI, "smart": SMART_URI})
    return {**bench_roles(), "job": bench_role_evolution()}


def _show_roles(report: Report) -> None:
    """Print the throughput of role policies, and games and generations per second by engine."""
    names = ("arena", "machina_1", "smart", "edition_a")
    _print_figures(
        "Role-driven play over whole games, one core",
        "| worlds | ticks | k agent-steps/s | first fifth | last fifth",
        "{name} | {worlds} | {ticks:,} | {agent_steps_per_s:k,.0f} | {by_part[0]:k,.0f} "
        "| {by_part[4]:k,.0f}",
        *({"name": name, **report[name]} for name in names),
    )
    low, high = report["original"]
    print(
        f"{report['ratio']:,.0f} times un-compiled code ({report['uncompiled']:,.0f} agent-steps/s);"
        f" the original's scripted roles: {low} to {high} (its note)."
    )
    for name in ("worlds", "agents", "map"):
        rows = [(p[name], f"{1e6 / p['agent_steps_per_s']:.1f}") for p in report[f"by_{name}"]]
        print_table(f"By {name}, kin://smart", (name, "us per agent-step"), rows)
    job = report["job"]
    _print_figures(
        "Role evolution on the arena: whole generations, breeding and reports included",
        "engine | workers | games per generation | games/s | generations/min",
        "{engine} | {jobs} | {games_per_generation} | {games_per_s:.1f} | {generations_per_minute:.1f}",
        *job["engines"],
        job["small"],
    )
    print(f"Two processes play {job['scaling']:.2f} times the games of one.")


def _measure_ranks() -> Report:
    """Return the report on the stability of team ranks."""
    from kinfolk.bench.roles import bench_team_ranks

    return bench_team_ranks()


def _show_ranks(report: Report) -> None:
    """Print how well ranks by few games agree with ranks by fresh games."""
    _print_figures(
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
    _print_figures(
        "The loop's own cost, beyond world and policy",
        "worlds | rows | us per tick | ns per row | whole tick us",
        "{worlds} | {rows} | {loop_us_per_tick:.1f} | {loop_ns_per_row:.1f} | {whole_us_per_tick:.1f}",
        *report["loop"],
    )
    tasks = report["tasks"]
    _print_figures(
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
    _print_figures(
        "A forward pass of a whole population, one core",
        "nets | members | batch | us | reference | us | times faster",
        "{kind} | {population} | {batch} | {us:,.0f} | {reference} | {reference_us:,.0f} | {ratio:.1f}",
        *report["forward"],
    )
    _print_figures(
        f"A generation of {report['mutation']['population']}",
        "| figure",
        """
        clone and mutate dynamic nets of {nodes:.0f} nodes, ms | {dynamic_ms:.1f}
        clone and mutate static nets of {parameters:,} parameters, ms | {static_ms:.1f}
        generations per second on CartPole | {generations_per_second:.1f}
        of that, ticks of a member per generation | {ticks_per_member:.0f}
        """,
        {**report["mutation"], **report["cartpole"]},
    )


def _measure_isolation() -> Report:
    """Return the report on worker processes for agents."""
    from kinfolk.bench.isolation import bench_isolation

    return bench_isolation()


def _show_isolation(report: Report) -> None:
    """Print the cost of worker processes per step, per life and in parallel."""
    _print_figures(
        "A process per agent: microseconds per agent and step",
        "agents | ours, gathered | queue, one by one | queue, gathered | times | times",
        "{agents} | {gathered_us:.1f} | {queue_one_by_one_us:.0f} | {queue_gathered_us:.0f} "
        "| {times_one_by_one:.0f} | {times_gathered:.0f}",
        *report["by_agents"],
    )
    _print_figures(
        "The cost by number of agents, per agent",
        "agents | us per step | times bare | start ms | initialise ms | clean up ms | own MB | all MB",
        "{agents} | {us:.1f} | {times_bare:.1f} | {start_ms:.1f} | {initialise_ms:.1f} "
        "| {clean_up_ms:.1f} | {own_megabytes:.1f} | {all_megabytes:.0f}",
        *report["scaling"],
    )
    first_ms = min(row["first_ms"] for row in report["scaling"])
    print(
        f"A bare process is woken by a pipe and replies. The first worker takes {first_ms:.0f} ms."
    )
    _print_figures(
        "The start of a slot in a sandbox, ms",
        "policy | slot | without sandbox | times | each agent | without sandbox | times",
        "{policy} | {slot_ms:.0f} | {plain_slot_ms:.0f} | {slot_times:.1f} | {agent_ms:.1f} "
        "| {plain_agent_ms:.1f} | {agent_times:.1f}",
        *(row for row in report["slots"] if "skipped" not in row),
    )
    for row in report["slots"]:
        if "skipped" in row:
            print(f"The {row['policy']} policy was skipped. {row['skipped']}")
    busy = report["busy"]
    _print_figures(
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
    _print_figures(
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
    "worlds": (_measure_worlds, _show_worlds),
    "roles": (_measure_roles, _show_roles),
    "ranks": (_measure_ranks, _show_ranks),
    "engines": (_measure_engines, _show_engines),
    "nets": (_measure_nets, _show_nets),
    "isolation": (_measure_isolation, _show_isolation),
    "train": (_measure_train, _show_train),
}
