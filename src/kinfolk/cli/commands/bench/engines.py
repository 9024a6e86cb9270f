"""Print the figures of `kinfolk bench engines`."""

from __future__ import annotations

from typing import Any

from kinfolk.cli.compile import compile_kernels
from kinfolk.cli.formatting import print_table


def measure_engines() -> dict[str, Any]:
    """Compile the kernels of the probe world, then measure."""
    from kinfolk.bench.engines import bench_engines

    compile_kernels("probe", {}, None, {})
    return bench_engines()


def show_engines(report: dict[str, Any]) -> None:
    """Print the cost of the episode loop and of tasks."""
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
