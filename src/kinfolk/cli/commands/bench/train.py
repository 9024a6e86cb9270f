"""Print the figures of `kinfolk bench train`."""

from __future__ import annotations

from typing import Any

from kinfolk.cli.compile import compile_kernels
from kinfolk.cli.formatting import print_table


def measure_train() -> dict[str, Any]:
    """Compile the kernels of the savanna, then measure."""
    from kinfolk.bench.training import bench_training

    compile_kernels("savanna", {"observation": "compact"}, None, {})
    return bench_training()


def show_train(report: dict[str, Any]) -> None:
    """Print rates of training, and their ratios."""
    net, rates = report["net"], report["agent_steps_per_second"]
    sizes = "-".join(str(n) for n in (net["inputs"], *net["hidden"], net["outputs"]))
    print_table(
        f"Training on savanna, {report['worlds']} worlds, nets of {sizes}, one core",
        ("", "k agent-steps/s"),
        [(name, f"{rate / 1e3:,.0f}") for name, rate in rates.items()],
    )
    share = report["share_of_ceiling"]
    print_table(
        "Two slots",
        ("", "ratio"),
        [
            ("of the ceiling, 1 epoch", f"{share['1 epoch']:.2f}"),
            ("of the ceiling, 4 epochs", f"{share['4 epochs']:.2f}"),
            ("their cost, times that of one", f"{report['two_slots_cost']:.2f}"),
            ("their rate with the prey frozen, times without", f"{report['frozen_gain']:.2f}"),
        ],
    )
