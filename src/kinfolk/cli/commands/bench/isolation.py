"""Print the figures of `kinfolk bench isolation`."""

from __future__ import annotations

from typing import Any

from kinfolk.cli.formatting import print_table


def measure_isolation() -> dict[str, Any]:
    """Measure worker processes; each measurement warms up first."""
    from kinfolk.bench.isolation import bench_isolation

    return bench_isolation()


def show_isolation(report: dict[str, Any]) -> None:
    """Print the cost of worker processes per step, per life and in parallel."""
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
            ("a process each", f"{busy['isolated_us']:.0f}", f"{busy['times_faster']:.2f}"),
        ],
    )
