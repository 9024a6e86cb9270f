"""`kinfolk bench worlds`: tables of the savanna."""

from __future__ import annotations

from typing import Any

from kinfolk.cli.formatting import print_table


def show_savanna(report: dict[str, Any]) -> None:
    """Print the throughput of the savanna, and how its cost grows."""
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
