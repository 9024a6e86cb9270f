"""`kinfolk bench worlds` and `kinfolk bench roles`: tables of CogsGuard."""

from __future__ import annotations

from typing import Any

from kinfolk.cli.formatting import print_table


def show_cogs(report: dict[str, Any]) -> None:
    """Print the throughput of CogsGuard beside un-compiled code and the original."""
    low, high = report["original"]
    print_table(
        f"cogsguard, arena, {report['worlds']} worlds of {report['agents']} agents, one core",
        ("", "M agent-steps/s", "times un-compiled"),
        [
            ("rules alone", f"{report['rules'] / 1e6:.2f}", ""),
            ("with observations", f"{report['whole'] / 1e6:.2f}", f"{report['ratio']:,.0f}"),
            ("un-compiled", f"{report['uncompiled']['whole'] / 1e6:.5f}", "1"),
            ("the original's engine (its note)", f"{low / 1e6:.3f} to {high / 1e6:.3f}", ""),
        ],
    )
    for name in ("worlds", "agents", "map"):
        print_table(
            f"Cost by {name}",
            (name, "ns per agent-step", "of that rules", "KB per world"),
            [
                (
                    point[name],
                    f"{1e9 / point['whole']:,.0f}",
                    f"{1e9 / point['rules']:,.0f}",
                    f"{point['bytes_per_world'] / 1024:,.0f}",
                )
                for point in report[f"by_{name}"]
            ],
        )


def show_roles(report: dict[str, Any]) -> None:
    """Print the throughput of role policies beside un-compiled code and the original."""
    low, high = report["original"]
    rows = [(name, report[name]) for name in ("arena", "machina_1", "smart", "edition_a")]
    print_table(
        "Role-driven play over whole games, one core",
        ("", "worlds", "ticks", "k agent-steps/s", "first fifth", "last fifth"),
        [
            (
                name,
                figures["worlds"],
                f"{figures['ticks']:,}",
                f"{figures['agent_steps_per_s'] / 1e3:,.0f}",
                f"{figures['by_part'][0] / 1e3:,.0f}",
                f"{figures['by_part'][-1] / 1e3:,.0f}",
            )
            for name, figures in rows
        ],
    )
    print(
        f"{report['ratio']:,.0f} times un-compiled code ({report['uncompiled']:,.0f} agent-steps/s);"
        f" the original's scripted roles: {low} to {high} (its note)."
    )
    for name in ("worlds", "agents", "map"):
        print_table(
            f"By {name}, kin://smart",
            (name, "us per agent-step"),
            [(p[name], f"{1e6 / p['agent_steps_per_s']:.1f}") for p in report[f"by_{name}"]],
        )
