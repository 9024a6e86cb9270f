"""How the benchmarks of the role job are shown."""

from __future__ import annotations

from typing import Any

from kinfolk.cli.formatting import print_table


def measure_ranks() -> dict[str, Any]:
    """Play a generation's line-ups on episodes they were ranked by, and on fresh ones."""
    from kinfolk.bench.roles import bench_team_ranks

    return bench_team_ranks()


def show_ranks(report: dict[str, Any]) -> None:
    """By how many games line-ups must be ranked."""
    print_table(
        f"{report['lineups']} line-ups, ranked again on {report['fresh_games']} fresh games each",
        ("ranked by", "rank correlation", "the first is better than", "looked better by"),
        [
            (
                f"{games} games",
                f"{row['spearman']:.2f}",
                f"{100 * row['winner']:.0f} % of them",
                f"{row['flattery']:,.0f}",
            )
            for games, row in report["correlation"].items()
        ],
    )


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
