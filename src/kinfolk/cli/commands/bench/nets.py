"""Print the figures of `kinfolk bench nets`."""

from __future__ import annotations

from typing import Any

from kinfolk.cli.formatting import print_table


def measure_nets() -> dict[str, Any]:
    """Measure populations of nets; each measurement warms up first."""
    from kinfolk.bench.nets import bench_nets

    return bench_nets()


def show_nets(report: dict[str, Any]) -> None:
    """Print the cost of forward passes, mutation and generations."""
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
