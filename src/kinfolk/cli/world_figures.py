"""What `kinfolk bench worlds` measures, and the tables that show it."""

from __future__ import annotations

from typing import Any

from kinfolk.cli.compile import compile_kernels
from kinfolk.cli.figures import print_figures
from kinfolk.cli.output import echo

Report = dict[str, Any]  # what a benchmark measured: figures by name, as in `--json`


def measure_worlds() -> Report:
    """Compile the kernels, and return the reports of both worlds."""
    from kinfolk.bench.large_savanna import bench_adapter, bench_large_savanna
    from kinfolk.bench.worlds import bench_cogsguard, bench_savanna

    compile_kernels("savanna", {}, None, {})
    compile_kernels("cogsguard", {}, None, {})
    return {
        **bench_savanna(),
        "pettingzoo": bench_adapter(),
        "large": bench_large_savanna(),
        "cogsguard": bench_cogsguard(),
    }


def show_worlds(report: Report) -> None:
    """Print the throughput of savanna and CogsGuard, and how their cost grows."""
    print_figures(
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
    print_figures(
        f"{report['threads']['worlds']} worlds, compact observations",
        "threads | M agent-steps/s | times one",
        "1 | {one:M.2f} | 1.00\n 2 | {two:M.2f} | {ratio:.2f}",
        report["threads"],
    )
    for name in ("worlds", "agents", "grid"):
        print_figures(
            f"Cost by {name}, compact observations",
            f"{name} | alive per world | ns per agent-step | of that rules | KB per world",
            f"{{{name}}} | {{alive_per_world:.0f}} | {{ns_per_agent_step:.0f}} | {{ns_rules:.0f}} "
            "| {bytes_per_world:K,.0f}",
            *report[f"by_{name}"],
        )
    _show_large_savanna(report)
    cogsguard = report["cogsguard"]
    print_figures(
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
        print_figures(
            f"Cost by {name}",
            f"{name} | ns per agent-step | of that rules | KB per world",
            f"{{{name}}} | {{whole:/,.0f}} | {{rules:/,.0f}} | {{bytes_per_world:K,.0f}}",
            *cogsguard[f"by_{name}"],
        )


def _show_large_savanna(report: Report) -> None:
    """Print the rates of the PettingZoo adapter and of worlds of many agents."""
    print_figures(
        "One savanna, agents with random actions, k agent-steps/s",
        "agents | PettingZoo, dictionaries | step_arrays",
        "{agents:.0f} | {dictionaries:k,.0f} | {arrays:k,.0f}",
        report["pettingzoo"],
    )
    large = report["large"]
    print_figures(
        f"One world, compact observations of all agents in blocks of {large['block']:,}",
        "agents | alive | ns per agent-step | of that rules | set-up s",
        "{agents:,} | {alive:,.0f} | {ns_per_agent_step:.0f} | {ns_rules:.0f} | {set_up_s:.2f}",
        *large["by_agents"],
    )
    echo(f"The slowest takes {large['slowest_to_fastest']:.2f} times as long as the fastest.")
    print_figures(
        f"One world of {large['threads']['agents']:,} agents",
        "threads | ns per agent-step | times one",
        "1 | {one_ns:.0f} | 1.00\n 2 | {two_ns:.0f} | {ratio:.2f}",
        large["threads"],
    )
    print_figures(
        "Memory of a savanna without traits, bytes",
        "agent alive | cell | grass patch | agent ever born",
        "{per_row} | {per_cell} | {per_patch} | {per_life}",
        large["memory"],
    )
    walls = large["walls"]
    echo(
        f"Set-up of {walls['size']} x {walls['size']} cells with {walls['walls']:,} walls: "
        f"{walls['seconds']:.2f} s."
    )


def show_revisions(report: Report) -> None:
    """Print the rates of two revisions of the savanna, and how often one is as fast as the other."""
    print_figures(
        f"Savanna, k agent-steps/s, medians of {report['rounds']} rounds in turn",
        "| other revision | this one | times | lowest | highest",
        "{name} | {before:k,.0f} | {now:k,.0f} | {ratio:.2f} | {lowest:.2f} | {highest:.2f}",
        *report["figures"],
    )
