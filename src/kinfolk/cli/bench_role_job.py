"""How the benchmark of the role job is shown."""

from __future__ import annotations

from typing import Any

from kinfolk.cli.show import print_table


def show_role_job(report: dict[str, Any]) -> None:
    """Games and generations by engine."""
    print_table(
        "Role evolution on the arena: whole generations, breeding and reports included",
        ("engine", "workers", "games per generation", "games/s", "generations/min"),
        [
            (
                row["engine"],
                row["jobs"],
                row["games_per_generation"],
                f"{row['games_per_s']:.1f}",
                f"{row['generations_per_minute']:.1f}",
            )
            for row in (*report["engines"], report["small"])
        ],
    )
    print(f"Two processes play {report['scaling']:.2f} times the games of one.")
